"""Operations of an OpenAPI document as tools, against a real FastAPI application on loopback."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Annotated

import pytest

from react_text import Agent, Call, Scripted, Toolbox
from react_text.adapters.openapi import openapi_tools
from react_text.errors import ToolSourceError
from react_text.tools_file import load_tools

fastapi = pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
from fastapi import Body, Form, Header, HTTPException, Query, Request, Response  # noqa: E402
from fastapi.responses import RedirectResponse  # noqa: E402
from pydantic import BaseModel  # noqa: E402


class Size(BaseModel):
    width: int
    height: int | None = None


class Boat(BaseModel):
    name: str
    size: Size
    crew: list[str] = []


def application() -> "fastapi.FastAPI":
    app = fastapi.FastAPI(title="Harbor")
    log: list[dict] = []
    app.state.log = log

    @app.get("/boats/{name}", operation_id="get_boat", summary="A boat by its name")
    def get_boat(name: str, parts: Annotated[list[str], Query()] = [], x_lang: Annotated[str, Header()] = "en"):  # noqa: B006
        if name == "ghost":
            raise HTTPException(404, f"no boat {name}")
        return {"name": name, "parts": parts, "lang": x_lang}

    @app.post("/boats", operation_id="add_boat")
    def add_boat(boat: Boat, request: Request, dry: bool = False):
        log.append({"authorization": request.headers.get("authorization")})
        return {"added": boat.model_dump(), "dry": dry}

    @app.post("/tags", operation_id="set_tags")
    def set_tags(tags: Annotated[list[str], Body()]):
        return tags

    @app.post("/login", operation_id="login")
    def login(user: Annotated[str, Form()]):
        return f"hello {user}"

    @app.delete("/boats/{name}", operation_id="sink_boat", status_code=204)
    def sink_boat(name: str) -> None:
        log.append({"sunk": name})

    @app.get("/photo", operation_id="photo")
    def photo():
        return Response(b"\x89PNG\0\0", media_type="image/png")

    @app.get("/away", operation_id="away")
    def away():
        return RedirectResponse("http://other.invalid/secret")

    @app.get("/near", operation_id="near")
    def near():
        return RedirectResponse("/boats/Emma")

    @app.get("/busy", operation_id="busy")
    def busy():
        log.append({"busy": True})
        raise HTTPException(503, "later")

    return app


@pytest.fixture(scope="module")
def harbor() -> Iterator["fastapi.FastAPI"]:
    """The application; where it is stands in `app.state.url`."""
    app = application()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    listening.listen()
    app.state.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread.start()
    yield app
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def box(harbor) -> Toolbox:
    return Toolbox(tools_of(harbor), backoff=0.001)


def tools_of(harbor, **options):
    return openapi_tools(harbor.openapi(), base_url=harbor.state.url, hosts=["127.0.0.1"], **options)


def run(box: Toolbox, tool: str, /, **arguments) -> str:
    return box.run(Call("1", tool, arguments)).content


def test_an_agent_answers_with_an_operation(harbor):
    model = Scripted.plan([("get_boat", {"name": "Emma"})], "Found: {0}")
    assert '"name":"Emma"' in Agent(model, tools_of(harbor)).run("Which boat is Emma?").answer


def test_path_query_and_header_arguments_reach_the_server(box):
    got = json.loads(run(box, "get_boat", name="Emma & Co", parts=["keel", "mast"], **{"x-lang": "no"}))
    assert got == {"name": "Emma & Co", "parts": ["keel", "mast"], "lang": "no"}


def test_the_properties_of_a_body_are_arguments_and_nested_ones_are_written_out(box):
    assert set(box["add_boat"].parameters["properties"]) == {"dry", "name", "size", "crew"}
    assert set(box["add_boat"].parameters["required"]) == {"name", "size"}
    assert box["add_boat"].parameters["properties"]["size"]["properties"]["width"] == {"type": "integer"}
    got = json.loads(run(box, "add_boat", name="Emma", size={"width": 3}, dry=True))
    assert got == {"added": {"name": "Emma", "size": {"width": 3, "height": None}, "crew": []}, "dry": True}


def test_a_body_that_is_no_object_is_one_argument(box):
    assert run(box, "set_tags", body=["a", "b"]) == '["a","b"]'


def test_a_form_is_sent_as_a_form(box):
    pytest.importorskip("python_multipart")
    assert run(box, "login", user="Ada & Co") == '"hello Ada & Co"'


def test_wrong_arguments_never_reach_the_server(harbor, box):
    before = len(harbor.state.log)
    assert "width" in run(box, "add_boat", name="Emma", size={"width": "wide"})
    assert len(harbor.state.log) == before


def test_what_the_server_says_of_an_error_is_told_to_the_model(box):
    assert run(box, "get_boat", name="ghost") == (
        'Error: get_boat failed: HTTP 404 Not Found: {"detail":"no boat ghost"}'
    )


def test_an_answer_without_content_and_one_that_is_no_text_are_described(box):
    assert run(box, "sink_boat", name="Emma") == "HTTP 204 No Content, without content."
    assert run(box, "photo") == "[image/png, 6 bytes, not shown]"


@pytest.mark.parametrize("name", ["..", ".", "", "a/../../login", "?x=1", "a#b"])
def test_an_argument_cannot_leave_its_place_in_the_path(harbor, box, name):
    before = len(harbor.state.log)
    told = run(box, "sink_boat", name=name)
    sunk = [one["sunk"] for one in harbor.state.log[before:]]
    assert sunk == [name] or (not sunk and told.startswith("Error:"))


def test_a_redirect_within_the_host_is_followed_and_one_away_is_not(box):
    assert '"name":"Emma"' in run(box, "near")
    assert "another host" in run(box, "away")


def test_a_busy_server_is_asked_again_where_nothing_is_changed_and_then_the_tool_is_unavailable(harbor, box):
    before = len(harbor.state.log)
    observation = box.run(Call("1", "busy", {}))
    assert observation.unavailable
    assert len(harbor.state.log) - before == 3


def test_a_server_that_is_gone_makes_the_tool_unavailable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    document = {"openapi": "3.0.0", "paths": {"/x": {"post": {"operationId": "x"}}}}
    box = Toolbox(openapi_tools(document, base_url=url, hosts=["127.0.0.1"]))
    assert box.run(Call("1", "x", {})).unavailable


def test_headers_of_the_caller_go_with_every_request_and_no_argument_replaces_them(harbor):
    box = Toolbox(tools_of(harbor, headers={"Authorization": "Bearer key", "x-lang": "de"}))
    run(box, "add_boat", name="Emma", size={"width": 3})
    assert harbor.state.log[-1] == {"authorization": "Bearer key"}
    assert json.loads(run(box, "get_boat", name="Emma", **{"x-lang": "no"}))["lang"] == "de"


def test_only_named_hosts_are_called(harbor):
    with pytest.raises(ToolSourceError, match=r"at 127\.0\.0\.1, which may not be called"):
        openapi_tools(harbor.openapi(), base_url=harbor.state.url, hosts=["api.example.org"])
    port = harbor.state.url.rpartition(":")[2]
    assert openapi_tools(harbor.openapi(), base_url=harbor.state.url, hosts=[f"127.0.0.1:{port}"])


def test_patterns_choose_operations(harbor):
    assert [tool.name for tool in tools_of(harbor, allow=["*_boat"], deny=["sink*"])] == ["get_boat", "add_boat"]


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_file_is_a_tools_file(harbor, tmp_path, ending):
    yaml = pytest.importorskip("yaml")
    path = tmp_path / f"harbor.{ending}"
    document = harbor.openapi() | {"servers": [{"url": harbor.state.url}]}
    path.write_text(json.dumps(document) if ending == "json" else yaml.safe_dump(document))
    assert '"name":"Emma"' in run(load_tools(path, hosts=["127.0.0.1"]), "get_boat", name="Emma")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"swagger": "2.0", "paths": {}}, "Swagger 2.0"),
        ({"info": {}}, "version 3"),
        ({"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}, "put": {"operationId": "a"}}}}, '"a"'),
        ({"openapi": "3.1.0", "paths": {"/a": {"$ref": "other.yaml"}}}, "bundle"),
        ({"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"$ref": "#/nowhere"}]}}}}, "#/nowhere"),
        ({"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"in": "query"}]}}}}, "/a"),
        ({"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}, "no http"),
    ],
)
def test_a_document_that_cannot_be_used_is_explained(document, said):
    with pytest.raises(ToolSourceError, match=said):
        openapi_tools(document, hosts=["127.0.0.1"])


def test_the_ways_of_version_3_0_become_json_schema():
    person = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            "nick": {"type": "string", "nullable": True},
            "id": {"type": "string", "readOnly": True},
            "friend": {"$ref": "#/components/schemas/Person"},
        },
        "required": ["age", "id"],
    }
    employee = {
        "allOf": [
            {"$ref": "#/components/schemas/Person"},
            {"type": "object", "properties": {"desk": {"type": "integer"}}, "required": ["desk"]},
        ]
    }
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Employee"}}}}
    document = {
        "openapi": "3.0.3",
        "servers": [{"url": "https://{env}.example.org", "variables": {"env": {"default": "api"}}}],
        "paths": {"/hire": {"post": {"operationId": "hire", "requestBody": body}}},
        "components": {"schemas": {"Person": person, "Employee": employee}},
    }
    (hire,) = Toolbox(openapi_tools(document, hosts=["api.example.org"]))
    assert hire.parameters == {
        "type": "object",
        "properties": {
            "desk": {"type": "integer"},
            "age": {"type": "integer", "exclusiveMinimum": 0},
            "nick": {"type": ["string", "null"]},
            "friend": {"type": "object"},
        },
        "required": ["desk", "age"],
    }
