import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.runaway import REPEATS, Watch, repeats_itself


@given(st.text(alphabet="abcdef ghi", min_size=12, max_size=80).filter(str.strip))
def test_a_piece_repeated_to_the_end_is_noticed(piece):
    assert repeats_itself("Thought: " + piece * (REPEATS + 2))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Final Answer: no, no, no!",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |",
        "1. Close the valve.\n2. Open the drain.\n3. Close the hatch.\n4. Open the door.",
        "\n" * 200,
    ],
)
def test_ordinary_text_is_not_taken_for_a_repetition(text):
    assert not repeats_itself(text)


def test_a_watch_ends_the_reply_at_the_brace_that_completes_the_only_call():
    watch = Watch([], "Thought:", single=True)
    pieces = [" I look.", "\nAction:", " find", "\nAction Input:", ' {"a"', ": 1", "}", " more"]
    assert [watch.feed(piece) for piece in pieces].index(True) == 6
    assert not watch.runaway
