"""Tools and a model family in, a grammar of one whole reply in that family's own call format out. Pure.

A reply is an answer, which is text that cannot be taken for a call, or calls whose arguments are held to exactly the
called tool's schema. Some formats are announced by a control token that an engine may never let a grammar produce;
those also have the bare form, which readers take for the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from react_text.errors import GrammarError
from react_text.protocol.argument_forms import (
    ESCAPED_BRACES,
    KEY_VALUE_TAGS,
    KEYWORDS,
    PARAMETER_TAGS,
    QUOTED_BRACES,
    ArgumentForm,
    arguments_rule,
)
from react_text.protocol.expressions import (
    EMPTY,
    Expression,
    Letters,
    Rule,
    choice,
    gbnf,
    json_text,
    optional,
    repeat,
    sequence,
)
from react_text.protocol.free_text import text_without
from react_text.protocol.grammar import MAX_CALLS
from react_text.protocol.schema_rules import Grammar, Rules, Wanted
from react_text.tools import Tool

Reasoning: TypeAlias = Literal["shown", "begun"]
"""A chat template knows of blocks of reasoning, or begins a reply with one."""

_OBJECT = '{"name": "%name%", "arguments": %arguments%}'
_PARAMETERS = '{"name": "%name%", "parameters": %arguments%}'
_FENCE = "```json\n"
_OPENINGS = ("{", " ``` {", " ```json", " [ {")
"""What no answer may open with where a bare call could stand: a JSON object, in a code block or not."""


@dataclass(frozen=True, slots=True)
class NativeFormat:
    """How one family writes calls: `opens`, then `call` once or several times with `between`, then `closes`.

    `%name%` and `%arguments%` stand for the tool's name and its arguments. `mark` begins every call and may not occur
    in an answer. `bare` is a call without marks that is also taken, JSON after the opening of a code block too.
    `between` is None for a family that readers understand one call of, `alone` says that a call has to begin a line.
    `arguments` is how arguments are written where they are no JSON object. `also` is another way in which templates
    write earlier calls. `answers` may stand before an answer, `thinks` stands around reasoning.
    """

    mark: str
    call: str
    opens: str = ""
    closes: str = ""
    between: str | None = None
    bare: str = ""
    alone: bool = False
    arguments: ArgumentForm | None = None
    also: str = ""
    answers: str = ""
    thinks: tuple[str, str] = ("<think>", "</think>")

    @property
    def bare_form(self) -> NativeFormat:
        """The calls without marks as a format of their own, of one call."""
        return NativeFormat("", "", bare=self.bare, arguments=self.arguments)

    @property
    def is_json(self) -> bool:
        """Whether the calls without marks are JSON objects."""
        return self.bare.startswith("{")

    def around(self, name: str) -> tuple[str, str]:
        """What a call of the tool `name` has before and after its arguments."""
        before, after = (self.call or self.bare).split("%arguments%")
        return before.replace("%name%", json_text(name)[1:-1] if '"%name%"' in before else name), after

    def whole(self, name: str) -> tuple[str, str]:
        """What a reply that is one call of the tool `name` has before and after its arguments, marks included."""
        before, after = self.around(name)
        return self.opens + before, after + self.closes

    def written(self, arguments: Mapping[str, Any]) -> str:
        """Arguments as calls hold them."""
        return json_text(dict(arguments)) if self.arguments is None else self.arguments.written(arguments)

    def rule(self, rules: Rules, tool: Tool) -> Expression:
        """The expression for the arguments of one tool."""
        return rules.arguments(tool) if self.arguments is None else arguments_rule(self.arguments, rules, tool)


FORMATS: dict[str, NativeFormat] = {
    "hermes": NativeFormat("<tool_call>", f"<tool_call>\n{_OBJECT}\n</tool_call>", between="\n", bare=_OBJECT),
    "bare": NativeFormat("", "", bare=_OBJECT),
    "llama3": NativeFormat("", "", bare=_PARAMETERS),
    "llama_python_tag": NativeFormat(
        "<|python_tag|>", _PARAMETERS, opens="<|python_tag|>", between="; ", bare=_PARAMETERS
    ),
    "mistral": NativeFormat("[TOOL_CALLS]", "[TOOL_CALLS]%name%[ARGS]%arguments%", between="", bare=_OBJECT),
    "mistral_list": NativeFormat(
        "[TOOL_CALLS]", _OBJECT, opens="[TOOL_CALLS] [", between=", ", closes="]", bare=_OBJECT
    ),
    "nemotron": NativeFormat("<TOOLCALL>", _OBJECT, opens="<TOOLCALL>[", between=", ", closes="]</TOOLCALL>"),
    "function_call_tag": NativeFormat(
        "<function_call>", f"<function_call>{_OBJECT}</function_call>", between="\n", bare=_OBJECT
    ),
    "function_tag": NativeFormat("<function=", "<function=%name%>%arguments%</function>", between="\n"),
    "deepseek": NativeFormat(
        "<｜tool▁call",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>%name%\n```json\n%arguments%\n```<｜tool▁call▁end｜>",
        opens="<｜tool▁calls▁begin｜>",
        between="\n",
        closes="<｜tool▁calls▁end｜>",
    ),
    "phi4": NativeFormat("functools", _OBJECT, opens="functools[", between=", ", closes="]"),
    "granite": NativeFormat("<|tool_call|>", _OBJECT, opens="<|tool_call|>[", between=", ", closes="]", bare=_OBJECT),
    "cohere": NativeFormat(
        "<|START_ACTION|>",
        '{"tool_call_id": "0", "tool_name": "%name%", "parameters": %arguments%}',
        opens="<|START_ACTION|>[\n    ",
        closes="\n]<|END_ACTION|>",
    ),
    "internlm": NativeFormat(
        "<|action_start|>", f"<|action_start|><|plugin|>\n{_PARAMETERS}<|action_end|>", bare=_PARAMETERS
    ),
    "apertus": NativeFormat(
        "<|tools_prefix|>",
        '{"%name%": %arguments%}',
        opens="<|tools_prefix|>[",
        between=", ",
        closes="]<|tools_suffix|>",
    ),
    "doubao": NativeFormat(
        "<|FunctionCallBegin|>",
        _PARAMETERS,
        opens="<|FunctionCallBegin|>[",
        between=", ",
        closes="]<|FunctionCallEnd|>",
        bare=_PARAMETERS,
    ),
    "lmstudio": NativeFormat(
        "[TOOL_REQUEST]", f"[TOOL_REQUEST]{_OBJECT}[END_TOOL_REQUEST]", between="\n", bare=_OBJECT
    ),
    "functionary": NativeFormat(">>>", ">>>%name%\n%arguments%", between="\n", alone=True),
    "harmony": NativeFormat(
        "<|channel|>commentary",
        "<|channel|>commentary to=functions.%name% <|constrain|>json<|message|>%arguments%<|call|>",
        also="to=functions.%name%<|channel|>commentary json<|message|>%arguments%",
        answers="<|channel|>final<|message|>",
        thinks=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
    ),
    "qwen3_coder": NativeFormat(
        "<tool_call>",
        "<tool_call>\n<function=%name%>\n%arguments%</function>\n</tool_call>",
        between="\n",
        bare="<function=%name%>\n%arguments%</function>",
        arguments=PARAMETER_TAGS,
    ),
    "lfm2": NativeFormat(
        "<|tool_call_start|>",
        "%name%(%arguments%)",
        opens="<|tool_call_start|>[",
        between=", ",
        closes="]<|tool_call_end|>",
        arguments=KEYWORDS,
    ),
    "pythonic": NativeFormat("", "%name%(%arguments%)", opens="[", between=", ", closes="]", arguments=KEYWORDS),
    "glm": NativeFormat(
        "<tool_call>", "<tool_call>%name%\n%arguments%</tool_call>", between="\n", arguments=KEY_VALUE_TAGS
    ),
    "gemma": NativeFormat(
        "<start_function_call>",
        "<start_function_call>call:%name%{%arguments%}<end_function_call>",
        between="",
        arguments=ESCAPED_BRACES,
    ),
    "gemma4": NativeFormat(
        "<|tool_call>", "<|tool_call>call:%name%{%arguments%}<tool_call|>", between="", arguments=QUOTED_BRACES
    ),
    "qwen_agent": NativeFormat("✿FUNCTION✿", "✿FUNCTION✿: %name%\n✿ARGS✿: %arguments%"),
}
"""By family, mostly in the names of `parsing.families`; `bare`, `llama3` and `pythonic` are calls without any marks."""


def format_of(family: str) -> NativeFormat:
    """How a family writes calls. Raises GrammarError for one that is not in FORMATS."""
    if family not in FORMATS:
        raise GrammarError(f"There is no native grammar for {family!r}; the families are: {', '.join(FORMATS)}.")
    return FORMATS[family]


def native_grammar(
    family: str,
    tools: Sequence[Tool],
    wanted: Wanted = "any",
    *,
    parallel: bool = False,
    reasoning: Reasoning | None = None,
    answer_schema: Any = None,
) -> Grammar:
    """The grammar of a whole reply in the call format of `family`.

    "any" is an answer or calls, "call" calls alone, "answer" an answer alone; without tools only an answer is possible.
    One call, or with `parallel` up to MAX_CALLS where the family can write several. `reasoning` "shown" leaves room for
    the family's block of reasoning in front, "begun" is for a prompt that has opened one. With `answer_schema`, a JSON
    Schema, the answer is a value that fits. Raises GrammarError for a family that is not in FORMATS.
    """
    form = format_of(family)
    if not tools:
        wanted = "answer"
    rules = Rules()
    made: dict[str, Expression] = {}
    ways: list[Expression] = []
    if wanted != "answer":
        arguments = [(tool, form.rule(rules, tool)) for tool in tools]
        if form.call:
            made["calls"] = _calls(form, arguments, parallel=parallel)
            ways.append(Rule("calls"))
        if form.bare:
            bare = replace(form.bare_form, between="\n" if parallel and form.is_json else None)
            fence = optional(sequence(_FENCE)) if form.is_json else EMPTY
            made["bare"] = sequence(fence, _calls(bare, arguments, parallel=parallel))
            ways.append(Rule("bare"))
    if wanted != "call" and answer_schema is not None:
        made["answer"] = rules.whole(answer_schema, "answer")
        ways.append(Rule("answer"))
    elif wanted != "call":
        marks = [form.mark] if form.mark else [f"{tool.name}(" for tool in tools if form.call]
        marks += [_bare_mark(form.bare)] if form.bare else []
        if form.mark and wanted == "any":
            made["end"] = choice([sequence("\n" if form.alone else "", Rule("calls")), EMPTY])
        ending = Rule("end") if "end" in made else EMPTY
        made |= text_without("answer", marks, _OPENINGS if form.is_json else (), ending)
        ways.append(sequence(optional(sequence(form.answers)), Rule("answer")))
    root = choice(ways)
    if reasoning:
        opens, closes = form.thinks
        thought = Rule("reasoning")
        root = sequence(thought if reasoning == "begun" else optional(sequence(opens, thought)), root)
        made |= _reasoning(closes)
    lines = [f"{name} ::= {gbnf(body)}" for name, body in ({"root": root} | made).items()]
    return Grammar("\n".join([*lines, *rules.lines(made.values())]) + "\n", rules.loosened)


def begun_arguments_grammar(family: str, tool: Tool) -> Grammar:
    """The grammar of the rest of a reply that is begun with all that stands before the arguments of a call.

    The white space at the end of that beginning is part of the rest: no token of its own, as models do not write it so.
    Raises GrammarError for a family that is not in FORMATS.
    """
    form = format_of(family)
    before, after = form.whole(tool.name)
    rules = Rules()
    blank = " " if form.arguments is None else before[len(before.rstrip()) :]
    rest = sequence(blank, form.rule(rules, tool), after)
    return Grammar("\n".join([f"root ::= {gbnf(rest)}", *rules.lines([rest])]) + "\n", rules.loosened)


def _reasoning(closes: str) -> dict[str, Expression]:
    """The rules of a block of reasoning from its first letter on; it may be empty, and white space may follow it."""
    blank = repeat(Letters("[ \\n]"), 0, 4)
    end = sequence(closes, blank)
    thinking = text_without("thinking", [closes], ending=end)
    return {"reasoning": choice([Rule("thinking"), sequence(blank, end)]), **thinking}


def _bare_mark(call: str) -> str:
    """How a call without marks begins, with a space wherever white space may stand."""
    return call.partition("%")[0].replace("{", "{ ").removesuffix(': "')


def _calls(form: NativeFormat, arguments: Sequence[tuple[Tool, Expression]], *, parallel: bool) -> Expression:
    """One call, or with `parallel` up to MAX_CALLS, with what stands around and between them."""
    around = ((form.around(tool.name), rule) for tool, rule in arguments)
    one: Expression = choice(sequence(before, rule, after) for (before, after), rule in around)
    if parallel and form.between is not None:
        one = sequence(one, repeat(sequence(form.between, one), 0, MAX_CALLS - 1))
    return sequence(form.opens, one, form.closes)
