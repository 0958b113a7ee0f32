"""One function run once, with a time limit, sync or async: the outcome comes back as a value.

The one place that catches whatever a user's function raises. It knows nothing of calls, schemas or models.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, TypeVar

from react_text.observations import as_text
from react_text.schema.function import is_async

_T = TypeVar("_T")
_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one try ended: with the text of the result, or with what was raised."""

    text: str = ""
    error: BaseException | None = None


class Overrun(Exception):
    """The function was still running when its time was up."""


def run(function: _Function, arguments: Mapping[str, Any], seconds: float | None) -> Outcome:
    """Run a function to its end or until its time is up; without a limit a sync one runs in the calling thread.

    A sync function that overruns cannot be stopped: its thread is left behind, and nothing waits for it.
    """
    if seconds is None and not is_async(function):
        return _outcome(function, arguments, None)
    try:
        return in_thread(_outcome, function, arguments, seconds).result(seconds)
    except FutureTimeout:
        return Outcome(error=Overrun())


async def arun(function: _Function, arguments: Mapping[str, Any], seconds: float | None) -> Outcome:
    """The async twin of `run`: an async function runs in this loop, a sync one in a thread of its own."""
    if not is_async(function):
        return await _within(asyncio.wrap_future(in_thread(_outcome, function, arguments, seconds)), seconds)
    try:
        work = function(**arguments)
    except Exception as error:
        return Outcome(error=error)
    return await _within(_awaited(work), seconds)


def in_thread(function: Callable[..., _T], *args: Any) -> Future[_T]:
    """Run a function in a thread of its own, for which the end of the interpreter does not wait."""
    future: Future[_T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        future.set_running_or_notify_cancel()  # from here on nobody can cancel it, so that a result always fits
        try:
            result = context.run(function, *args)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=work, name="react-text-tool", daemon=True).start()
    return future


def _outcome(function: _Function, arguments: Mapping[str, Any], seconds: float | None) -> Outcome:
    """Call the function in this thread, an async one in a loop of its own, and turn its result into text."""
    try:
        value = function(**arguments)
        if inspect.isawaitable(value):
            return asyncio.run(_within(_awaited(value), seconds))
        return Outcome(as_text(value))
    except asyncio.CancelledError:
        return Outcome(error=RuntimeError("it was cancelled"))
    except BaseException as error:
        return Outcome(error=error)


async def _awaited(value: Any) -> Outcome:
    """Await a result. SystemExit must not leave a task: asyncio would end the whole loop with it."""
    try:
        return Outcome(as_text(await value))
    except (Exception, SystemExit) as error:
        return Outcome(error=error)


async def _within(work: Any, seconds: float | None) -> Outcome:
    """The outcome of work that may take so many seconds; when time is up it is cancelled and not waited for."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            return Outcome(error=Overrun())
        return Outcome(error=RuntimeError("it was cancelled")) if task.cancelled() else task.result()
    finally:
        task.cancel()
