"""What a grammar costs and gives: python tests/benchmarks/bench_grammar.py [--model FILE.gguf] [--limit N]

The same questions over the same tools, each asked in four ways, taking turns question by question so that what else the
machine does falls on all alike:

- free: no grammar. The reply ends at the stop strings of an agent ("Observation:"), at the model's own end, or at the
  token limit; a call in it is read by the tolerant parser.
- grammar: the grammar of the tools. Forced text is appended, the reply ends with the call.
- every token: the same grammar with forced text drawn token by token.
- llama-cpp-python: the same prompt tokens and the same GBNF through its own `grammar=`.

Prompts are evaluated beforehand, so seconds are those of the reply: compiling and checking the grammar included. Two
tables: by the clock, and by this process's own processor seconds, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from react_text.backends.base import Delta, Reply, Request
from react_text.backends.llama.engine import library
from react_text.backends.llama.forcing import Forcing, Stretch
from react_text.backends.llama.threads import reports_matrix_tiles
from react_text.backends.llama_cpp import LlamaCpp
from react_text.data import load_dialect, load_grammar_skeleton
from react_text.messages import Message
from react_text.models import resolve_model
from react_text.parsing import parse
from react_text.protocol.grammar import text_grammar
from react_text.protocol.render import Entry, opening, to_text, user_message
from react_text.schema import first_problem
from react_text.tools import Tool

DIALECT = load_dialect("react")
COLUMNS = (
    ("asked", 6),
    ("well-formed", 12),
    ("valid", 8),
    ("called", 8),
    ("cut off", 8),
    ("tokens", 8),
    ("forced", 8),
    ("after call", 11),
    ("tokens/s", 10),
    ("ratio", 7),
    ("drawn/s ratio", 14),
    ("s/call", 8),
    ("ratio", 7),
)
TOOLS_OFFERED = 3
MAX_TOKENS = 160


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def one_of(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


def integer(**more: Any) -> dict[str, Any]:
    return {"type": "integer", **more}


def number(**more: Any) -> dict[str, Any]:
    return {"type": "number", **more}


def listed(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def record(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


TASKS: tuple[tuple[str, str, dict[str, Any], tuple[str, str, str]], ...] = (
    (
        "get_weather",
        "Current weather in a city.",
        record("city", city=text(), unit=one_of("celsius", "fahrenheit")),
        ("How warm is it in Oslo?", "Is it raining in Lima right now?", "Weather in Cairo in fahrenheit, please."),
    ),
    (
        "convert_currency",
        "Convert an amount of money.",
        record("amount source target", amount=number(), source=text(), target=text()),
        ("What are 20 euros in dollars?", "Turn 1500 yen into pounds.", "How many francs do I get for 75.5 dollars?"),
    ),
    (
        "search_flights",
        "Find flights between two airports.",
        record("origin destination date", origin=text(), destination=text(), date=text(), seats=integer(minimum=1)),
        (
            "Find a flight from BER to LHR on 2031-04-02.",
            "Two seats from JFK to SFO on 2031-07-09?",
            "Which flights leave ZRH for MAD on 2031-01-15?",
        ),
    ),
    (
        "create_event",
        "Put an event into the calendar.",
        record("title start", title=text(), start=text(), guests=listed(text(), maxItems=5)),
        (
            "Add lunch with Ann and Bob on 2031-05-06 at noon.",
            "Put the dentist into my calendar for 2031-02-03 at 9.",
            "Plan a call with Kim on 2031-08-11 at 4 pm.",
        ),
    ),
    (
        "send_email",
        "Send an email.",
        record("to subject", to=text(), subject=text(), body=text(), urgent={"type": "boolean"}),
        (
            "Write to kim@example.org that the meeting moved.",
            "Send an urgent mail to ops@example.org: the server is down.",
            "Mail ann@example.org a thank you note.",
        ),
    ),
    (
        "set_thermostat",
        "Set the temperature of a room.",
        record(
            "room degrees",
            room=one_of("kitchen", "bedroom", "office"),
            degrees=integer(minimum=5, maximum=30),
        ),
        ("Make the kitchen 21 degrees.", "Set the bedroom to 17.", "The office should be at 23 degrees."),
    ),
    (
        "play_music",
        "Play music.",
        record("query", query=text(), volume=integer(minimum=0, maximum=100), shuffle={"type": "boolean"}),
        ("Play some jazz.", "Play Abbey Road, not shuffled.", "Put on piano music at volume 30."),
    ),
    (
        "calculate",
        "Evaluate an arithmetic expression.",
        record("expression", expression=text()),
        ("What is 17 * 23?", "How much is 1024 / 32?", "Compute 5 + 6 * 7."),
    ),
    (
        "lookup_word",
        "Definition of a word.",
        record("word", word=text(), language=one_of("en", "de", "fr")),
        ("What does 'serendipity' mean?", "Define the German word Fernweh.", "What is the meaning of 'ubiquitous'?"),
    ),
    (
        "book_table",
        "Reserve a table in a restaurant.",
        record("restaurant people", restaurant=text(), people=integer(minimum=1), time=text()),
        ("A table for 4 at Roma at 19:30.", "Reserve for two at the Blue Door.", "Book Sakura for 6 people."),
    ),
    (
        "track_parcel",
        "Where a parcel is.",
        record("number", number=text(), carrier=one_of("dhl", "ups", "fedex")),
        ("Where is my parcel 12345?", "Track UPS parcel 1Z999.", "Has DHL parcel 7788 arrived?"),
    ),
    (
        "move_robot",
        "Move the robot by metres.",
        record("by", by=record("x y", x=number(), y=number()), speed=one_of("slow", "fast")),
        ("Move the robot 2 metres along x.", "Drive 1.5 to the right and 3 up, slowly.", "Go back 4 metres fast."),
    ),
    (
        "add_reminder",
        "Remind the user later.",
        record("text minutes", text=text(), minutes=integer(minimum=1)),
        (
            "Remind me in 10 minutes to call mum.",
            "In an hour: take out the cake.",
            "Remind me to stretch in 30 minutes.",
        ),
    ),
    (
        "list_files",
        "List the files of a folder.",
        record("path", path=text(), recursive={"type": "boolean"}, kinds=listed(one_of("txt", "pdf", "png"))),
        ("Which PDF files are in /docs?", "List everything below /home/ann.", "Show the pictures in /photos."),
    ),
    (
        "query_sales",
        "Sales figures of a quarter.",
        record("year quarter", year=integer(minimum=2000, maximum=2040), quarter=one_of(1, 2, 3, 4), region=text()),
        ("Sales in the second quarter of 2030?", "How did Europe sell in Q4 2029?", "Show Q1 of 2031."),
    ),
    (
        "translate",
        "Translate a text.",
        record("text to", text=text(), to=one_of("en", "de", "fr", "es", "ja")),
        (
            "How do you say 'good morning' in French?",
            "Translate 'where is the station' to Japanese.",
            "'Thanks' in Spanish?",
        ),
    ),
    (
        "stock_price",
        "Price of a share.",
        record("symbol", symbol=text(), currency={"anyOf": [one_of("usd", "eur"), {"type": "null"}]}),
        ("What is ACME trading at?", "Price of GLOBEX in euros?", "How much is one INITECH share?"),
    ),
    (
        "make_order",
        "Order products.",
        record("items", items=listed(record("product count", product=text(), count=integer()), minItems=1, maxItems=4)),
        ("Order 3 lamps and 2 chairs.", "I want one desk.", "Buy 12 cups and a kettle."),
    ),
    (
        "find_recipe",
        "Find a recipe.",
        record("ingredients", ingredients=listed(text(), minItems=1, maxItems=6), vegan={"type": "boolean"}),
        ("What can I cook with rice and beans?", "A vegan dish with lentils?", "Something with eggs, flour and milk."),
    ),
    (
        "convert_units",
        "Convert a quantity.",
        record("value source target", value=number(), source=text(), target=text()),
        ("How many miles are 10 km?", "Convert 3.5 kg to pounds.", "What are 100 feet in metres?"),
    ),
    (
        "draw_shape",
        "Draw a shape.",
        {
            "type": "object",
            "properties": {
                "shape": {
                    "oneOf": [
                        record("kind radius", kind={"const": "circle"}, radius=number()),
                        record("kind width height", kind={"const": "box"}, width=number(), height=number()),
                    ]
                }
            },
            "required": ["shape"],
        },
        ("Draw a circle of radius 5.", "Draw a box, 3 wide and 4 high.", "A small circle, please."),
    ),
    (
        "rate_movie",
        "Store a rating of a film.",
        record("title stars", title=text(), stars=one_of(1, 2, 3, 4, 5), note={"type": ["string", "null"]}),
        ("Give Metropolis 5 stars.", "I hated Boredom 3: one star.", "Rate Solaris 4, note: slow but great."),
    ),
    (
        "lights",
        "Switch lights.",
        record("rooms on", rooms=listed(one_of("hall", "attic", "garden"), minItems=1), on={"type": "boolean"}),
        ("Lights on in the hall.", "Switch off attic and garden.", "Turn on the garden light."),
    ),
    (
        "time_in",
        "Current time in a zone.",
        record("zone", zone=text()),
        ("What time is it in Tokyo?", "The time in UTC?", "Is it already evening in New York?"),
    ),
)
TOOLS = tuple(Tool(name, description, schema) for name, description, schema, _ in TASKS)


@dataclass(frozen=True)
class Question:
    """One question with the tools on offer."""

    messages: list[Message]
    tools: tuple[Tool, ...]
    grammar: str


@dataclass(frozen=True)
class Outcome:
    """One reply: its text, tokens in all and not drawn, tokens when the call was whole, seconds, whether cut off."""

    text: str
    tokens: int
    forced: int
    until_call: int | None
    seconds: npt.NDArray[np.float64]
    cut: bool
    tools: tuple[Tool, ...]

    @property
    def strict(self) -> bool:
        return parse(self.text, self.tools).strict

    @property
    def valid(self) -> bool:
        turn = parse(self.text, self.tools)
        schemas = {tool.name: tool.parameters for tool in self.tools}
        return turn.kind == "action" and all(
            call.name in schemas and first_problem(dict(call.arguments), schemas[call.name]) is None
            for call in turn.calls
        )

    @property
    def called(self) -> bool:
        return parse(self.text, self.tools, finish_reason="length" if self.cut else "stop").kind == "action"


def questions() -> Iterator[Question]:
    """Groups of tools, and for every tool of a group its questions: neighbours share most of their prompt."""
    skeleton = load_grammar_skeleton(DIALECT.grammar or "")
    for start in range(0, len(TASKS), TOOLS_OFFERED):
        tools = TOOLS[start : start + TOOLS_OFFERED]
        grammar = text_grammar(skeleton, DIALECT, tools, "call").gbnf
        before = opening(DIALECT, tools)
        for _, _, _, asked in TASKS[start : start + TOOLS_OFFERED]:
            for question in asked:
                yield Question(to_text([*before, Entry(user_message(question))], DIALECT), tools, grammar)


def now() -> npt.NDArray[np.float64]:
    """Seconds on the clock, and processor seconds of this process."""
    return np.array([time.perf_counter(), time.process_time()])


def call_end(said: str) -> int | None:
    """Where the first call is whole: the end of its JSON."""
    label = f"\n{DIALECT.input}:"
    at = said.find(label)
    if at < 0:
        return None
    begin = at + len(label)
    begin += len(said[begin:]) - len(said[begin:].lstrip())
    try:
        return json.JSONDecoder().raw_decode(said, begin)[1]
    except ValueError:
        return None


def outcome(
    pieces: list[tuple[str, int]],
    tokens: int,
    forced: int,
    seconds: npt.NDArray[np.float64],
    cut: bool,
    question: Question,
) -> Outcome:
    """`pieces` are the texts and how many tokens had been generated with each."""
    said = DIALECT.reply_start + "".join(piece for piece, _ in pieces)
    end, length, until_call = call_end(said), len(DIALECT.reply_start), None
    for piece, count in pieces:
        length += len(piece)
        if end is not None and length >= end:
            until_call = count
            break
    return Outcome(said, tokens, forced, until_call, seconds, cut, question.tools)


def ours(model: LlamaCpp, question: Question, grammar: str | None) -> Outcome:
    request = Request(
        question.messages,
        reply_start=DIALECT.reply_start,
        stop=DIALECT.stop,
        max_tokens=MAX_TOKENS,
        grammar=grammar,
    )
    model.log_probabilities(question.messages, DIALECT.reply_start, [])
    began = now()
    items = list(model.stream(request))
    seconds = now() - began
    last = items[-1]
    assert isinstance(last, Reply)
    pieces = [(item.text, item.tokens) for item in items if isinstance(item, Delta)]
    usage = last.usage
    return outcome(pieces, usage.generated, usage.forced, seconds, last.finish_reason == "length", question)


def every_token(model: LlamaCpp, question: Question) -> Outcome:
    with mock.patch.object(Forcing, "ahead", return_value=Stretch()):
        return ours(model, question, question.grammar)


def theirs(other: Any, prompt: list[int], question: Question) -> Outcome:
    pairs = enumerate(zip(other._input_ids, prompt, strict=False))
    shared = next((at for at, (held, wanted) in pairs if held != wanted), min(other.n_tokens, len(prompt)))
    other.n_tokens = min(shared, other.n_tokens, len(prompt) - 1)
    other._ctx.kv_cache_seq_rm(-1, other.n_tokens, -1)
    other.eval(prompt[other.n_tokens :])
    began = now()
    grammar = library().LlamaGrammar.from_string(question.grammar, verbose=False)
    pieces, reason = [], None
    for chunk in other.create_completion(
        prompt, max_tokens=MAX_TOKENS, temperature=0.0, stop=list(DIALECT.stop), grammar=grammar, stream=True
    ):
        choice = chunk["choices"][0]  # type: ignore[index]
        reason = choice["finish_reason"] or reason
        pieces.append((choice["text"], other.n_tokens - len(prompt) + 1))
    seconds = now() - began
    return outcome(pieces, other.n_tokens - len(prompt), 0, seconds, reason == "length", question)


def open_other(path: Path, model: LlamaCpp) -> Any:
    """llama-cpp-python's own model, set up like ours."""
    llama_cpp = library()  # loaded by us first, so that its threads wait as ours do
    defaults = llama_cpp.llama_model_default_params

    def params() -> Any:
        made = defaults()
        made.use_extra_bufts = not reports_matrix_tiles()
        return made

    with (
        mock.patch.object(llama_cpp, "llama_model_default_params", params),
        mock.patch.object(llama_cpp.llama_cpp, "llama_model_default_params", params),
    ):
        return llama_cpp.Llama(
            str(path),
            n_ctx=2048,
            n_batch=128,
            n_threads=model.n_threads,
            n_threads_batch=model.n_threads_batch,
            verbose=False,
        )


def report(arms: dict[str, dict[int, Outcome]], which: int) -> None:
    """The table by one of the two kinds of seconds. Every arm is compared over the questions that it was asked."""
    timed = {
        name: {number: replace(one, seconds=one.seconds[which]) for number, one in outcomes.items()}
        for name, outcomes in arms.items()
    }
    free, mine = timed["free"], timed["grammar"]
    print(" " * 18 + "".join(f"{name:>{width}}" for name, width in COLUMNS))
    for name, found in timed.items():
        outcomes = list(found.values())
        shares = [
            statistics.mean(getattr(one, key) for one in outcomes) for key in ("strict", "valid", "called", "cut")
        ]
        tokens, forced = sum(one.tokens for one in outcomes), sum(one.forced for one in outcomes)
        after = sum(one.tokens - one.until_call for one in outcomes if one.until_call is not None)
        speed, drawn = median_ratio(found, free, per_second), median_ratio(found, free, drawn_per_second)
        cost, free_cost = (per_call([each[number] for number in found]) for each in (found, free))
        figures = [f"{len(outcomes)}", *(f"{share:.1%}" for share in shares), f"{tokens}", f"{forced}", f"{after}"]
        figures += [f"{statistics.median(map(per_second, outcomes)):.1f}", f"{speed:.2f}", f"{drawn:.2f}"]
        figures += [f"{cost:.2f}", f"{cost / free_cost:.2f}"]
        print(f"{name:18}" + "".join(f"{figure:>{width}}" for figure, (_, width) in zip(figures, COLUMNS, strict=True)))
    for name in ("free", "every token", "llama-cpp-python"):
        ratio = median_ratio(mine, timed[name], lambda one: one.seconds)
        print(f"seconds a reply, grammar / {name}: {ratio:.2f}")
    same = [mine[number].text == one.text for number, one in timed["every token"].items()]
    print(f"replies that are the same with forced text and with every token drawn: {sum(same)} of {len(same)}")


def median_ratio(found: dict[int, Outcome], base: dict[int, Outcome], measure: Callable[[Outcome], float]) -> float:
    """The median over the questions that both were asked."""
    return statistics.median(measure(found[number]) / measure(base[number]) for number in found if number in base)


def per_second(one: Outcome) -> float:
    return float(one.tokens / one.seconds)


def drawn_per_second(one: Outcome) -> float:
    return float((one.tokens - one.forced) / one.seconds)


def per_call(outcomes: list[Outcome]) -> float:
    """Seconds in all for each reply that holds a whole call; infinite where none does."""
    called = sum(one.called for one in outcomes)
    return float(sum(one.seconds for one in outcomes) / called) if called else math.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="a GGUF path, or smollm2")
    parser.add_argument("--limit", type=int, help="ask only this many questions, spread over all tools")
    parser.add_argument("--every", type=int, default=1, help="ask the last two ways only every so many questions")
    parser.add_argument("--show", action="store_true", help="print every reply")
    options = parser.parse_args()
    path = resolve_model(options.model)
    asked = list(questions())
    model = LlamaCpp(path, n_ctx=2048)
    other = open_other(path, model)
    ours(model, asked[0], asked[0].grammar)
    count = min(options.limit or len(asked), len(asked))
    asked = [asked[index * len(asked) // count] for index in range(count)]
    arms: dict[str, Callable[[Question], Outcome]] = {
        "free": lambda question: ours(model, question, None),
        "grammar": lambda question: ours(model, question, question.grammar),
        "every token": lambda question: every_token(model, question),
        "llama-cpp-python": lambda question: theirs(
            other, model.prompt_tokens(question.messages, DIALECT.reply_start), question
        ),
    }
    found: dict[str, dict[int, Outcome]] = {name: {} for name in arms}
    done = 0
    with contextlib.suppress(KeyboardInterrupt):
        for number, question in enumerate(asked):
            names = list(arms) if number % options.every == 0 else ["free", "grammar"]
            turn = number // options.every % len(names)
            for name in names[turn:] + names[:turn]:
                found[name][number] = one = arms[name](question)
                if options.show:
                    print(f"--- {number} {name}: {one.seconds.round(2)} s, {one.tokens} tokens\n{one.text}")
            done += 1
    found = {name: {at: one for at, one in each.items() if at < done} for name, each in found.items()}
    print(f"{model.model_description}: {done} questions over {len(TOOLS)} tools, {TOOLS_OFFERED} on offer each")
    print(f"at most {MAX_TOKENS} tokens a reply, temperature 0; ratios are to free: medians, except for s/call")
    for which, kind in enumerate(("clock", "processor")):
        print(f"\nBy the {kind}:")
        report(found, which)
    other.close()
    model.close()


if __name__ == "__main__":
    main()
