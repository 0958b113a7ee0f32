"""What a tool gave back, as text for the model."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import uuid
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from react_text.observations import (
    _SECRET_PATTERNS,
    as_text,
    clean,
    redact,
    redact_secrets,
    shorten,
    without_secrets,
)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Place(BaseModel):
    name: str
    opened: datetime.date


@dataclasses.dataclass
class Stop:
    name: str
    colours: set[Colour]


class Plain:
    def __init__(self) -> None:
        self.a = 1
        self._hidden = 2


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", "The tool ran and returned an empty text."),
        (None, "The tool ran and returned nothing."),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        ([], "[]"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ({"s": "Zürich ☂"}, '{"s": "Zürich ☂"}'),
        ((1, 2), "[1, 2]"),
        ({3, 1, 2}, "[1, 2, 3]"),
        ({1, "a"}, '[1, "a"]'),
        (frozenset(), "[]"),
        ({1: "x", None: "y", (1, 2): "z"}, '{"1": "x", "null": "y", "[1, 2]": "z"}'),
        (Colour.RED, "red"),
        ({"level": Level.HIGH}, '{"level": 3}'),
        (datetime.datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04:00"),
        ([datetime.date(2024, 1, 2)], '["2024-01-02"]'),
        (datetime.timedelta(minutes=90), "1:30:00"),
        (decimal.Decimal("1.10"), "1.10"),
        ([uuid.UUID(int=0)], '["00000000-0000-0000-0000-000000000000"]'),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (b"text", "text"),
        ([b"\xff\xfe"], '["2 bytes of binary data"]'),
        (Place(name="Museum", opened=datetime.date(1901, 5, 1)), '{"name": "Museum", "opened": "1901-05-01"}'),
        (Stop("A", {Colour.RED}), '{"name": "A", "colours": ["red"]}'),
        (Pair(1, "b"), '{"left": 1, "right": "b"}'),
        (OrderedDict(a=1), '{"a": 1}'),
        (types.SimpleNamespace(a=1), "namespace(a=1)"),
        (Plain(), '{"a": 1}'),
        (object(), "an object of type object"),
    ],
)
def test_any_result_becomes_text(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_a_result_that_holds_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert len(as_text(loop)) < 1000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
        max_leaves=20,
    )
)
def test_a_list_of_anything_is_json(value: Any) -> None:
    json.loads(as_text([value]))


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("a\x00b\x07c\x1bd", "abcd"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("one\r\ntwo\rthree\n\tfour", "one\ntwo\nthree\n\tfour"),
        ("half \ud83d emoji", "half  emoji"),
        ("c1 \x9b31m control", "c1 31m control"),
    ],
)
def test_control_characters_and_terminal_escapes_go(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t")))
def test_ordinary_text_is_not_touched_by_cleaning(text: str) -> None:
    assert clean(text) == text


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_cleaned_text_can_always_be_written_as_utf8(text: str) -> None:
    assert not set(clean(text).encode("utf-8")) & (set(range(32)) - {9, 10})


def test_a_long_text_says_how_much_was_cut() -> None:
    assert shorten("x" * 10, 10) == ("x" * 10, 0)
    assert shorten("x" * 15, 10) == ("x" * 10 + "\n[5 more characters were cut]", 5)


@pytest.mark.parametrize(
    ("message", "redacted"),
    [
        (
            "[Errno 2] No such file or directory: '/home/u/my data/notes.txt'",
            "[Errno 2] No such file or directory: 'notes.txt'",
        ),
        ("cannot open /srv/app/x.csv now", "cannot open x.csv now"),
        (r"C:\Users\me\Program Files\a.txt is missing", "a.txt is missing"),
        (r"'C:\\Users\\me\\a.txt'", "'a.txt'"),
        ("file:///home/u/x.txt", "x.txt"),
        ("~/.ssh/id_rsa", "id_rsa"),
        (
            "GET https://u:p@api.example.com/v1/users?api_key=abc123&x=1",
            "GET https://api.example.com/v1/users?api_key=<secret>&x=1",
        ),
        ("HTTPConnectionPool(host='db.internal', port=5432)", "HTTPConnectionPool(host='<host>', port=5432)"),
        ("http://192.168.1.4:80/admin", "http://<host>/admin"),
        ("postgresql://me:pw@localhost:5432/shop", "postgresql://<host>/shop"),
        ("token=abc and password: 'hunter2'", "token=<secret> and password: <secret>"),
        ("{'Authorization': 'Bearer abcdefghijkl'}", "{'Authorization': 'Bearer <secret>'}"),
        ("bad key sk-abcdefghijkl1234", "bad key <secret>"),
        ("<Client object at 0x7fabcdef1234>", "<Client object>"),
    ],
)
def test_paths_credentials_and_private_hosts_leave_an_error_message(message: str, redacted: str) -> None:
    assert redact(message) == redacted


@pytest.mark.parametrize(
    "message",
    [
        "10 km/h and/or 3/4/2024 in a/b/c",
        "Unexpected token: }",
        "max_tokens: 300 is too low",
        "https://example.com/v1/users gave 404",
        "no row for city='Oslo'",
        "invalid literal for int() with base 10: 'three'",
        "division by zero",
    ],
)
def test_other_error_messages_stay_as_they_are(message: str) -> None:
    assert redact(message) == message


PIECES = [
    "sk-abcdefgh1",
    "SK-abcdefgh1",
    "ghp_abcdefgh1",
    "AKIAabcdefgh1",
    "eyJabcdefgh1.x",
    "EYJabcdefgh1.x",
    "Bearer abcdefgh1",
]
PIECES += [
    "ba\u017fic abcdefgh1",
    "to\u212aen=x",
    "PASSWD: y",
    "https://a:b@c",
    "-----BEGIN RSA PRIVATE KEY-----",
    "k",
    " ",
    "\n",
    "/",
    '"',
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_looking_for_pieces_of_secrets_first_misses_none(text):
    thorough = text
    for pattern, replacement, _ in _SECRET_PATTERNS:
        thorough = pattern.sub(replacement, thorough)
    assert redact_secrets(text) == thorough


def test_the_value_under_the_name_of_a_secret_is_taken_out_at_any_depth():
    given = {"user": "ada", "db": [{"db_password": "x1", "API-Key": 12345, "tokens": 3, "secret": True, "token": ""}]}
    kept = {"user": "ada", "db": [{"db_password": "<secret>", "API-Key": "<secret>"}]}
    kept["db"][0] |= {"tokens": 3, "secret": True, "token": ""}
    assert without_secrets(given) == kept
