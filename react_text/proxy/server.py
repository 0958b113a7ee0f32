"""Runs the app with uvicorn: on loopback unless told otherwise, and elsewhere only with an API key."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from react_text.chat import FallbackChat
from react_text.errors import ChatError, MissingExtra
from react_text.proxy.address import is_loopback
from react_text.proxy.app import Settings, make_app
from react_text.proxy.log import LOGGER

GRACE = 30
"""Seconds that running requests are given when the server is told to stop."""


def serve(
    chat: FallbackChat,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    settings: Settings | None = None,
    on_start: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until SIGINT or SIGTERM; then running requests are finished, new ones refused.

    Port 0 takes any free one; `on_start` is handed the address once requests are taken. Raises ChatError when the
    address is open to others and there is no API key, or cannot be had, and MissingExtra without the extra.
    """
    settings = settings or Settings()
    check_open(host, settings.api_key)
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("serve", "The server") from error
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    config = uvicorn.Config(
        make_app(chat, settings),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        ws="none",
    )
    server = uvicorn.Server(config)
    startup = server.startup

    async def started(*args: Any, **kwargs: Any) -> None:
        await startup(*args, **kwargs)
        if server.started:
            number = server.servers[0].sockets[0].getsockname()[1]
            on_start(f"http://{f'[{host}]' if ':' in host else host}:{number}/v1")

    server.startup = started  # type: ignore[method-assign]
    with _ended_by_signals(), suppress(SystemExit):  # with which uvicorn answers an address that it cannot have
        server.run()
    if not server.started:
        raise ChatError(f"{host} port {port} cannot be served; it may be in use. Give another --port.", param="port")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """uvicorn raises a signal again once it has stopped because of it; by then all is done."""
    known = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)


def check_open(host: str, api_key: str | None) -> None:
    """Raise ChatError for an address that others can reach without a key."""
    if not api_key and not is_loopback(host):
        raise ChatError(
            f"{host} can be reached from other machines: give an API key with --api-key or REACT_TEXT_API_KEY, "
            "or bind to 127.0.0.1.",
            param="api_key",
        )
