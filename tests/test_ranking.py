"""Which of many tools a question is asked with, and what the model is told of the others."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from react_text import Agent, Call, Scripted, Tool, Toolbox, tool
from react_text.cli import main
from react_text.protocol.signature import tool_lines
from react_text.ranking import TOOLS_SHARE, Offer, words

pytest.importorskip("bm25s")

NAMES = ("chairs", "lamps", "desks", "shelves")
PLACES = ["harbor", "station", "airport", "market", "library", "museum", "castle", "garden", "bridge", "tunnel"]
DEEDS = [
    ("open", "Unlock the doors of the {place} for visitors in the morning."),
    ("close", "Lock the doors of the {place} and send everybody home at night."),
    ("list_visitors", "Everybody who came to the {place} on a day, with the hour of arrival."),
    ("sell_ticket", "Take payment from a person and print an admission slip for the {place}."),
]


def tool_of(place: str, deed: str, description: str) -> Tool:
    properties = {
        "day": {"type": "string", "description": f"The day at the {place}. Written as year, month and day."},
        "note": {"type": "string", "description": "Anything else that somebody should know about it."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["day"]}
    return Tool(f"{place}_{deed}", description.format(place=place), parameters, lambda **_: f"{place} {deed}")


TOOLS = tuple(tool_of(place, deed, description) for place in PLACES for deed, description in DEEDS)


def model(context: int | None = 1000, *replies: str) -> Scripted:
    made = Scripted(replies)
    made.context_length = context
    return made


def names(tools) -> list[str]:
    return [one.name for one in tools]


def test_the_tool_that_a_question_speaks_of_comes_first():
    offer = Offer(TOOLS, "auto", model())
    assert names(offer.for_question("Who arrived at the museum today?"))[0] == "museum_list_visitors"
    assert names(offer.for_question("Please lock up the castle for the night."))[0] == "castle_close"


def test_what_is_shown_takes_no_more_than_its_share_of_the_context():
    for context in (200, 600, 2000):
        backend = model(context)
        shown = Offer(TOOLS, "auto", backend).for_question("Who came to the library?")
        assert 0 < len(shown) < len(TOOLS)
        told = Agent(backend, TOOLS, tools_limit=None).setup.modes["text"].messages([])[0]["content"]
        ranked = Agent(backend, TOOLS).prompt("Who came to the library?")[0]["content"]
        assert len(ranked) < len(told)
        assert backend.count_tokens([{"role": "user", "content": tool_lines(shown)}]) <= TOOLS_SHARE * context


def test_tools_that_fit_are_all_shown_in_their_own_order_whatever_the_question():
    offer = Offer(TOOLS[:3], "auto", model(4000))
    assert offer.for_question("Who came to the harbor?") == TOOLS[:3]
    assert offer.note(TOOLS[:3]) == ""


def test_without_a_known_context_all_are_shown():
    assert Offer(TOOLS, "auto", model(None)).for_question("Open!") == TOOLS


def test_none_shows_all():
    assert Offer(TOOLS, None, model(200)).for_question("Open!") == TOOLS


def test_a_number_is_the_most_that_is_shown():
    shown = Offer(TOOLS, 5, model(None)).for_question("Print an admission slip for the bridge.")
    assert names(shown)[0] == "bridge_sell_ticket"
    assert len(shown) == 5


@pytest.mark.parametrize("limit", [0, -1, "some", 2.5])
def test_another_limit_is_refused(limit):
    with pytest.raises(ValueError, match="tools_limit"):
        Offer(TOOLS, limit, model())


def test_the_model_is_told_that_more_exist():
    agent = Agent(model(), TOOLS, instructions="Be brief.")
    told = agent.prompt("Who came to the garden?")[0]["content"]
    shown = len(agent.setup_for("Who came to the garden?").tools)
    assert f"These are the {shown} tools closest to the question. {40 - shown} more exist and are not shown." in told
    assert told.endswith("Be brief.")
    assert "garden_list_visitors(" in told


def test_a_run_uses_the_tool_that_its_question_speaks_of():
    agent = Agent(Scripted.plan([("castle_close", {"day": "2031-05-17"})], "Done: {0}."), TOOLS, tools_limit=3)
    assert agent.run("Lock the castle on 2031-05-17.").answer == "Done: castle close."


def test_a_long_tool_is_shown_shortened_and_runs_with_all_its_arguments():
    many = {f"detail_{number}": {"type": "string", "description": "More of it. " * 9} for number in range(60)}
    parameters = {"type": "object", "properties": {"boat": {"type": "string"}, **many}, "required": ["boat"]}
    given = {}
    long = Tool("sail", "Sail a boat out. " * 20, parameters, lambda **arguments: given.update(arguments))
    agent = Agent(model(600), [*TOOLS, long])
    shown = agent.setup_for("Sail the boat Emma out.").tools[0]
    assert shown.name == "sail"
    assert list(shown.parameters["properties"]) == ["boat"]
    assert shown.description == "Sail a boat out."
    agent.toolbox.run(Call("1", "sail", {"boat": "Emma", "detail_7": "red"}))
    assert given == {"boat": "Emma", "detail_7": "red"}


def test_an_example_that_a_shortened_tool_cannot_show_is_left_out():
    @tool(examples=[("Sail?", {"boat": "Emma", "wind": "west"}, "ok"), ("Sail on?", {"boat": "Emma"}, "ok")])
    def sail(boat: str, wind: str = "north") -> str:
        """Sail a boat out."""
        return boat

    (shown,) = Offer([sail], 1, model(24)).for_question("Sail!")
    assert [example.question for example in shown.examples] == ["Sail on?"]


def test_a_short_question_is_heard_together_with_the_ones_before_it_and_called_tools_stay():
    call = {"id": "1", "type": "function", "function": {"name": "tunnel_open", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Open the tunnel. Then: who arrived at the museum?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "Nobody."},
    ]
    shown = names(Offer(TOOLS, "auto", model()).for_question("And on Sunday?", history))
    assert shown[0] == "tunnel_open"
    assert "museum_list_visitors" in shown


def test_names_are_split_into_words_and_endings_do_not_count():
    assert words("listHTTPServers") == words("the listing of an HTTP server") == ["list", "http", "server"]
    assert words("снега_на_улице") != []
    assert words("東京の天気") == list("東京の天気")


def test_a_model_that_asks_for_a_tool_that_is_not_there_is_not_shown_hundreds_of_names():
    said = Toolbox(TOOLS).run(Call("1", "castle_clos", {})).content
    assert "did you mean castle_close?" in said
    assert said.count("castle_") >= 3
    assert len(said.partition("names are: ")[2].split(", ")) == 10


def test_without_the_extra_a_number_is_answered_with_the_install_line_and_auto_shows_all():
    code = (
        "import sys; sys.modules['bm25s'] = None\n"
        "from react_text import Agent, Scripted, Tool\n"
        "from react_text.errors import MissingExtra\n"
        "tools = [Tool(f'tool_{n}', 'It does something useful.') for n in range(40)]\n"
        "model = Scripted([]); model.context_length = 300\n"
        "print(len(Agent(model, tools).setup.tools))\n"
        "try: Agent(model, tools, tools_limit=3)\n"
        "except MissingExtra as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, said = out.stdout.splitlines()
    assert shown == "40"
    assert "pip install 'react-text[ranking]'" in said


def test_the_command_line_shows_no_more_tools_than_it_is_told(tmp_path):
    path = tmp_path / "tools.py"
    path.write_text("".join(f'def {name}() -> int:\n    """Number of {name}."""\n    return 1\n' for name in NAMES))
    ask = ["prompt", "How many lamps are there?", "--tools", str(path)]
    limited = CliRunner().invoke(main, [*ask, "--tools-limit", "2"]).stdout
    assert "lamps() - Number of lamps." in limited
    assert sum(f"Number of {name}" in limited for name in NAMES) == 2
    assert all(f"Number of {name}" in CliRunner().invoke(main, [*ask, "--tools-limit", "all"]).stdout for name in NAMES)
    wrong = CliRunner().invoke(main, [*ask, "--tools-limit", "some"])
    assert wrong.exit_code == 2
    assert "neither a number above 0 nor auto nor all" in wrong.stderr
