"""What a small model is helped with, move by move: which tool, from which words, once more, or the answer now. Pure.

Each policy is one named switch. A move says how the next reply is begun and what it is held to; how likely the model
itself finds the ways to go on is asked for with `Score`, where the backend can tell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from react_text.messages import Call, Fault, Observation
from react_text.protocol.examples import examples_of, scalars
from react_text.protocol.figures import mentioned_figures
from react_text.protocol.grounding import endings, likeness, mentions, numbers, takes, unfillable
from react_text.protocol.narrowing import narrowed, put_right, with_mentioned_choices
from react_text.protocol.options import named_for_option, with_settled_options
from react_text.protocol.origins import repeated, ungrounded
from react_text.protocol.parts import SAY_NOTHING, asks_to_be_told, speaks_of
from react_text.protocol.percentages import as_fractions
from react_text.protocol.results import asked_names, is_code, is_words, names_in, values_of, wanted_by
from react_text.steering.answers import answer_with_results
from react_text.steering.errors import hinted, message_of, named_by, new_words, only_ending, other_choice
from react_text.steering.known import Known
from react_text.steering.policies import Ask, Expect, Move, Moving, Policies, Score
from react_text.steering.remaining import clause, left_out, unasked, written_like
from react_text.tools import Tool

NEUTRAL_QUESTION = "..."
"""Asks for nothing: how likely each tool is after it is what is taken off its score."""
SOMEBODY = "Write what somebody says"
"""Asks for any question, or for that of somebody who needs a tool: compared is how likely the one asked is then."""
LONGEST_QUESTION = 600
"""Letters of a question, its last ones, whose likelihood is asked for."""
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
RECALL_BAND = 5.0
"""How far above the margin a tool may be and the model is still asked what it knows."""
NONE = ""
"""Stands for no tool among the names of tools."""


@dataclass
class Steering:
    """One run's moves. It is told each call with its observation and says what comes next.

    `known` grows with each call. `calibration` holds scores after NEUTRAL_QUESTION by the names of the tools, and is
    shared by runs. `pending` is a tool that failed and has not been called with success since. `completed` and
    `doubted` are what has been acted on, as every policy acts once on the same thing; `reminded` likewise of answers.
    `declined` says that no tool was found to fit the question.
    """

    policies: Policies
    known: Known
    calibration: dict[tuple[str, ...], tuple[float, ...]] = field(default_factory=dict)
    pending: Tool | None = None
    errors_in_a_row: int = 0
    completed: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    reminded: bool = False
    declined: bool = False

    def note(self, call: Call, observation: Observation) -> None:
        """Take in what a call gave."""
        self.known.made.append((call, observation))
        if observation.denied:
            return
        if observation.is_error:
            self.errors_in_a_row += 1
            if self.pending is None:
                self.pending = self.known.tools.get(call.name)
        else:
            self.errors_in_a_row = 0
            if self.pending is not None and self.pending.name == call.name:
                self.pending = None

    def next_move(self) -> Moving:
        """What the next reply is to be."""
        if not self.known.made:
            return (yield from self.first_move())
        call, observation = self.known.made[-1]
        if observation.denied:
            return Move()  # a person's no is no error to be got round
        if observation.is_error:
            return (yield from self.after_error(call, observation))
        if self.policies.complete and (tool := self.goes_on(call, observation)) is not None:
            self.pending = None
            return Move("call", narrowed(tool, values_of(observation.content)), "with what was found")
        if self.policies.resume and self.pending is not None:
            held = (
                self.pending
                if self.policies.ground == "never"
                else narrowed(self.pending, values_of(observation.content))
            )
            return Move("call", held, "with what was found")
        if self.policies.complete:
            named = left_out(self.known, self.completed)
            left = named or unasked(self.known, self.completed)
            self.completed.update(left)
            for alike in _alike(left):
                if (tool := (yield from self.tool_for(alike, call, sure=bool(named)))) is None:
                    continue
                whole = [] if named else [one for text in alike for one in _singular_too(text)]
                held = narrowed(tool, alike, around=self.known.texts(), words=whole)
                return Move("call", held, f"for {', '.join(alike)}")
            if named and call.name in self.known.tools and self.known.tools[call.name].safe:
                return Move()
            if (tool := (yield from self.next_in_line(call, observation))) is not None:
                return Move("call", tool, "with what was found")
        return Move("answer") if self.policies.begin_answer else Move()

    def goes_on(self, call: Call, found: Observation) -> Tool | None:
        """The safe tool not called yet that wants what was found, where the one that failed does not."""
        called = {one.name for one, _ in self.known.made}
        if self.pending is None or wanted_by(self.pending, call.name, found.content):
            return None
        wanting = [tool for tool in self.known.tools.values() if wanted_by(tool, call.name, found.content)]
        return next((tool for tool in wanting if tool.safe and tool.name not in called), None)

    def next_in_line(self, call: Call, found: Observation) -> Generator[Score, Any, Tool | None]:
        """A tool not called yet that takes what was found, where that is not what was asked for; held to take it.

        Of an object: its required arguments are named like values of it, and it holds nothing else that was asked for.
        Of a code: it takes one text, and is more like the question than the tool that found the code. Of a few words:
        it takes one text, and the question speaks of it too; as that may not mean what was found, it may take what the
        last call was made with as well.
        """
        named, asked = names_in(found.content), set(asked_names(found.content, self.known.question))
        telling = " ".join(word for word in self.known.question.split() if word.casefold() not in SAY_NOTHING)
        known = dict(zip(self.known.tools, likeness(telling, list(self.known.tools.values())), strict=True))
        called = {one.name for one, _ in self.known.made}
        may = asks_to_be_told(self.known.question)
        code, words = is_code(found.content), is_words(found.content)
        tools = []
        for name, tool in self.known.tools.items():
            wanted = tool.parameters.get("required") or ()
            if code or words:
                likely = speaks_of(self.known.question, name) if words else known[name] > known.get(call.name, 0.0)
                fits = likely and len(wanted) == 1 and takes(tool, ["string"])
            else:
                fits = bool(wanted) and named.issuperset(wanted) and asked <= {*wanted} and known[name] > 0
            if fits and name not in called and (tool.safe or may):
                tools.append(tool)
        if not tools or (scores := (yield from self.scores())) is None:
            return None
        likeliest = max(tools, key=lambda tool: scores[tool.name] + LIKENESS_WEIGHT * known[tool.name])
        if scores[likeliest.name] < scores[NONE] - DOUBT:
            return None
        return narrowed(likeliest, [*values_of(found.content), *(self.known.texts_of(call) if words else ())])

    def first_move(self, *, needed: bool = False) -> Moving:
        """The likeliest tool or no tool, by how much more likely than after a question that asks for nothing.

        A lone tool by how much likelier it makes the question, where the policies say so. With `needed` a tool anyhow.
        """
        if not self.policies.choose:
            return Move()
        tools = list(self.known.tools.values())
        margin = self.policies.lone if len(tools) == 1 else self.policies.margin
        above, best = (yield from self.by_question(tools[0])) if len(tools) == 1 else None, tools[0]
        if above is None:
            weighed = yield from self.by_choice(tools)
            if weighed is None:
                return Move()
            above, best = weighed
        if not needed and above < margin:
            self.declined = True
            return Move("answer", why=f"no tool fits ({above:.1f} of {margin:.1f})")
        told = self.policies.recall and not mentioned_figures(self.known.question)  # who gives numbers wants a result
        if not needed and told and above < margin + RECALL_BAND:
            answer = yield Ask()
            if answer and self.is_own(answer):
                self.declined = True
                return Move("answer", why=f"known without a tool: {answer}")
        return Move("call", self.held(best), "the likeliest tool")

    def by_question(self, tool: Tool) -> Generator[Expect, Any, float | None]:
        """How much likelier the question is from somebody who needs the tool than from anybody; None if not asked for.

        Only of a question that stands by itself: after others it may leave out what it is about.
        """
        if not self.policies.question or self.known.earlier:
            return None
        asked = self.known.question[-LONGEST_QUESTION:]
        takes = ", ".join(tool.parameters.get("properties") or {})
        whose = f"{SOMEBODY} who needs this tool.\nTool: {tool.name}({takes}): {tool.description}"
        needing: tuple[float] | None = yield Expect(asked, whose)
        anybody: tuple[float] | None = yield Expect(asked, f"{SOMEBODY}.")
        if needing is None or anybody is None:
            return None
        return needing[0] - anybody[0] + self.by_words([tool])[0]

    def by_choice(self, tools: Sequence[Tool]) -> Generator[Score, Any, tuple[float, Tool] | None]:
        """The likeliest tool, and how far the best is above none; None where the backend cannot tell."""
        scores = yield Score()
        if scores is None:
            return None
        neutral = self.calibration.get(tuple(self.known.tools))
        if neutral is None:
            neutral = yield Score(NEUTRAL_QUESTION)
            if neutral is None:
                return None
            self.calibration[tuple(self.known.tools)] = neutral
        likely, usual = scores[:-1], neutral[:-1]
        worth = [score + word for score, word in zip(likely, self.by_words(tools), strict=True)]
        above = max(one - habit for one, habit in zip(worth, usual, strict=True)) - (
            self.none(scores) - self.none(neutral)
        )
        rank = [one - self.policies.habit * habit for one, habit in zip(worth, usual, strict=True)]
        return above, tools[rank.index(max(rank))]

    def by_words(self, tools: Sequence[Tool]) -> list[float]:
        """What the words of the question say for each tool, and against it where they do not fill its arguments."""
        question = self.known.question
        return [
            LIKENESS_WEIGHT * like - UNFILLABLE_COST * unfillable(tool, question)
            for like, tool in zip(likeness(question, tools), tools, strict=True)
        ]

    def is_own(self, answer: str) -> bool:
        """Whether an answer holds words that neither the question nor a worked example has; a begun call holds none."""
        examples = examples_of(tuple(self.known.tools.values()))
        if answer[:1] in "{[<" or any(mentions(answer, example.result) for _, example in examples if example.result):
            return False
        return any(not mentions(self.known.question, word) for word in re.findall(r"\w+", answer))

    def none(self, scores: Sequence[float]) -> float:
        """How likely no tool is: between the words that an answer begins with, and whatever is no call."""
        *calls, words = scores
        otherwise = math.log(max(1.0 - sum(map(math.exp, calls)), LEAST))
        return self.policies.words * words + (1.0 - self.policies.words) * otherwise

    def after_fault(self, fault: Fault, corrections: int) -> Moving:
        """A refused call of a known tool is begun again at once, held to what is known; else the reply is free.

        An answer that was copied from an example before any tool was used shows that one is needed. Where no tool fits,
        another fault of an answer, such as its length, does not.
        """
        if fault.code == "copied_example" and fault.call is None and not self.known.made and corrections == 1:
            self.declined = False
            return (yield from self.first_move(needed=True))
        if self.declined and not self.known.made:
            return Move("answer", why="no tool fits")
        tool = self.known.tools.get(fault.call.name) if fault.call is not None else None
        if tool is None or corrections > 1:
            return Move()
        if self.policies.ground == "never":
            return Move("call", tool, "the tool that was meant")
        return Move("call", narrowed(tool, self.known.texts()), "with values that are known")

    def after_error(self, call: Call, observation: Observation) -> Moving:
        """The same tool with a value that the error names, or another tool that changes nothing."""
        if not self.policies.insist or self.errors_in_a_row > 2:
            return Move()
        tool = self.known.tools.get(call.name)
        failed = [
            text
            for one, seen in self.known.made
            if seen.is_error and one.name == call.name
            for text in self.known.texts_of(one)
        ]
        if tool is not None and (new := named_by(self.known, observation.content, failed)):
            other = None if len(new) == 1 or hinted(self.known, new) else (yield from self.untried())
            if other is not None:
                return Move("call", self.held(other), "to find what the error wants")
            if choice := other_choice(tool, call, observation.content, new):
                return Move("call", put_right(tool, {**call.arguments, **choice}, (), ()), "with what the error says")
            return Move("call", narrowed(tool, new, failed), "with what the error says")
        others = [one for one in self.known.tools.values() if one.safe and one.name != call.name]
        wanted = {*(tool.parameters.get("required") or ())} if tool is not None else set()
        others = [one for one in others if not wanted.issuperset(one.parameters.get("required") or ())] or others
        said = message_of(call, observation.content, failed)
        last: list[str] = []
        if tool is not None and len(new_words(self.known, said)) >= TELLING_WORDS:
            last = endings(said, self.known.spoken_of() | SAY_NOTHING, failed)
            others.append(tool)
            if only := only_ending(observation.content, last):
                return Move("call", narrowed(tool, only, failed), "with what the error says")
        other = (yield from self.likeliest(others)) or (tool if self.errors_in_a_row == 1 else None)
        if other is None:
            return Move()
        if tool in others and other is tool:
            if len(last) > 1 and not hinted(self.known, last) and (found := (yield from self.untried())) is not None:
                return Move("call", self.held(found), "to find what the error wants")
            return Move("call", narrowed(tool, [said], failed, words=last), "with words of the error")
        return Move("call", self.held(other), "an error is no answer")

    def untried(self) -> Generator[Score, Any, Tool | None]:
        """The likeliest safe tool that was not called yet and for which the question has the values."""
        called = {one.name for one, _ in self.known.made}
        question = self.known.question
        tools = [
            tool
            for tool in self.known.tools.values()
            if tool.safe
            and tool.name not in called
            and tool.parameters.get("required")
            and not unfillable(tool, question)
        ]
        return (yield from self.likeliest(tools))

    def tool_for(self, left: Sequence[str], last: Call, *, sure: bool) -> Generator[Score, Any, Tool | None]:
        """The tool for what is still unanswered: by the model, by the words around it, and rather the last one again.

        A tool that may change something is only called again for a question, which asks to be told something, and with
        a value that is written like one it was called with. Where this or that anything is unanswered is not `sure`, no
        tool is called that the model finds much less likely than an answer.
        """
        around = " ".join([*left, *self.known.texts()])
        usable = [tool for tool in self.known.tools.values() if not unfillable(tool, around)]
        kinds = ("integer", "number") if all(numbers(one) for one in left) else ("string", "array", "object")
        again = asks_to_be_told(self.known.question) and written_like(left, last)
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
        likes = likeness(clause(self.known, left), tools)
        worth = [
            scores[tool.name] + CLAUSE_WEIGHT * like + (SAME_TOOL if tool.name == last.name else 0.0)
            for tool, like in zip(tools, likes, strict=True)
        ]
        return tools[worth.index(max(worth))]

    def likeliest(self, among: Sequence[Tool]) -> Generator[Score, Any, Tool | None]:
        """The tool of these that the model itself would call next, by the question's words as well."""
        if len(among) < 2:
            return among[0] if among else None
        scores = yield from self.scores()
        if scores is None:
            return None
        known = dict(zip((tool.name for tool in among), likeness(self.known.question, among), strict=True))
        return max(among, key=lambda tool: scores[tool.name] + LIKENESS_WEIGHT * known[tool.name])

    def scores(self) -> Generator[Score, Any, dict[str, float] | None]:
        """How likely the model finds a call of each tool, by name, and of NONE; None where the backend cannot tell."""
        scores = yield Score()
        return None if scores is None else dict(zip([*self.known.tools, NONE], scores, strict=True))

    def doubts(self, calls: Sequence[Call]) -> Move | None:
        """A call that is asked for once more: for values from nowhere, or for an argument that was left out."""
        for call in calls:
            tool = self.known.tools.get(call.name)
            if tool is None or _key(call) in self.doubted:
                continue
            self.doubted.add(_key(call))
            move = self.grounded(tool, call) if self.policies.ground != "never" else None
            if move is None and self.policies.options and not self.known.made and len(calls) == 1:
                move = self.with_option(tool, call)
            if move is not None:
                return move
        return None

    def grounded(self, tool: Tool, call: Call) -> Move | None:
        """A call whose values come from nowhere is held to what is known, and one of percentages to fractions."""
        texts = self.known.texts()
        if doubtful := self.from_nowhere(tool, call):
            why = "values from nowhere"
        elif doubtful := repeated(tool, call.arguments):
            texts = [one.replace(value, ". ") for one in texts for _, value in doubtful]
            why = "the same value twice"
        if doubtful:
            return Move("call", put_right(tool, call.arguments, [name for name, _ in doubtful], texts), why)
        if fractions := as_fractions(tool, call.arguments, self.known.question):
            return Move("call", put_right(tool, {**call.arguments, **fractions}, (), ()), "5% is 0.05")
        return None

    def with_option(self, tool: Tool, call: Call) -> Move | None:
        """A call is held to its arguments and the one name that is left in the question for an optional one."""
        named = named_for_option(tool, call.arguments, self.known.question)
        if not named:
            return None
        return Move("call", put_right(tool, {**call.arguments, **named}, (), ()), f"with {', '.join(named.values())}")

    def unanswered(self, answer: str) -> Move | None:
        """An answer that leaves out what was found is begun once more with it; None where it holds everything."""
        if not self.policies.answer or self.reminded:
            return None
        move = answer_with_results(self.known, answer)
        self.reminded = move is not None
        return move

    def from_nowhere(self, tool: Tool, call: Call) -> list[tuple[str, str]]:
        """Values of a call that no text holds; under "copied" of required arguments only those of an example."""
        found = ungrounded(tool, call.arguments, "\n".join(self.known.texts()))
        if self.policies.ground == "copied":
            examples = examples_of(tuple(self.known.tools.values()))
            shown = {text.casefold() for _, one in examples for text in scalars(one.arguments)}
            required = tool.parameters.get("required") or ()
            found = [(name, text) for name, text in found if text.casefold() in shown or name not in required]
        return found

    def held(self, tool: Tool) -> Tool:
        """The tool held to the words of the question as far as the policy says so before anything was found."""
        if self.policies.options:
            tool = with_settled_options(tool, self.known.question)
        if self.policies.ground == "never":
            return tool
        if self.policies.ground == "always":
            return narrowed(tool, [self.known.question])
        return with_mentioned_choices(tool, self.known.question)


def _key(call: Call) -> str:
    """Equal for calls of the same tool with the same arguments."""
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def _alike(left: Sequence[str]) -> list[Sequence[str]]:
    """What is left, and then its numbers alone where there is other text as well: one tool may not take both."""
    counted = [one for one in left if numbers(one)]
    return [one for one in (left, counted if len(counted) < len(left) else ()) if one]


def _singular_too(text: str) -> list[str]:
    return [text, text[:-1]] if text.endswith("s") else [text]
