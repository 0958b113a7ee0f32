"""A set of tools and the one place where a model's calls are run.

`run` never raises for anything a model or a tool does: what went wrong comes back as text for the model (DESIGN: an
`Error:` and one sentence), and a tool whose own dependency is down as an observation marked `unavailable`.
"""

from __future__ import annotations

import asyncio
import copy
import difflib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Protocol

from react_text import execution, observations, schema
from react_text.errors import ToolDefinitionError, ToolFailed, ToolUnavailable
from react_text.execution import Outcome, Overrun, in_thread
from react_text.messages import Call, Observation
from react_text.schema.words import argument_path, came
from react_text.tools import Tool, ToolLike, as_tools

_log = logging.getLogger("react_text")
_log.addHandler(logging.NullHandler())  # without one, Python would print a tool's traceback on stderr

_DOWN = (ToolUnavailable, ConnectionError, TimeoutError, asyncio.TimeoutError, FutureTimeout)
_DOWN_ELSEWHERE = {
    ("requests", "ConnectionError"),
    ("requests", "Timeout"),
    ("httpx", "NetworkError"),
    ("httpx", "TimeoutException"),
    ("aiohttp", "ClientConnectionError"),
}
"""Classes of other packages that mean the same but derive from neither ConnectionError nor TimeoutError."""

_LONGEST_ERROR = 300
_LONGEST_READ = 2000
_MOST_PROBLEMS = 3
_MOST_NAMES, _FEW_NAMES = 30, 10
"""Tools that are all named to a model that asked for another one, and how many are where there are more."""


class Closes(Protocol):
    """Something that is closed."""

    def close(self) -> object: ...


class Toolbox:
    """Tools by name, and how to run a call.

    `timeout` is the seconds that one try of a tool without its own may take; None sets no limit, and then a sync tool
    runs in the calling thread. `max_result` is in characters. `retries` and `backoff` (seconds before the first one,
    doubled each time) apply to tools marked safe whose own dependency is down. At most `concurrency` calls run at once.
    `sources` are what the tools come from, closed with the toolbox, which is a context manager.
    Tools are Tool objects, chat-completions dicts or plain typed functions. Raises ToolDefinitionError.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        *,
        timeout: float | None = 60.0,
        max_result: int = 4000,
        retries: int = 2,
        backoff: float = 0.25,
        concurrency: int = 8,
        sources: Iterable[Closes] = (),
    ) -> None:
        if callable(tools):
            raise ToolDefinitionError("A toolbox is made from a list of tools: write Toolbox([...]).")
        self._tools: dict[str, Tool] = {}
        for item in as_tools(tools):
            if item.name in self._tools:
                raise ToolDefinitionError(f'Two tools are called "{item.name}"; give one of them another name=.')
            schema.check_schema(item.parameters, item.name)
            self._tools[item.name] = item
        self.timeout = timeout
        self.max_result = max_result
        self.retries = retries
        self.backoff = backoff
        self.concurrency = concurrency
        self._sources = tuple(sources)

    @classmethod
    def from_mcp(
        cls,
        *servers: str | Sequence[str],
        tools: Iterable[ToolLike] = (),
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Toolbox:
        """The tools of MCP servers, and `tools` of your own before them.

        A server is a command line, a list of words, or an http(s) URL. Of its tools those are taken that a pattern of
        `allow` fits and none of `deny`, such as "get_*". `env` is added to the environment of commands, `headers` to
        requests; `options` are the toolbox's own. Close the toolbox to end the servers: it is a context manager.
        Raises ToolSourceError and MissingExtra.
        """
        from react_text.adapters.mcp import open_servers, tools_of

        own = as_tools(tools)
        opened = open_servers(servers, env=env, headers=headers)
        try:
            found = tools_of(opened, allow=allow, deny=deny, taken=[tool.name for tool in own])
            return cls([*own, *found], sources=opened, **options)
        except BaseException:
            for server in opened:
                server.close()
            raise

    def close(self) -> None:
        """Close what the tools come from, such as servers that were started for them. May be called twice."""
        for source in self._sources:
            source.close()

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order given."""
        return tuple(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def run(self, call: Call) -> Observation:
        """Run one call and say what it gave. Only KeyboardInterrupt and its kin pass through."""
        prepared = self._prepare(call)
        if isinstance(prepared, Observation):
            return prepared
        tool, arguments = prepared
        return self._observe(
            call, tool, self._retrying(tool)(execution.run, tool.function, arguments, self._time(tool))
        )

    async def arun(self, call: Call) -> Observation:
        """The async twin of `run`: an async tool runs in this loop, a sync one in a thread of its own."""
        prepared = self._prepare(call)
        if isinstance(prepared, Observation):
            return prepared
        tool, arguments = prepared
        return self._observe(
            call, tool, await self._aretrying(tool)(execution.arun, tool.function, arguments, self._time(tool))
        )

    def run_all(self, calls: Sequence[Call]) -> list[Observation]:
        """Run calls and give their observations in the same order; neighbours that are safe run at the same time."""
        found: list[Observation] = []
        for batch in self._batches(calls):
            if len(batch) == 1:
                found.append(self.run(batch[0]))
            else:
                running = [in_thread(self.run, call) for call in batch]
                found.extend(future.result() for future in running)
        return found

    async def arun_all(self, calls: Sequence[Call]) -> list[Observation]:
        """The async twin of `run_all`."""
        found: list[Observation] = []
        for batch in self._batches(calls):
            found.extend(await asyncio.gather(*(self.arun(call) for call in batch)))
        return found

    def _batches(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        batch: list[Call] = []
        for call in calls:
            tool = self._tools.get(call.name) if isinstance(call.name, str) else None
            if tool is None or not tool.safe or len(batch) >= self.concurrency:
                if batch:
                    yield batch
                batch = []
            if tool is not None and tool.safe:
                batch.append(call)
            else:
                yield [call]
        if batch:
            yield batch

    def _prepare(self, call: Call) -> tuple[Tool, dict[str, Any]] | Observation:
        """The tool and its keyword arguments, or the observation that says why the call cannot be run."""
        tool = self._tools.get(call.name) if isinstance(call.name, str) else None
        if tool is None:
            return _refusal(call, self._unknown_tool(call.name))
        if tool.function is None:
            return _refusal(call, f"The tool {tool.name} is only described here and cannot be run.")
        arguments = _object(call.arguments)
        if not isinstance(arguments, dict):
            return _refusal(call, f"The arguments of {tool.name} must be a JSON object, but got {came(arguments)}.")
        if schema.first_problem(arguments, tool.parameters):
            arguments = schema.coerce(arguments, tool.parameters)
            found = schema.problems(arguments, tool.parameters)
            if found:
                return _refusal(call, " ".join(found[:_MOST_PROBLEMS]))
        try:
            own = copy.deepcopy(arguments)  # a tool may change what it is given, the history may not
            return tool, tool.bind(own) if tool.bind else own
        except Exception as error:  # what a user's own types raise while they are made from the arguments
            return _refusal(call, _binding_problem(tool, error))

    def _unknown_tool(self, name: Any) -> str:
        said = came(name) if not isinstance(name, str) else f'"{name[:80]}"'
        if not self._tools:
            return f"There is no tool {said}; there are no tools at all."
        near = schema.nearest(name, self._tools) if isinstance(name, str) else None
        names = [near, *(other for other in self._tools if other != near)] if near else list(self._tools)
        hint = f"; did you mean {near}?" if near else "."
        if len(names) > _MOST_NAMES:
            alike = difflib.get_close_matches(name if isinstance(name, str) else "", names, _FEW_NAMES, cutoff=0.0)
            return f"There is no tool {said}{hint} Of {len(names)} tools, the nearest names are: {', '.join(alike)}."
        return f"There is no tool {said}{hint} The tools are: {', '.join(names)}."

    def _time(self, tool: Tool) -> float | None:
        return self.timeout if tool.timeout is None else tool.timeout

    def _retrying(self, tool: Tool) -> Any:
        from tenacity import Retrying

        return Retrying(**self._retry_rules(tool))

    def _aretrying(self, tool: Tool) -> Any:
        from tenacity import AsyncRetrying

        return AsyncRetrying(**self._retry_rules(tool))

    def _retry_rules(self, tool: Tool) -> dict[str, Any]:
        from tenacity import retry_if_result, stop_after_attempt, wait_exponential

        return {
            "stop": stop_after_attempt(1 + self.retries if tool.safe else 1),
            "wait": wait_exponential(multiplier=self.backoff, max=30),
            "retry": retry_if_result(lambda outcome: _is_down(outcome.error)),
            "retry_error_callback": lambda state: state.outcome.result(),
        }

    def _observe(self, call: Call, tool: Tool, outcome: Outcome) -> Observation:
        error = outcome.error
        if error is None:
            text, cut = observations.shorten(observations.clean(outcome.text), self.max_result)
            return Observation(call.id, call.name, text, cut=cut)
        if not isinstance(error, (Exception, SystemExit)):
            raise error
        if isinstance(error, Overrun):
            return _refusal(call, f"{tool.name} timed out after {self._time(tool):g} s.")
        if isinstance(error, ToolFailed):
            said, _ = observations.shorten(observations.redact(str(error)), self.max_result)
            return _refusal(call, f"{tool.name} failed: {said}")
        _log.warning("The tool %s failed.", tool.name, exc_info=error)
        if _is_down(error):
            said = f"{tool.name} is unavailable: {_first_line(error)}"
            return Observation(call.id, call.name, said, is_error=True, unavailable=True)
        return _refusal(call, f"{tool.name} failed: {_first_line(error)}")


def _refusal(call: Call, sentence: str) -> Observation:
    return Observation(call.id, call.name, f"Error: {observations.clean(sentence)}", is_error=True)


def _object(arguments: Any) -> Any:
    """The arguments as a dict where they are one, or JSON text of one; anything else as it is. Nothing is `{}`."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return arguments
    if arguments is None:
        return {}
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def _binding_problem(tool: Tool, error: Exception) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return f"The arguments of {tool.name} cannot be used: {_first_line(error)}"
    first = error.errors(include_url=False, include_context=False)[0]
    path = argument_path(first["loc"])
    subject = f'Argument "{path}" is not right' if path else f"The arguments of {tool.name} are not right"
    return observations.redact(f"{subject}: {first['msg']}, but got {came(first['input'])}.")


def _words_of(error: BaseException) -> str:
    # the text of a KeyError is the representation of its key, which only adds quotes to a sentence
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str) and " " in error.args[0]:
        return error.args[0]
    return str(error)


def _first_line(error: BaseException) -> str:
    """`ValueError: what it says`, on one line, without paths and secrets."""
    try:
        lines = _words_of(error).strip()[:_LONGEST_READ].splitlines()
    except Exception:  # an exception whose own __str__ fails
        lines = []
    said = observations.redact(observations.clean(lines[0])) if lines else ""
    said = f"{said[:_LONGEST_ERROR]}..." if len(said) > _LONGEST_ERROR else said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_down(error: BaseException | None) -> bool:
    if error is None:
        return False
    reason = getattr(error, "reason", None)  # urllib wraps the real error
    if isinstance(error, _DOWN) or isinstance(reason, _DOWN):
        return True
    return any((kind.__module__.partition(".")[0], kind.__name__) in _DOWN_ELSEWHERE for kind in type(error).__mro__)
