"""What a tool gave back, as text for the model: any value as text, cleaned, shortened, and freed of secrets."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import re
from collections.abc import Mapping, Set
from typing import Any

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DEEPEST = 40


def as_text(value: Any) -> str:
    """A tool's result as text: a text as it is, None as a sentence, anything else as JSON."""
    if value is None:
        return "The tool ran and returned nothing."
    if isinstance(value, str):
        return str(value) or "The tool ran and returned an empty text."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value))
    plain = _plain(value, 0)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any, depth: int) -> Any:
    """The value made of what JSON has: dict, list, text, number, true, false, null."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth + 1)
    if isinstance(value, (int, float)):
        return value
    if depth > _DEEPEST:
        return f"a {type(value).__name__}, nested too deeply"
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, Set):
        return [_plain(item, depth + 1) for item in _in_order(value)]
    if hasattr(value, "_asdict"):
        return _plain(value._asdict(), depth + 1)
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name), depth + 1) for item in dataclasses.fields(value)}
    for method in ("model_dump", "tolist", "to_dict"):  # pydantic, numpy, pandas
        convert = getattr(value, method, None)
        if callable(convert) and not isinstance(value, type):
            return _plain(convert(), depth + 1)
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    kind: Any = type(value)
    if kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__:
        return str(value)
    public = {key: inner for key, inner in getattr(value, "__dict__", {}).items() if not key.startswith("_")}
    return _plain(public, depth + 1) if public else f"an object of type {kind.__name__}"


def _key(key: Any) -> str:
    plain = _plain(key, 0)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _in_order(values: Set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(value)} bytes of binary data"


def clean(text: str) -> str:
    """The text without terminal escapes and control characters; line breaks and tabs stay."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def shorten(text: str, limit: int) -> tuple[str, int]:
    """The first `limit` characters with a note of how many were cut, and that number; 0 when the text fits."""
    cut = len(text) - limit
    if cut <= 0:
        return text, 0
    return f"{text[:limit]}\n[{cut} more characters were cut]", cut


_PRIVATE_HOST = (
    r"(?:localhost|127(?:\.\d{1,3}){3}|10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}"
    r"|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|\[::1\]"
    r"|(?:[\w-]+\.)+(?:internal|local|localdomain|lan|corp|intranet|svc))"
)
_TOKEN = (
    r"(?:sk-|[sr]k_live_|sk_test_|gh[pousr]_|github_pat_|glpat-|hf_|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-)"
    r"[\w.-]{8,}"
)
_TOKEN_PIECES = (
    "sk- k_live_ k_test_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- hf_ xox akia asia aiza ya29. npm_ pypi-"
)
_SECRET_NAME = r"(?:api[_-]?keys?|token|secrets?|passw(?:or)?ds?|pwd|passphrase|authorization|credentials?)"

_SECRETS = (
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", "<secret>", "private"),
    (r"(?<=://)[^/\s@'\"]+@", "", "@"),  # user and password in a URL
    (rf"(?-i:\b{_TOKEN})", "<secret>", _TOKEN_PIECES),
    (r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?", "<secret>", "eyj"),  # a JSON web token
    (r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", r"\1 <secret>", "bearer basic"),
    (
        rf"((?<![\w-])[\w-]*{_SECRET_NAME}[\"']?\s*[:=]\s*)"
        r"(?![\"']?(?:(?:bearer|basic) )?<secret>)[\"']?[^\s\"',;&)}\]]+[\"']?",
        r"\1<secret>",
        "key token secret passw pwd passphrase authorization credential",
    ),
)
"""Pattern, replacement, and pieces of which one is in every text that the pattern fits: the search itself is slow."""
_PLACES = (
    (r"\bfile:/+", "/"),
    (rf"(?<![\w.-]){_PRIVATE_HOST}(?![\w-])(?::\d+)?", "<host>"),
    # Of a path the last name stays, which the model may need: "no such file: notes.txt".
    (r"(?<=['\"])~?/[^'\"\n]*/(?=[^/'\"\n]+['\"])", ""),
    (r"(?:\b[A-Z]:[\\/]+|\\\\)(?:[^\\/:*?\"'<>|\r\n]+[\\/]+)*", ""),
    (r"(?<![\w:/.<>)\]])(?:~|\.{1,2})?(?:/[^/\s'\":;,<>()]+)+/(?=[^/\s'\":;,<>()]+)", ""),
    (r" at 0x[0-9a-f]{6,}", ""),
)
_SECRET_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement, tuple(pieces.split()))
    for pattern, replacement, pieces in _SECRETS
)
_PLACE_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement) for pattern, replacement in _PLACES
)
_SECRET_KEY = re.compile(rf"(?:.*[_-])?{_SECRET_NAME}", re.IGNORECASE)


def redact(text: str) -> str:
    """An error message without the folders of paths, credentials, and hosts of a private network."""
    text = redact_secrets(text)
    for pattern, replacement in _PLACE_PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redact_secrets(text: str) -> str:
    """The text without credentials."""
    folded = text.casefold()
    for pattern, replacement, pieces in _SECRET_PATTERNS:
        if any(piece in folded for piece in pieces):
            text = pattern.sub(replacement, text)
    return text


def without_secrets(value: Any) -> Any:
    """A JSON value without credentials: in its texts, and as the text or number under a key such as `password`."""
    if isinstance(value, str):
        return redact_secrets(value)
    if isinstance(value, Mapping):
        return {key: _without_secret(key, inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets(item) for item in value]
    return value


def _without_secret(key: Any, value: Any) -> Any:
    named = isinstance(key, str) and isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return "<secret>" if named and value and _SECRET_KEY.fullmatch(key) else without_secrets(value)
