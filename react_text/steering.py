"""What a small model is helped with, move by move: which tool, from which words, once more, or the answer now. Pure.

Each policy is one named switch. A move says how the next reply is begun and what it is held to; how likely the model
itself finds the ways to go on is asked for with `Score`, where the backend can tell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from react_text.messages import Call, Fault, Observation
from react_text.protocol.examples import examples_of, scalars
from react_text.protocol.grounding import (
    endings,
    likeness,
    mentions,
    names,
    narrowed,
    numbers,
    open_texts,
    put_right,
    repeated,
    spans,
    takes,
    unfillable,
    ungrounded,
    with_mentioned_choices,
    words_of,
)
from react_text.protocol.options import with_settled_options
from react_text.protocol.parts import SAY_NOTHING, part_with, unanswered_parts
from react_text.protocol.results import asked_names, asked_of, is_code, led_to, names_in, tells, values_of
from react_text.tools import Tool

NEUTRAL_QUESTION = "..."
"""Asks for nothing: how likely each tool is after it is what is taken off its score."""
LIKENESS_WEIGHT = 0.5
"""What likeness to the question counts beside natural logarithms, as all of these."""
UNFILLABLE_COST = 6.0
"""For each required argument that the question has no value for."""
CLAUSE_WEIGHT = 1.5
"""What likeness to the part of the question counts that is still unanswered."""
SAME_TOOL = 2.5
"""For the tool that was called last: questions ask for the same of several things."""
TELLING_WORDS = 2
"""New words in an error that make it worth trying one of them."""
LEAST = 1e-6
"""The least probability that is left for anything else than a call."""
DOUBT = 2.5
"""How much less likely than an answer another call may be for a part of the question that seems to be unanswered."""
NONE = ""
"""Stands for no tool among the names of tools."""
LONGEST_TOLD = 300
"""Characters of results that an answer is begun with."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The switches of steering, each explained where it acts.

    `choose`: the first move is chosen by calibrated probabilities, and no tool where the best is less than `margin`
    (in natural logarithms, set on the built-in development tasks) above calling none; between tools, `habit` of what
    is likely after any question is taken off. `options`: an optional argument that the question asks for is given, and
    a number that it does not hold is not. `ground`: arguments hold words of the question or of results, "always" by the
    grammar, "again" when they did not, "copied" when those required are an example's. `insist`: an error is no answer.
    `resume`: a tool that failed for want of what another one found is called again. `complete`: what the question
    names and no call has used is looked up too. `answer`: an answer holds what was found. `begin_answer`: after a good
    result the answer is begun.
    """

    choose: bool = True
    margin: float = 4.0
    habit: float = 0.25
    options: bool = True
    ground: Literal["always", "again", "copied", "never"] = "again"
    insist: bool = True
    resume: bool = True
    complete: bool = True
    answer: bool = True
    begin_answer: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """How the next reply is begun: freely, as a call, or as the answer; or what is "said" without a further reply.

    A call is held to the schema of `tool`. `said` is how an answer begins, or what it is; with `shape`, a JSON Schema,
    it is asked for as JSON, and held to it by a grammar where there is one (`held`).
    """

    kind: Literal["free", "call", "answer", "said"] = "free"
    tool: Tool | None = None
    why: str = ""
    said: str = ""
    shape: Mapping[str, Any] | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Ask how likely the model finds each way to go on: every tool, then no tool. Sent floats, or None.

    `question` replaces the history by one question.
    """

    question: str | None = None


Moving: TypeAlias = Generator[Score, Any, Move]
"""Yields each Score and is sent what it asks for; ends with the move."""


@dataclass
class Steering:
    """One run's moves. It is told each call with its observation and says what comes next.

    `calibration` holds scores after NEUTRAL_QUESTION by the names of the tools, and is shared by runs. `pending` is a
    tool that failed and has not been called with success since; `completed` and `doubted` are what has been acted on,
    as every policy acts once on the same thing; `reminded` likewise of the answer.
    """

    policies: Policies
    tools: Mapping[str, Tool]
    question: str
    calibration: dict[tuple[str, ...], tuple[float, ...]] = field(default_factory=dict)
    made: list[tuple[Call, Observation]] = field(default_factory=list)
    pending: Tool | None = None
    errors_in_a_row: int = 0
    completed: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    reminded: bool = False

    def note(self, call: Call, observation: Observation) -> None:
        """Take in what a call gave."""
        self.made.append((call, observation))
        if observation.denied:
            return
        if observation.is_error:
            self.errors_in_a_row += 1
            if self.pending is None:
                self.pending = self.tools.get(call.name)
        else:
            self.errors_in_a_row = 0
            if self.pending is not None and self.pending.name == call.name:
                self.pending = None

    def next_move(self) -> Moving:
        """What the next reply is to be."""
        if not self.made:
            return (yield from self.first_move())
        call, observation = self.made[-1]
        if observation.denied:
            return Move()  # a person's no is no error to be got round
        if observation.is_error:
            return (yield from self.after_error(call, observation))
        if self.policies.resume and self.pending is not None:
            held = (
                self.pending
                if self.policies.ground == "never"
                else narrowed(self.pending, values_of(observation.content))
            )
            return Move("call", held, "with what was found")
        if self.policies.complete:
            named = self.left_out()
            left = named or self.unasked()
            self.completed.update(left)
            if left and (tool := (yield from self.tool_for(left, call, sure=bool(named)))) is not None:
                whole = [] if named else [one for text in left for one in _singular_too(text)]
                held = narrowed(tool, left, around=self.texts(), words=whole)
                return Move("call", held, f"for {', '.join(left)}")
            if named and call.name in self.tools and self.tools[call.name].safe:
                return Move()
            if (tool := (yield from self.next_in_line(call, observation))) is not None:
                return Move("call", narrowed(tool, values_of(observation.content)), "with what was found")
        return Move("answer") if self.policies.begin_answer else Move()

    def next_in_line(self, call: Call, found: Observation) -> Generator[Score, Any, Tool | None]:
        """A tool not called yet that takes what was found, where that is not what was asked for.

        Of an object: its required arguments are named like values of it, and it holds nothing else that was asked for.
        Of a code: it takes one text, and is more like the question than the tool that found the code.
        """
        named, asked = names_in(found.content), set(asked_names(found.content, self.question))
        telling = " ".join(word for word in self.question.split() if word.casefold() not in SAY_NOTHING)
        known = dict(zip(self.tools, likeness(telling, list(self.tools.values())), strict=True))
        called = {one.name for one, _ in self.made}
        may = self.question.rstrip().endswith("?")
        tools = []
        for name, tool in self.tools.items():
            wanted = tool.parameters.get("required") or ()
            if is_code(found.content):
                fits = len(wanted) == 1 and takes(tool, ["string"]) and known[name] > known.get(call.name, 0.0)
            else:
                fits = bool(wanted) and named.issuperset(wanted) and asked <= {*wanted} and known[name] > 0
            if fits and name not in called and (tool.safe or may):
                tools.append(tool)
        if not tools or (scores := (yield from self.scores())) is None:
            return None
        likeliest = max(tools, key=lambda tool: scores[tool.name] + LIKENESS_WEIGHT * known[tool.name])
        return likeliest if scores[likeliest.name] >= scores[NONE] - DOUBT else None

    def first_move(self, *, needed: bool = False) -> Moving:
        """The likeliest tool or no tool, by how much more likely than after a question that asks for nothing.

        With `needed` a tool in any case.
        """
        if not self.policies.choose:
            return Move()
        scores = yield Score()
        if scores is None:
            return Move()
        neutral = self.calibration.get(tuple(self.tools))
        if neutral is None:
            neutral = yield Score(NEUTRAL_QUESTION)
            if neutral is None:
                return Move()
            self.calibration[tuple(self.tools)] = neutral
        tools = list(self.tools.values())
        known = [
            LIKENESS_WEIGHT * like - UNFILLABLE_COST * unfillable(tool, self.question)
            for like, tool in zip(likeness(self.question, tools), tools, strict=True)
        ]
        likely, usual = scores[:-1], neutral[:-1]
        worth = [score + word for score, word in zip(likely, known, strict=True)]
        above = max(one - habit for one, habit in zip(worth, usual, strict=True)) - (_none(likely) - _none(usual))
        if not needed and above < self.policies.margin:
            return Move("answer", why=f"no tool fits ({above:.1f} of {self.policies.margin:.1f})")
        rank = [one - self.policies.habit * habit for one, habit in zip(worth, usual, strict=True)]
        return Move("call", self.held(tools[rank.index(max(rank))]), "the likeliest tool")

    def after_fault(self, fault: Fault, corrections: int) -> Moving:
        """A refused call of a known tool is begun again at once, held to what is known; else the reply is free.

        An answer that was copied from an example before any tool was used shows that one is needed.
        """
        if fault.code == "copied_example" and fault.call is None and not self.made and corrections == 1:
            return (yield from self.first_move(needed=True))
        tool = self.tools.get(fault.call.name) if fault.call is not None else None
        if tool is None or corrections > 1:
            return Move()
        return Move("call", narrowed(tool, self.texts()), "with values that are known")

    def after_error(self, call: Call, observation: Observation) -> Moving:
        """The same tool with a value that the error names, or another tool that changes nothing."""
        if not self.policies.insist or self.errors_in_a_row > 2:
            return Move()
        tool = self.tools.get(call.name)
        failed = [
            text for one, seen in self.made if seen.is_error and one.name == call.name for text in self.texts_of(one)
        ]
        if tool is not None and (new := self.named_by(observation.content, failed)):
            return Move("call", narrowed(tool, new, failed), "with what the error says")
        others = [one for one in self.safe_tools() if one.name != call.name]
        wanted = {*(tool.parameters.get("required") or ())} if tool is not None else set()
        others = [one for one in others if not wanted.issuperset(one.parameters.get("required") or ())] or others
        said = self.message_of(call, observation.content, failed)
        if tool is not None and len(self.new_words(said)) >= TELLING_WORDS:
            others.append(tool)
        other = (yield from self.likeliest(others)) or (tool if self.errors_in_a_row == 1 else None)
        if other is None:
            return Move()
        if tool in others and other is tool:
            last = endings(said, self.spoken_of() | SAY_NOTHING, failed)
            return Move("call", narrowed(tool, [said], failed, words=last), "with words of the error")
        return Move("call", self.held(other), "an error is no answer")

    def message_of(self, call: Call, error: str, failed: Sequence[str]) -> str:
        """What an error says besides its beginning and the values that failed."""
        said = re.sub(rf"^Error: (?:{re.escape(call.name)} failed: )?(?:\w+: )?", "", error)
        for text in failed:
            said = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", ". ", said, flags=re.IGNORECASE)
        return said

    def new_words(self, text: str) -> list[str]:
        """The longer words of a text that neither the question nor any tool has."""
        known = self.spoken_of() | SAY_NOTHING | set(re.findall(r"\w+", self.question.casefold()))
        return [word for word in re.findall(r"[^\W\d_]{4,}", text.casefold()) if word not in known]

    def named_by(self, error: str, failed: Sequence[str]) -> list[str]:
        """What an error names besides what was tried: names, or else words of the question that no tool speaks of."""
        rest = error
        for text in failed:
            rest = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", " ", rest, flags=re.IGNORECASE)
        if new := [one for one in names(rest) if not any(mentions(text, one) for text in failed)]:
            return new
        spoken_of = self.spoken_of() | SAY_NOTHING
        asked = [one for one in spans([rest]) if len(one) > 2 and " " not in one and mentions(self.question, one)]
        return [
            one for one in asked if one.casefold() not in spoken_of and not any(mentions(text, one) for text in failed)
        ]

    def tool_for(self, left: Sequence[str], last: Call, *, sure: bool) -> Generator[Score, Any, Tool | None]:
        """The tool for what is still unanswered: by the model, by the words around it, and rather the last one again.

        A tool that may change something is only called again for a question, which asks to be told something, and with
        a value that is written like one it was called with. Where this or that anything is unanswered is not `sure`, no
        tool is called that the model finds much less likely than an answer.
        """
        around = " ".join([*left, *self.texts()])
        usable = [tool for tool in self.tools.values() if not unfillable(tool, around)]
        kinds = ("integer", "number") if all(numbers(one) for one in left) else ("string", "array", "object")
        again = self.question.rstrip().endswith("?") and self.written_like(left, last)
        tools = [tool for tool in usable if takes(tool, kinds) and (tool.safe or (again and tool.name == last.name))]
        if not tools or (sure and len(tools) == 1 and tools[0].safe):
            return tools[0] if tools else None
        scores = yield from self.scores()
        if scores is None:
            return None
        enough = scores[NONE] - DOUBT
        tools = [tool for tool in tools if scores[tool.name] >= enough or (sure and tool.safe)]
        if not tools:
            return None
        likes = likeness(self.clause(left), tools)
        worth = [
            scores[tool.name] + CLAUSE_WEIGHT * like + (SAME_TOOL if tool.name == last.name else 0.0)
            for tool, like in zip(tools, likes, strict=True)
        ]
        return tools[worth.index(max(worth))]

    def clause(self, left: Sequence[str]) -> str:
        """The part of the question that what is left stands in: from the end of the last value used before it on."""
        at = min((found for one in left if (found := self.question.find(one)) >= 0), default=0)
        used = [text for call, _ in self.made for text in self.texts_of(call)]
        ends = [self.question.find(text) + len(text) for text in used if 0 <= self.question.find(text) < at]
        return self.question[max(ends, default=0) :]

    def likeliest(self, among: Sequence[Tool]) -> Generator[Score, Any, Tool | None]:
        """The tool of these that the model itself would call next, by the question's words as well."""
        if len(among) < 2:
            return among[0] if among else None
        scores = yield from self.scores()
        if scores is None:
            return None
        known = dict(zip((tool.name for tool in among), likeness(self.question, among), strict=True))
        return max(among, key=lambda tool: scores[tool.name] + LIKENESS_WEIGHT * known[tool.name])

    def scores(self) -> Generator[Score, Any, dict[str, float] | None]:
        """How likely the model finds a call of each tool, by name, and of NONE; None where the backend cannot tell."""
        scores = yield Score()
        return None if scores is None else dict(zip([*self.tools, NONE], scores, strict=True))

    @staticmethod
    def written_like(left: Sequence[str], call: Call) -> bool:
        """Whether each text is written like a value of the call: as many words, with letters and digits alike."""
        used = {_written(text) for text in scalars(call.arguments)}
        return all(_written(text) in used for text in left)

    def doubts(self, calls: Sequence[Call]) -> Move | None:
        """A call whose values come from nowhere is asked for once more, held to what is known."""
        if self.policies.ground == "never":
            return None
        for call in calls:
            tool = self.tools.get(call.name)
            if tool is None or _key(call) in self.doubted:
                continue
            self.doubted.add(_key(call))
            texts = self.texts()
            if doubtful := self.from_nowhere(tool, call):
                why = "values from nowhere"
            elif doubtful := repeated(tool, call.arguments):
                texts = [one.replace(value, ". ") for one in texts for _, value in doubtful]
                why = "the same value twice"
            if doubtful:
                held = put_right(tool, call.arguments, [name for name, _ in doubtful], texts)
                return Move("call", held, why)
        return None

    def from_nowhere(self, tool: Tool, call: Call) -> list[tuple[str, str]]:
        """Values of a call that no text holds; under "copied" of required arguments only those of an example."""
        found = ungrounded(tool, call.arguments, "\n".join(self.texts()))
        if self.policies.ground == "copied":
            shown = {text for _, one in examples_of(tuple(self.tools.values())) for text in scalars(one.arguments)}
            required = tool.parameters.get("required") or ()
            found = [(name, text) for name, text in found if text in shown or name not in required]
        return found

    def unanswered(self, answer: str) -> Move | None:
        """An answer that leaves out what was found is begun once more with it; None where it holds everything."""
        if not self.policies.answer or self.reminded:
            return None
        results = self.results()
        whole = len(results) == 1
        parts = [self.question if whole else part_with(self.question, scalars(call.arguments)) for call, _ in results]
        found = [(call, asked_of(seen.content, part)) for (call, seen), part in zip(results, parts, strict=True)]
        if sum(len(text) for _, text in found) > LONGEST_TOLD:
            return None
        needed = [text for _, text in found] if whole else [seen.content for _, seen in results]
        said = [" ".join([self.question, *needed[:at], *needed[at + 1 :]]) for at in range(len(needed))]
        if all(map(tells, [answer] * len(needed), needed, said)):
            return None
        self.reminded = True
        if whole and tells(answer, results[0][1].content, self.question):
            return Move("said", said=f"{answer.rstrip(' .')} ({found[0][1]}).")
        if len(found) == 1:
            return Move("answer", said=f"The answer is {found[0][1]}")
        return Move("answer", said="; ".join(f"{self.told(call)}: {text}" for call, text in found) + ".")

    def results(self) -> list[tuple[Call, Observation]]:
        """The good results that no later call was made from."""
        found = []
        later = ""
        for call, seen in reversed(self.made):
            if not seen.is_error and not led_to(seen.content, later):
                found.append((call, seen))
            later = " ".join([*self.texts_of(call), later]).strip()
        return found[::-1]

    def left_out(self) -> list[str]:
        """What the question names that no call has used and no result holds."""
        used = " ".join(text for call, seen in self.made for text in (*scalars(call.arguments), seen.content))
        named = [*names(self.question), *map(str, numbers(self.question))]
        spoken_of = self.spoken_of()
        return [
            one
            for one in dict.fromkeys(named)
            if one not in self.completed and one.casefold() not in spoken_of and not self.covered(one, used)
        ]

    def unasked(self) -> list[str]:
        """What parts of the question ask for that hold no value of any call."""
        values = [text for call, _ in self.made for text in scalars(call.arguments)]
        results = " ".join(seen.content for _, seen in self.made)
        parts = unanswered_parts(self.question, values, results, self.spoken_of())
        return [one for one in parts if one not in self.completed]

    def spoken_of(self) -> frozenset[str]:
        """The words of all tools, choices among them."""
        return frozenset[str]().union(*map(words_of, self.tools.values()))

    @staticmethod
    def covered(name: str, used: str) -> bool:
        """Whether a name stands in what was used, or a word of what was used in the name."""
        return mentions(used, name) or any(mentions(name, word) for word in used.split() if len(word) > 2)

    def held(self, tool: Tool) -> Tool:
        """The tool held to the words of the question as far as the policy says so before anything was found."""
        if self.policies.options:
            tool = with_settled_options(tool, self.question)
        if self.policies.ground == "never":
            return tool
        if self.policies.ground == "always":
            return narrowed(tool, [self.question])
        return with_mentioned_choices(tool, self.question)

    def safe_tools(self) -> list[Tool]:
        """The tools that change nothing."""
        return [tool for tool in self.tools.values() if tool.safe]

    def texts_of(self, call: Call) -> list[str]:
        """The values of a call that were free to be anything."""
        tool = self.tools.get(call.name)
        return open_texts(tool, call.arguments) if tool is not None else []

    def texts(self) -> list[str]:
        """The question and what tools gave back."""
        return [self.question, *("\n".join(values_of(seen.content)) for _, seen in self.made)]

    def told(self, call: Call) -> str:
        """A call in words, to name its result by."""
        return " ".join([call.name.replace("_", " "), *self.texts_of(call)])


def _key(call: Call) -> str:
    """Equal for calls of the same tool with the same arguments."""
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def _none(calls: Sequence[float]) -> float:
    """How likely none of these calls comes, as a natural logarithm like theirs: whatever else a model may write."""
    return math.log(max(1.0 - sum(map(math.exp, calls)), LEAST))


def _singular_too(text: str) -> list[str]:
    return [text, text[:-1]] if text.endswith("s") else [text]


def _written(text: str) -> str:
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", text.strip()))
