"""Tools of real MCP servers: one from the package index, one made with the official SDK, over stdio and over HTTP."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from react_text import Agent, Call, Scripted, Toolbox
from react_text.adapters.mcp import MCPServer, tools_of
from react_text.cli import main
from react_text.errors import ToolSourceError

pytest.importorskip("mcp")
SERVER = Path(__file__).parents[1] / "servers" / "mcp_server.py"
DEMO = str(Path(__file__).parents[2] / "react_text" / "demo.py")
STDIO = [sys.executable, str(SERVER)]


def run(box: Toolbox, tool: str, /, **arguments):
    return box.run(Call("1", tool, arguments))


def greeting(box: Toolbox) -> Agent:
    return Agent(Scripted.plan([("greet", {"name": "Ada"})], "{0}"), box)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def server() -> Iterator[MCPServer]:
    with MCPServer(STDIO) as started:
        yield started


@pytest.fixture
def harbor(server) -> Toolbox:
    return Toolbox(server.tools, backoff=0.001)


def test_a_server_from_the_package_index_answers_a_question():
    pytest.importorskip("mcp_server_time")
    model = Scripted.plan(
        [("convert_time", {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"})],
        "It is {0}.",
    )
    with Toolbox.from_mcp([sys.executable, "-m", "mcp_server_time"]) as box:
        assert box.names == ("get_current_time", "convert_time")
        result = Agent(model, box).run("What time is it in Kolkata when it is 16:30 in Tokyo?")
        assert "13:00" in result.answer
        refused = run(box, "get_current_time", timezone="Nowhere/Land")
        assert refused.content.startswith("Error: get_current_time failed: ")
        assert "Invalid timezone" in refused.content


def test_calls_side_by_side_share_one_server(harbor):
    async def together():
        return await harbor.arun_all([Call(str(number), "tide", {"harbor": f"h{number}"}) for number in range(6)])

    assert [f"h{number}" in one.content for number, one in enumerate(asyncio.run(together()))] == [True] * 6


def test_the_description_and_the_schema_are_offered(harbor):
    greet = harbor["greet"]
    assert greet.description == "Greet somebody."
    assert greet.parameters["required"] == ["name"]
    assert harbor["tide"].safe
    assert not greet.safe


def test_text_and_structured_content_are_shown_once(harbor):
    assert run(harbor, "greet", name="Ada").content == "Hello Ada"
    assert run(harbor, "tide", harbor="Oban").content.count("3.4") == 1
    assert run(harbor, "depths", pier="A").content == "4.0\n4.5"


def test_what_is_no_text_is_described(harbor):
    assert run(harbor, "everything").content.splitlines() == [
        "a text",
        "[image: image/png, 20 kB, not shown]",
        "[audio: audio/wav, 3 bytes, not shown]",
        "[link: log file:///log.txt (text/plain, the log)]",
        "[note://1]",
        "a note",
        "[file: note://2, application/pdf, 3 bytes, not shown]",
    ]


def test_arguments_are_checked_before_the_server_sees_them(harbor):
    assert run(harbor, "greet", nam="Ada").content.startswith("Error: ")
    assert '"name"' in run(harbor, "greet").content


def test_an_error_of_the_server_is_an_observation_and_the_server_goes_on(harbor):
    refused = run(harbor, "refuse", reason="no berth is free")
    assert refused.is_error
    assert not refused.unavailable
    assert refused.content.startswith("Error: refuse failed: ")
    assert run(harbor, "greet", name="Ada").content == "Hello Ada"


def test_a_call_that_takes_too_long_is_given_up_and_the_server_goes_on(server):
    box = Toolbox(server.tools, timeout=0.2)
    assert "timed out after 0.2 s" in run(box, "wait").content
    assert "timed out after 0.2 s" in asyncio.run(box.arun(Call("1", "wait", {}))).content
    assert run(Toolbox(server.tools), "greet", name="Ada").content == "Hello Ada"


def test_a_server_that_dies_ends_the_run_and_is_started_again_for_the_next_one(harbor):
    assert Agent(Scripted.plan([("die", {})], "{0}"), harbor).run("Die.").stop_reason == "tool_unavailable"
    assert greeting(harbor).run("Greet Ada.").answer == "Hello Ada"


def test_a_call_that_changes_nothing_is_made_again_after_the_server_died(harbor, tmp_path):
    assert run(harbor, "die_once", mark=str(tmp_path / "mark")).content == "alive again"


def test_a_server_over_http_answers_sync_and_async_agents_until_it_is_gone():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([*STDIO, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("running on" in line for line in process.stderr)
        with Toolbox.from_mcp(f"http://127.0.0.1:{port}/mcp") as box:
            assert greeting(box).run("Greet Ada.").answer == "Hello Ada"
            assert asyncio.run(greeting(box).arun("Greet Ada.")).answer == "Hello Ada"
            process.kill()
            process.wait()
            assert greeting(box).run("Greet Ada.").stop_reason == "tool_unavailable"
            assert "127.0.0.1" not in run(box, "greet", name="Ada").content


def test_a_server_sees_the_environment_it_is_given_and_ends_when_it_is_closed():
    box = Toolbox.from_mcp(f"HARBOR='deep water' {sys.executable} {SERVER}", env={"PIER": "A"})
    assert run(box, "environment", name="HARBOR").content == "deep water"
    assert run(box, "environment", name="PIER").content == "A"
    process = int(run(box, "process").content)
    assert is_alive(process)
    box.close()
    box.close()
    assert not is_alive(process)
    assert run(box, "process").unavailable


def test_a_toolbox_that_is_forgotten_ends_its_server():
    box = Toolbox.from_mcp(STDIO)
    process = int(run(box, "process").content)
    del box
    assert not is_alive(process)


def test_a_program_that_ends_without_closing_leaves_no_server_behind(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "from react_text import Call, Toolbox\n"
        f"box = Toolbox.from_mcp({STDIO!r})\n"
        "print(box.run(Call('1', 'process', {})).content)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ended.stderr == ""
    assert not is_alive(int(ended.stdout))


def test_allow_and_deny_choose_among_the_tools(server):
    names = [made.name for made in tools_of([server], allow=["*e*"], deny=["die*", "everything"])]
    assert names == ["tide", "depths", "greet", "refuse", "process", "environment"]


def test_a_pattern_that_fits_no_tool_is_named_with_what_is_near(server):
    with pytest.raises(ToolSourceError, match=r'MCP server harbor fits "gret"; did you mean greet\?'):
        tools_of([server], allow=["gret"])


def test_equal_names_are_told_apart_by_the_server(server):
    names = [made.name for made in tools_of([server, server], allow=["tide", "greet"], taken=["greet"])]
    assert names == ["harbor_tide", "harbor_greet", "harbor_2_tide", "harbor_2_greet"]


def test_headers_reach_a_server_over_http():
    seen = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.headers["Authorization"])
            self.send_error(401)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as refusing:
        thread = threading.Thread(target=refusing.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{refusing.server_port}/mcp"
        with pytest.raises(ToolSourceError, match="does not answer"):
            Toolbox.from_mcp(url, headers={"Authorization": "Bearer key"})
        refusing.shutdown()
        thread.join()
    assert set(seen) == {"Bearer key"}


def test_a_server_that_says_nothing_is_given_up_in_time_and_ended():
    with pytest.raises(ToolSourceError, match=r"did not answer within 0\.2 s"):
        MCPServer([sys.executable, "-c", "import time; time.sleep(600)"], start_timeout=0.2)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-program --x", "no-such-program does not start"),
        ([sys.executable, "-c", "raise SystemExit('no such harbor')"], "it said: no such harbor"),
        ("http://127.0.0.1:9/mcp", "does not answer"),
        ("", "a command such as"),
        ("'", "cannot be read"),
    ],
)
def test_a_server_that_does_not_start_is_explained_in_one_sentence(source, said):
    with pytest.raises(ToolSourceError, match=said) as raised:
        Toolbox.from_mcp(source)
    assert "\n" not in str(raised.value)


def test_the_command_line_takes_servers_and_says_what_the_model_is_told():
    command = " ".join(STDIO)
    outcome = CliRunner().invoke(main, ["prompt", "How high?", "--mcp", command, "--tools", DEMO, "--deny", "die*"])
    assert outcome.exit_code == 0, outcome.output
    assert "tide(harbor: string) - Height of the next high tide." in outcome.stdout
    assert "stock_level(" in outcome.stdout
    assert "End the server" not in outcome.stdout
    wrong = CliRunner().invoke(main, ["prompt", "How high?", "--mcp", "no-such-program"])
    assert wrong.exit_code == 2
    assert "no-such-program does not start" in wrong.stderr
