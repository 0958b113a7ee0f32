"""What a result holds, what of it was asked for, and whether an answer tells it."""

import pytest

from react_text.protocol.results import asked_of, is_code, is_words, led_to, tells, values_of

RECORD = '{"place": 3, "points": 41, "coach": "Ada Lind"}'


def test_the_values_of_json_are_told_without_its_keys():
    assert values_of(RECORD) == ["3", "41", "Ada Lind"]
    assert values_of('["hall", {"lamps": 2}]') == ["hall", "2"]
    assert values_of(" 12 km/h ") == ["12 km/h"]
    assert values_of("7") == ["7"]


@pytest.mark.parametrize(
    ("question", "asked"),
    [("How many points do they have?", "41"), ("Place and points, please", "3, 41"), ("How are they?", RECORD)],
)
def test_of_an_object_the_values_are_asked_for_whose_names_the_question_speaks_of(question, asked):
    assert asked_of(RECORD, question) == asked


def test_an_answer_tells_an_object_by_its_values_and_not_by_its_keys():
    assert tells("They have 41 points.", RECORD, "How are they?")
    assert tells("Ada Lind trains them.", RECORD, "How are they?")
    assert not tells("Their place, points and coach are known.", RECORD, "How are they?")
    assert not tells('{"place": 5, "points": 12}', RECORD, "How are they?")


def test_what_the_question_says_itself_is_neither_asked_for_nor_told():
    informed = '{"room": 212, "informed": "Petra"}'
    asked = "Who was informed of room 212?"
    assert asked_of(informed, asked) == "Petra"
    assert not tells("The answer is 212.", informed, asked)
    assert tells("Room 212 it is.", "212", "Is it room 212?")


def test_a_call_is_made_from_a_result_when_it_holds_one_of_its_values():
    assert led_to(RECORD, "Ada Lind")
    assert not led_to(RECORD, "Bo Holm")
    assert not led_to(RECORD, "")


def test_a_code_is_one_word_of_letters_and_digits():
    assert is_code("E-552")
    assert is_code("PX8845")
    assert not any(map(is_code, ["552", "12km", "E-552 is free", "Oban", "2031-05-17", ""]))


def test_a_few_words_are_no_sentence_no_number_and_no_json():
    assert is_words("Port Louis")
    assert not any(map(is_words, ["", "552", "room 12", "true", '["Oban"]', "It leaves from the north pier"]))


def test_json_that_is_nested_too_deeply_is_a_text():
    deep = "[" * 100_000
    assert values_of(deep) == [deep]


def test_a_name_without_letters_is_not_spoken_of():
    assert asked_of('{"2031": 5, "": 7}', "How many were there?") == '{"2031": 5, "": 7}'
