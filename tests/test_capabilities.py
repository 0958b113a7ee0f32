from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.backends.chat_template import ChatTemplate
from react_text.backends.http.address import read_address
from react_text.backends.http.connection import Answer
from react_text.backends.http.detection import Detected, Questions, detect, ollama_details
from react_text.capabilities import FACTS, PROBED_TOOL, Capabilities, Finding, finding, template_findings
from react_text.capability_store import KEPT_SECONDS, CapabilityStore, Subject
from react_text.messages import Message

SUBJECT = Subject("http://127.0.0.1:8080/v1", "tiny", "d1")
TOOL_NAME = PROBED_TOOL["function"]["name"]
BARE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
WITH_TOOLS = "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}" + BARE
FAILING = "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}" + BARE


def answers(pages: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    """A server that has these pages: a JSON value, or a status with one; everything else is not there."""

    def answer(method: str, url: str) -> Answer | None:
        path = url.partition("://")[2].partition("/")[2]
        found = pages.get(f"{method} /{path}")
        if found is None:
            return Answer(404, headers or {}, {"error": "not found"})
        status, value = found if isinstance(found, tuple) else (200, found)
        return Answer(status, headers or {}, value, json.dumps(value))

    return answer


def driven(questions: Questions, answer: Any) -> tuple[Any, list[str]]:
    """What a detection comes to, and what it asked."""
    asked: list[str] = []
    try:
        ask = next(questions)
        while True:
            asked.append(f"{ask.method} {ask.url}")
            ask = questions.send(answer(ask.method, ask.url))
    except StopIteration as end:
        return end.value, asked


def detected(url: str, model: str, answer: Any) -> Detected:
    found, asked = driven(detect(read_address(url), model), answer)
    assert isinstance(found, Detected)
    assert len(asked) <= 8
    assert not any("completions" in one for one in asked), "a detection never generates"
    return found


def facts(found: Detected) -> dict[str, Any]:
    return {fact: one.value for fact, one in found.findings.items()}


LLAMA_MODELS = {"data": [{"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 4096, "n_params": 1}}]}
PROPS = {
    "default_generation_settings": {"n_ctx": 2048},
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
    "chat_template": "…",
}


@pytest.mark.parametrize(
    ("rendered", "props", "tools"),
    [
        ({"prompt": f"system: {TOOL_NAME}"}, PROPS, "yes"),
        ({"prompt": "no word of it"}, PROPS, "no"),
        ((500, {"error": {"message": "tools param requires --jinja flag"}}), PROPS, "no"),
        (None, PROPS, None),
        (None, {**PROPS, "chat_template_caps": {"supports_tools": False, "supports_tool_calls": False}}, "no"),
    ],
)
def test_llama_server_is_asked_to_render_a_tool(rendered: Any, props: Any, tools: str | None) -> None:
    pages = {"GET /v1/models": LLAMA_MODELS, "GET /props": props}
    if rendered is not None:
        pages["POST /apply-template"] = rendered
    found = detected("http://h:1/v1", "", answers(pages, {"server": "llama.cpp"}))
    assert (found.server, found.model) == ("llama.cpp", "m.gguf")
    assert facts(found).get("tools") == tools
    assert facts(found)["context_length"] == 2048
    assert facts(found)["grammar"] == "grammar"


def test_another_template_behind_the_same_address_is_another_digest() -> None:
    def digest(template: str, prompt: str) -> str:
        pages = {
            "GET /v1/models": LLAMA_MODELS,
            "GET /props": {**PROPS, "chat_template": template},
            "POST /apply-template": {"prompt": prompt},
        }
        return detected("http://h:1/v1", "m", answers(pages, {"server": "llama.cpp"})).digest

    assert digest("a", TOOL_NAME) == digest("a", TOOL_NAME)
    assert len({digest("a", TOOL_NAME), digest("b", TOOL_NAME), digest("a", "")}) == 3


@pytest.mark.parametrize(
    ("pages", "server", "expected"),
    [
        (
            {"GET /v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 2048}]}},
            "vllm",
            {"grammar": "structured_outputs", "context_length": 2048, "prefill": "flags"},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]},
                "GET /version": {"version": "0.11.2"},
            },
            "vllm",
            {"grammar": "guided_grammar"},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 8192}]},
                "GET /get_model_info": {"model_path": "m", "tool_call_parser": None},
            },
            "sglang",
            {"grammar": "ebnf", "tools": "no", "context_length": 8192},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m", "owned_by": "sglang"}]},
                "GET /model_info": {"tool_call_parser": "qwen25"},
            },
            "sglang",
            {"tools": "yes"},
        ),
        (
            {"GET /v1/models": {"data": [{"id": "m", "owned_by": "me", "permissions": []}]}},
            "llama_cpp.server",
            {"grammar": "grammar", "tools": "no", "prefill": "none"},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m:latest", "owned_by": "library"}]},
                "POST /api/show": {"capabilities": ["completion", "tools"], "model_info": {"x.context_length": 32768}},
                "GET /api/tags": {"models": [{"name": "m:latest", "digest": "abc"}]},
            },
            "ollama",
            {"tools": "yes", "grammar": "none"},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m", "owned_by": "organization_owner"}]},
                "GET /api/v1/models": {"models": [{"key": "m", "capabilities": {"trained_for_tool_use": False}}]},
            },
            "lm-studio",
            {"tools": "no"},
        ),
        (
            {
                "GET /v1/models": {"data": [{"id": "m", "owned_by": "organization_owner"}]},
                "GET /api/v0/models": {"data": [{"id": "m", "capabilities": ["tool_use"]}]},
            },
            "lm-studio",
            {"tools": "yes"},
        ),
        ({"GET /api/extra/version": {"result": "KoboldCpp", "version": "1.9"}}, "koboldcpp", {"grammar": "grammar"}),
        (
            {"GET /info": {"model_id": "m", "max_total_tokens": 4096, "router": "text-generation-router"}},
            "tgi",
            {"tools": "yes", "context_length": 4096, "grammar": "none"},
        ),
        (
            {"GET /v1/models": {"data": [{"id": "m", "owned_by": "tabbyAPI"}]}},
            "tabbyapi",
            {"grammar": "grammar_string"},
        ),
        ({"GET /v1/models/capabilities": {"data": []}}, "localai", {"tools": "yes"}),
        ({}, "unknown", {}),
        ({"GET /v1/models": [1, 2]}, "unknown", {}),
        ({"GET /v1/models": {"data": [None, {"id": 5, "owned_by": 7}]}}, "unknown", {}),
    ],
)
def test_each_kind_of_server_is_known_by_its_own_pages(pages: Any, server: str, expected: dict[str, Any]) -> None:
    found = detected("http://h:1/v1", "m", answers(pages))
    assert found.server == server
    got = facts(found)
    assert {fact: got.get(fact) for fact in expected} == expected
    assert set(got) <= set(FACTS)
    assert all(one.evidence and one.age < 60 for one in found.findings.values())


def test_mlx_and_litellm_are_known_by_their_headers() -> None:
    models = {"GET /v1/models": {"data": [{"id": "m", "object": "model"}]}}
    assert detected("http://h:1/v1", "m", answers(models, {"server": "BaseHTTP/0.6 Python/3.11"})).server == "mlx-lm"
    info = {"GET /v1/model/info": {"data": [{"model_name": "m", "model_info": {"supports_function_calling": False}}]}}
    found = detected("http://h:1/v1", "m", answers({**models, **info}, {"x-litellm-version": "1"}))
    assert (found.server, facts(found)["tools"]) == ("litellm", "no")


def test_hosted_endpoints_are_known_by_their_host_even_where_they_show_nothing() -> None:
    assert detected("https://api.openai.com/v1", "m", lambda method, url: None).server == "openai"
    listed = {"data": [{"id": "a/b", "supported_parameters": ["temperature"], "context_length": 8192}]}
    found = detected("https://openrouter.ai/api/v1", "a/b", answers({"GET /api/v1/models": listed}))
    assert (found.server, facts(found)["tools"], facts(found)["context_length"]) == ("openrouter", "no", 8192)
    assert detected("https://api.openai.com.example/v1", "m", answers({})).server == "unknown"


def test_nobody_there_is_not_an_unknown_server() -> None:
    assert not detected("http://h:1/v1", "m", lambda method, url: None).reached


def test_a_model_is_found_among_ollamas_by_either_of_its_names() -> None:
    pages = {"GET /api/tags": {"models": [{"name": "other", "digest": "x"}, {"name": "m:latest", "digest": "abc"}]}}
    (_, digest), _ = driven(ollama_details(read_address("http://h"), "m"), answers(pages))  # type: ignore[arg-type]
    assert digest == "abc"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["data", "models", "id", "owned_by", "meta", "capabilities", "model_info", "prompt", "name"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["llamacpp", "vllm", "sglang", "library", "organization_owner", "tabbyAPI", ""]),
)
def test_no_answer_is_too_odd_for_a_detection(value: Any, owner: str) -> None:
    listed = {"data": [{"id": "m", "owned_by": owner, "meta": value, "max_model_len": value}]}

    def answer(method: str, url: str) -> Answer:
        return Answer(200, {}, listed if url.endswith("/v1/models") else value, json.dumps(value))

    found, _ = driven(detect(read_address("http://h:1/v1"), "m"), answer)
    assert isinstance(found, Detected)


def rendered_by(source: str) -> Any:
    def render(messages: Sequence[Message], tools: Iterable[dict[str, Any]]) -> str:
        pieces = ChatTemplate(source, options={"tools": list(tools)}).render(messages)
        return "".join(piece.text for piece in pieces)

    return render


@pytest.mark.parametrize(("source", "tools"), [(BARE, "no"), (WITH_TOOLS, "yes"), (FAILING, "no")])
def test_a_template_renders_tools_if_the_name_of_one_shows_in_the_prompt(source: str, tools: str) -> None:
    found = template_findings(rendered_by(source))["tools"]
    assert found.value == tools
    assert "template" in found.evidence


def test_what_was_never_found_is_unknown() -> None:
    nothing = Capabilities()
    assert (nothing.server, nothing.tools, nothing.grammar, nothing.prefill) == ("unknown", "unknown", None, None)
    assert nothing.refused == frozenset()
    assert nothing.context_length is None


def test_a_users_word_beats_what_was_learned_and_that_beats_what_was_detected() -> None:
    said, shown, read = (finding(v, "e", s) for v, s in (("yes", "set"), ("no", "learned"), ("yes", "detected")))  # type: ignore[arg-type]
    assert Capabilities({"tools": shown}).merged({"tools": read}).tools == "no"
    assert Capabilities({"tools": shown}).merged({"tools": said}).tools == "yes"
    newer = Finding("unknown", "e", "learned", "2999-01-01T00:00:00+00:00")
    assert Capabilities({"tools": shown}).merged({"tools": newer}).tools == "unknown"


def test_a_grammar_whose_parameter_was_refused_is_no_grammar() -> None:
    known = {"grammar": finding("grammar", "e"), "refused": finding(["grammar"], "e")}
    assert Capabilities(known).grammar is None


def test_what_is_remembered_is_there_for_the_next_process(tmp_path: Path) -> None:
    CapabilityStore(tmp_path).write(SUBJECT, {"tools": finding("no", "HTTP 400: no tools", "learned")})
    code = (
        "import sys; from pathlib import Path; from react_text.capability_store import *;"
        "s = CapabilityStore(Path(sys.argv[1])).read(Subject('http://127.0.0.1:8080/v1', 'tiny', 'd1'));"
        "print(s.tools, s.findings['tools'].evidence)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "no HTTP 400: no tools"


def test_another_model_endpoint_or_digest_shares_nothing(tmp_path: Path) -> None:
    store = CapabilityStore(tmp_path)
    store.write(SUBJECT, {"tools": finding("no", "e")})
    for other in (
        Subject("http://127.0.0.1:8081/v1", "tiny", "d1"),
        Subject(SUBJECT.endpoint, "tiny-2", "d1"),
        Subject(SUBJECT.endpoint, "tiny", "d2"),
    ):
        assert store.read(other).tools == "unknown"


def test_what_is_too_old_is_not_believed(tmp_path: Path) -> None:
    store = CapabilityStore(tmp_path)
    plain = Subject(SUBJECT.endpoint, "tiny")
    old = Finding("no", "e", "learned", "2020-01-01T00:00:00+00:00")
    store.write(plain, {"tools": old})
    assert old.age > KEPT_SECONDS
    assert store.read(plain).tools == "unknown"


def test_forgetting_is_for_every_digest_of_one_model(tmp_path: Path) -> None:
    store = CapabilityStore(tmp_path)
    other = Subject(SUBJECT.endpoint, "other")
    for subject in (SUBJECT, Subject(SUBJECT.endpoint, "tiny", "d2"), other):
        store.write(subject, {"tools": finding("no", "e")})
    store.forget(SUBJECT)
    assert store.read(SUBJECT).tools == "unknown"
    assert store.read(Subject(SUBJECT.endpoint, "tiny", "d2")).tools == "unknown"
    assert store.read(other).tools == "no"


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe\x00", b"[1]", b'{"value": 1}', b'{"value": 1, "date": 2}'])
def test_a_damaged_file_is_set_aside_and_the_rest_still_counts(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = CapabilityStore(tmp_path)
    store.write(SUBJECT, {"tools": finding("no", "e"), "grammar": finding("ebnf", "e")})
    (path,) = tmp_path.rglob("tools.json")
    path.write_bytes(damage)
    with caplog.at_level(logging.WARNING):
        found = store.read(SUBJECT)
    assert (found.tools, found.grammar) == ("unknown", "ebnf")
    assert [one.name for one in tmp_path.rglob("*.damaged")] == ["tools.damaged"]
    assert "set aside" in caplog.text
    store.write(SUBJECT, {"tools": finding("yes", "e")})
    assert store.read(SUBJECT).tools == "yes"


def test_a_cache_that_cannot_be_written_is_never_fatal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = CapabilityStore(blocked)
    store.write(SUBJECT, {"tools": finding("no", "e")})
    assert "not remembered" in caplog.text
    assert store.read(SUBJECT).tools == "unknown"
    store.forget(SUBJECT)


def test_processes_that_write_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from react_text.capability_store import *; "
        "from react_text.capabilities import *;"
        "store = CapabilityStore(Path(sys.argv[1])); subject = Subject('e', 'm');"
        "[store.write(subject, {sys.argv[2]: finding(n, 'x' * 5000, 'learned')}) for n in range(150)]"
    )
    names = ["tools", "grammar", "prefill"]
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], stderr=subprocess.PIPE) for name in names
    ]
    store, subject = CapabilityStore(tmp_path), Subject("e", "m")
    seen = 0
    while any(writer.poll() is None for writer in writers):
        seen += len(store.read(subject).findings)
    assert [writer.communicate()[1] for writer in writers] == [b""] * 3
    assert seen
    assert {name: store.read(subject).get(name) for name in names} == dict.fromkeys(names, 149)
    assert not list(tmp_path.rglob("*.damaged"))
    assert not list(tmp_path.rglob(".*")), "no half-written file stays"


def test_the_store_is_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if os.name != "posix" or sys.platform == "darwin":
        pytest.skip("the folder is named by XDG_CACHE_HOME on Linux only")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert CapabilityStore().folder == tmp_path / "react-text" / "capabilities"


def test_a_folder_name_never_holds_more_of_an_address_than_a_file_name_may() -> None:
    folder = Subject("http://h/" + "x" * 500, "a/b:c" * 100).folder
    assert len(folder) < 100
    assert "/" not in folder
    assert ":" not in folder
