from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from react_text.backends.stops import StopStrings

TEXT = st.text("abO: \n", max_size=30)


def cut(text: str, stops: list[str]) -> str:
    return text[: min((at for at in (text.find(stop) for stop in stops) if at >= 0), default=len(text))]


@given(TEXT, st.lists(st.text("abO: \n", min_size=1, max_size=4), max_size=3), st.data())
def test_any_split_of_a_stream_ends_at_the_first_stop_string(text: str, stops: list[str], data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    reader = StopStrings(stops)
    shown = [reader.feed(piece) for piece in pieces]
    assert "".join(shown) + reader.flush() == cut(text, stops)
    assert reader.stopped == (cut(text, stops) != text)


def test_text_is_held_back_only_while_it_may_become_a_stop_string() -> None:
    reader = StopStrings(["Observation:"])
    assert reader.feed("It is Obs") == "It is "
    assert reader.feed("cure, Ob") == "Obscure, "
    assert reader.feed("servation") == ""
    assert reader.feed(": 3") == ""
    assert reader.stopped
    assert reader.feed("more") == ""


def test_the_earliest_of_several_stop_strings_wins() -> None:
    reader = StopStrings(["END", "\n"])
    assert reader.feed("one\ntwo END") == "one"


def test_an_empty_stop_string_stops_nothing() -> None:
    reader = StopStrings([""])
    assert reader.feed("abc") == "abc"
    assert not reader.stopped
