"""Is the right tool among those shown, with 300 tools and a context of 2,048 tokens?

The tools are operations of real web services, as botocore describes them: 10 of each of 30 services, and 100 of each
of 3, which are much alike. The questions are the tools' own descriptions: with the name taken out; with every word of
the name taken out; and with half of what is left taken out, too, by chance. Printed for each: of 100 questions, how
many find their tool among those shown. Also printed: how many are shown, and the longest prompt.

Run with `make bench`, or `pytest tests/benchmarks/bench_ranking.py -o addopts= -s`.
"""

import gzip
import html
import json
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from react_text import Agent, LlamaCpp, Tool
from react_text.models import resolve_model
from react_text.ranking import words

botocore = pytest.importorskip("botocore")
SERVICES = Path(botocore.__file__).parent / "data"
CONTEXT = 2048
REPLY = 400
TOOLS = 300
QUESTIONS = 100
WANTED = 95
SIMPLE = {"integer": "integer", "long": "integer", "float": "number", "double": "number", "boolean": "boolean"}


def sentences(markup: str, most: int) -> str:
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())
    return " ".join(re.split(r"(?<=\.) ", text)[:most])


def schema_of(member: dict[str, Any], shapes: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    shape = shapes[member["shape"]]
    made: dict[str, Any] = {"type": SIMPLE.get(shape["type"], "string")}
    if shape["type"] == "structure":
        made = {"type": "object"}
        if depth < 3:
            inner = {name: schema_of(one, shapes, depth + 1) for name, one in shape["members"].items()}
            made |= {"properties": inner, "required": shape.get("required", [])}
    elif shape["type"] == "list":
        made = {"type": "array", "items": schema_of(shape["member"], shapes, depth + 1)}
    elif shape["type"] == "map":
        made = {"type": "object"}
    elif "enum" in shape:
        made["enum"] = shape["enum"]
    if depth == 1 and "documentation" in member:
        made["description"] = sentences(member["documentation"], 1)
    return made


@cache
def operations(service: str) -> tuple[Tool, ...]:
    path = max((SERVICES / service).glob("*/service-2.json.gz"))
    model = json.loads(gzip.decompress(path.read_bytes()))
    made = []
    for name, operation in model["operations"].items():
        description = sentences(operation.get("documentation", ""), 2)
        if len(description) > 30 and not operation.get("deprecated"):
            none: dict[str, Any] = {"type": "object", "properties": {}}
            parameters = schema_of(operation["input"], model["shapes"]) if "input" in operation else none
            made.append(Tool(f"{service}_{name}".replace("-", "_")[:64], description, parameters))
    return tuple(made)


def drawn(of_each: int, seed: int) -> list[Tool]:
    chance = random.Random(seed)
    services = sorted(path.parts[-3] for path in SERVICES.glob("*/*/service-2.json.gz"))
    tools: dict[str, Tool] = {}
    for service in chance.sample(services, len(services)):
        offered = operations(service)
        if len(offered) >= of_each:
            tools |= {one.name: one for one in chance.sample(offered, of_each)}
        if len(tools) >= TOOLS:
            break
    return list(tools.values())[:TOOLS]


def without_name(tool: Tool) -> str:
    """The description without the name, written together, apart, or with any signs between its words."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", tool.name.rpartition("_")[2])
    return re.sub(r"[\W_]*".join(map(re.escape, parts)), "", tool.description, flags=re.IGNORECASE)


def without_words(tool: Tool) -> str:
    """The description without any word of the name, in whatever form."""
    named = set(words(tool.name))
    return " ".join(word for word in re.findall(r"\w+", tool.description) if not named & set(words(word)))


def halved(tool: Tool) -> str:
    chance = random.Random(tool.name)
    return " ".join(word for word in without_words(tool).split() if chance.random() < 0.5)


ASKED: dict[str, Callable[[Tool], str]] = {
    "name taken out": without_name,
    "all its words taken out": without_words,
    "and half of the rest": halved,
}


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCpp]:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=CONTEXT) as made:
        yield made


@pytest.mark.parametrize(("of_each", "seed"), [(10, 0), (10, 1), (100, 0), (100, 1)])
def test_the_right_tool_is_shown(model, of_each, seed):
    tools = drawn(of_each, seed)
    assert len(tools) == TOOLS
    agent = Agent(model, tools)
    asked = random.Random(seed).sample(tools, QUESTIONS)
    print(f"\n{TOOLS} tools, {of_each} of each service, draw {seed}; context {CONTEXT}")
    found: dict[str, int] = {}
    for kind, question_of in ASKED.items():
        shown, began = [], time.perf_counter()
        for tool in asked:
            shown.append({one.name for one in agent._offer.for_question(question_of(tool))})
        seconds = (time.perf_counter() - began) / QUESTIONS
        found[kind] = sum(tool.name in names for tool, names in zip(asked, shown, strict=True))
        counts = [len(names) for names in shown]
        mean = statistics.mean(counts)
        print(f"  {kind:26} {found[kind]:3} of {QUESTIONS} found among {min(counts)} to {max(counts)} shown, ", end="")
        print(f"mean {mean:.1f}; {seconds * 1000:.1f} ms each")
    longest = max(model.count_tokens(agent.prompt(without_name(tool))) or 0 for tool in asked[::4])
    print(f"  longest prompt {longest} tokens, of which {CONTEXT - longest} are left for the reply")
    assert longest + REPLY <= CONTEXT
    assert found["name taken out"] >= WANTED
