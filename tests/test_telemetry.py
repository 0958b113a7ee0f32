"""Spans of a run, collected by the real SDK."""

import asyncio
import gzip
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from react_text import Agent, Scripted, Toolbox, tool
from react_text.cli import main
from react_text.errors import BackendError, ToolUnavailable
from react_text.session import Session
from react_text.telemetry import CONTENTS, traced
from react_text.trace import TraceFile


@pytest.fixture
def exporter(monkeypatch):
    monkeypatch.delenv(CONTENTS, raising=False)
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()


@tool(safe=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def down() -> str:
    """Its own dependency is down."""
    raise ToolUnavailable("no connection to toolhost")


def call(name: str = "add", arguments: str = '{"a": 2, "b": 3}') -> str:
    return f"Thought: modelthought\nAction: {name}\nAction Input: {arguments}"


ANSWER = "Thought: modelthought\nFinal Answer: modelanswer"


def by_name(exporter) -> dict[str, list]:
    found: dict[str, list] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_is_an_agent_span_with_its_replies_and_calls_inside(provider, exporter, asynchronous):
    agent = traced(Agent(Scripted([call(), ANSWER]), [add]), provider=provider)
    result = asyncio.run(agent.arun("What is 2 + 3?")) if asynchronous else agent.run("What is 2 + 3?")
    spans = by_name(exporter)
    assert {name: len(found) for name, found in spans.items()} == {
        "invoke_agent react-text": 1,
        "chat scripted": 2,
        "execute_tool add": 1,
    }
    (whole,) = spans["invoke_agent react-text"]
    assert whole.parent is None
    inner = [*spans["chat scripted"], *spans["execute_tool add"]]
    assert {span.parent.span_id for span in inner} == {whole.context.span_id}
    assert all(whole.start_time <= span.start_time <= span.end_time <= whole.end_time for span in inner)
    assert whole.attributes["gen_ai.usage.input_tokens"] == result.usage.prompt_tokens
    assert whole.attributes["gen_ai.usage.output_tokens"] == result.usage.generated
    assert (
        sum(span.attributes["gen_ai.usage.output_tokens"] for span in spans["chat scripted"]) == result.usage.generated
    )


def test_the_attributes_are_those_of_the_conventions(provider, exporter):
    traced(Agent(Scripted([call(), ANSWER]), [add]), provider=provider, contents=True).run("What is 2 + 3?")
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    for span in exporter.get_finished_spans():
        names = {name for name in span.attributes if not name.startswith("react_text.")}
        assert names <= known | {"error.type"}, span.name
        assert span.name.startswith(span.attributes["gen_ai.operation.name"] + " ")
        assert span.kind is SpanKind.INTERNAL
    (ran,) = by_name(exporter)["execute_tool add"]
    assert ran.attributes["gen_ai.tool.name"] == "add"
    assert ran.attributes["gen_ai.tool.call.id"] == "call_1"
    assert ran.attributes["gen_ai.tool.description"] == "Add two numbers."


def test_what_a_tool_reports_of_itself_is_inside_its_span(provider, exporter):
    @tool
    def fetch(page: str) -> str:
        """Fetch a page."""
        with trace.get_tracer("library", tracer_provider=provider).start_as_current_span("GET"):
            return page

    for timeout in (None, 5.0):
        exporter.clear()
        box = Toolbox([fetch], timeout=timeout)
        traced(Agent(Scripted([call("fetch", '{"page": "x"}'), ANSWER]), box), provider=provider).run("What is there?")
        spans = by_name(exporter)
        assert spans["GET"][0].parent.span_id == spans["execute_tool fetch"][0].context.span_id


def test_the_span_is_not_the_callers_current_one_between_events(provider, exporter):
    agent = traced(Agent(Scripted([call(), ANSWER]), [add]), provider=provider)
    for _ in agent.stream("What is 2 + 3?"):
        assert not trace.get_current_span().get_span_context().is_valid


def texts(exporter) -> str:
    return json.dumps([[span.name, dict(span.attributes), str(span.events)] for span in exporter.get_finished_spans()])


SCRIPT = [call("modelmadetool", "{}"), call("add", '{"a": "modelvalue"}'), call(), ANSWER]
WRITTEN = ["userquestion", "modelthought", "modelvalue", "modelmadetool", "modelanswer", "Observation: 5"]


def test_texts_are_left_out_unless_they_are_asked_for(provider, exporter):
    traced(Agent(Scripted(SCRIPT), [add]), provider=provider).run("userquestion")
    assert [word for word in WRITTEN if word in texts(exporter)] == []


def test_texts_are_there_when_they_are_asked_for(provider, exporter, monkeypatch):
    monkeypatch.setenv(CONTENTS, "true")
    traced(Agent(Scripted(SCRIPT), [add]), provider=provider).run("userquestion sk-abcdefghijklmnop1234")
    found = texts(exporter)
    assert [word for word in WRITTEN if word not in found] == []
    assert "abcdefghijklmnop1234" not in found


def test_a_failed_call_and_a_broken_backend_are_errors(provider, exporter):
    script = [call("add", '{"a": 1, "b": 2}'), BackendError("serverhost is down")]
    traced(Agent(Scripted(script), [add]), provider=provider).run("What?")
    spans = by_name(exporter)
    broken = spans["chat scripted"][-1]
    assert (broken.status.status_code, broken.attributes["error.type"]) == (StatusCode.ERROR, "BackendError")
    assert spans["invoke_agent react-text"][0].attributes["error.type"] == "backend_error"
    assert spans["execute_tool add"][0].status.status_code is StatusCode.UNSET
    assert "serverhost" not in texts(exporter)


def test_a_tool_whose_dependency_is_down_is_an_error(provider, exporter):
    traced(Agent(Scripted([call("down", "{}")]), [down]), provider=provider).run("What?")
    spans = by_name(exporter)
    assert spans["execute_tool down"][0].attributes["error.type"] == "unavailable"
    assert spans["invoke_agent react-text"][0].attributes["react_text.stop_reason"] == "tool_unavailable"


def test_a_run_that_is_left_ends_its_spans(provider, exporter):
    events = traced(Agent(Scripted([call(), ANSWER]), [add]), provider=provider).stream("What?")
    next(events)
    next(events)
    events.close()
    assert set(by_name(exporter)) == {"invoke_agent react-text", "chat scripted"}


def test_calls_side_by_side_have_a_span_each_under_the_run(provider, exporter):
    both = call() + '\nAction: add\nAction Input: {"a": 4, "b": 5}'
    traced(Agent(Scripted([both, ANSWER]), [add]), provider=provider).run("What?")
    spans = by_name(exporter)
    assert len(spans["execute_tool add"]) == 2
    assert {span.parent.span_id for span in spans["execute_tool add"]} == {
        spans["invoke_agent react-text"][0].context.span_id
    }


def test_a_traced_agent_is_an_agent_for_traces_and_sessions(provider, exporter, tmp_path):
    plain = Agent(Scripted([call(), ANSWER]), [add])
    agent = traced(plain, provider=provider, name="adder")
    session = Session()
    with TraceFile(tmp_path / "run.jsonl") as recorded:
        events = recorded.stream(agent, "What?", session.history(agent, "What?"))
        *_, last = session.record("What?", events)
    assert last.result.answer == "modelanswer"
    assert "invoke_agent adder" in by_name(exporter)
    assert type(plain.backend) is Scripted


@pytest.fixture
def collector(monkeypatch):
    """What a collector on the loopback was sent."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield received
        server.shutdown()
        serving.join()


def test_the_command_line_sends_spans_to_a_collector(collector, monkeypatch):
    scripted = Scripted(["userquestion is hard"])
    monkeypatch.setattr("react_text.backends.llama_cpp.LlamaCpp", lambda path, **_: scripted)
    outcome = CliRunner().invoke(main, ["run", "userquestion?", "--model", "smollm2", "--otel"])
    assert outcome.exit_code == 0, outcome.output
    (resource,) = [one for sent in collector for one in sent.resource_spans]
    names = [span.name for scope in resource.scope_spans for span in scope.spans]
    assert names == ["chat scripted", "invoke_agent react-text"]
    assert "react-text" in str(resource.resource)
    assert "userquestion" not in str(collector)


def test_nothing_of_opentelemetry_is_needed_or_loaded_before_it_is_asked_for():
    code = (
        "import sys\n"
        "from react_text import Agent, Scripted\n"
        "import react_text.telemetry\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
        "sys.modules['opentelemetry'] = None\n"
        "try: react_text.telemetry.traced(Agent(Scripted([])))\n"
        "except react_text.errors.MissingExtra as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[0] == "[]"
    assert "pip install 'react-text[otel]'" in out.stdout
