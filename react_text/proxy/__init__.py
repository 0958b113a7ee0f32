"""Chat completions over HTTP in front of any model: the app, and the server that runs it."""

from react_text.proxy.app import Settings, make_app
from react_text.proxy.server import serve

__all__ = ["Settings", "make_app", "serve"]
