"""Where an endpoint is and the key to it. Pure values: nothing is connected here."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from react_text.errors import BackendError

SHORTEST_SECRET = 6
"""Characters of a secret that is blotted out wherever it shows; a shorter one would be found in common words."""
_ADDRESS_HINT = "Give one like http://127.0.0.1:8080/v1."
_CALL_PATH = re.compile(r"/(?:chat/completions|completions|models|api/chat|api/generate|api/tags)$")

EXPECTED_AT_PORT = {
    8080: ("llama-server", "llama-server -m MODEL.gguf --port 8080"),
    8000: ("vLLM or llama_cpp.server", "vllm serve MODEL, or python -m llama_cpp.server --model MODEL.gguf"),
    11434: ("Ollama", "ollama serve"),
    1234: ("LM Studio", "lms server start"),
    30000: ("SGLang", "python -m sglang.launch_server --model-path MODEL"),
    5001: ("KoboldCpp", "koboldcpp --model MODEL.gguf"),
    5000: ("text-generation-webui or TabbyAPI", "python server.py --api"),
    4000: ("LiteLLM", "litellm --config config.yaml"),
}
"""Which server listens on a port by default, and the command that starts it."""


class ApiKey:
    """A key that shows itself to nobody: `repr` and `str` are stars, `reveal` is for the one header.

    `others` are further secrets, such as the values of a caller's own headers, that `hide` blots out too.
    """

    __slots__ = ("_hidden", "_value")

    def __init__(self, value: str | None, others: Iterable[str] = ()) -> None:
        value = (value or "").strip()
        if not (value.isascii() and value.isprintable()):
            raise BackendError("The API key holds a character that no HTTP header can carry; copy it again.")
        self._value = value
        parts = [part for other in others for part in (other, *other.split())]
        self._hidden = sorted({one for one in (value, *parts) if len(one) >= SHORTEST_SECRET}, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "ApiKey(***)" if self._value else "ApiKey()"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def reveal(self) -> str:
        return self._value

    def hide(self, text: str) -> str:
        """`text` with every secret blotted out."""
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return text


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is: `base` carries the API's path, `root` is the server itself. Neither holds credentials."""

    base: str
    root: str
    host: str
    port: int | None
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_address(base_url: str) -> Address:
    """The parts of a base URL; a missing scheme is http for a local host and https elsewhere.

    A path that names one API call is cut back to the base, and credentials in the URL are kept apart from it.
    Raises BackendError for what is no http address.
    """
    text = base_url.strip()
    if "://" not in text:
        local = re.match(r"(?:localhost|[\d.]+|\[[\da-f:]+\])(?::\d+)?(?:/|$)|[^/]+:\d+(?:/|$)", text, re.IGNORECASE)
        text = f"{'http' if local else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BackendError(f"The base URL cannot be read: {error}.", hint=_ADDRESS_HINT) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BackendError(
            f"The base URL {parts.scheme}://{parts.hostname or ''} is no http address.",
            hint=_ADDRESS_HINT,
        )
    if parts.query:
        raise BackendError(
            "The base URL holds a query.",
            hint="Leave it out; pass what the endpoint needs as headers= or body= instead.",
        )
    path = _CALL_PATH.sub("", parts.path.rstrip("/")).rstrip("/")
    host = parts.netloc.rpartition("@")[2]
    base = urlunsplit((parts.scheme, host, path, "", ""))
    root = re.sub(r"(?:/v\d+)+$|/api$", "", base)
    return Address(base, root, parts.hostname, port, parts.username or "", parts.password or "")
