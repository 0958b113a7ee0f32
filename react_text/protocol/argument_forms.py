"""Arguments that a family does not write as one JSON object: each in marks of its own, or as Python keywords. Pure.

Texts stand bare between the marks where the form has them, so that a text may hold anything but those marks; every
other value is JSON, and members come in the schema's order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from react_text.protocol.expressions import (
    EMPTY,
    NOTHING,
    Choice,
    Expression,
    Letters,
    Repeat,
    Rule,
    Sequence,
    Text,
    choice,
    json_text,
    optional,
    repeat,
    sequence,
    used,
)
from react_text.protocol.free_text import none_of
from react_text.protocol.member_rules import Members
from react_text.protocol.scalar_rules import listed, string
from react_text.protocol.schema_rules import Rules
from react_text.protocol.schema_ways import ways_of
from react_text.protocol.string_rules import LONGEST_STRING, MAX_STRING
from react_text.schema.shape import standard
from react_text.tools import Tool

_NEVER = "\\x00\\x0D"
"""What no bare text holds: NUL, and the carriage return that readers take for the end of a line."""
_KEY = re.compile(r"[A-Za-z_][\w-]{0,79}")
"""A key that every reader takes for one where it stands without quotation marks."""
_RESTARTS = 2
"""How often a mark may be begun and given up in a row within a bare text."""


@dataclass(frozen=True, slots=True)
class ArgumentForm:
    """One member is `before` (with `%key%`), the value and `after`; members have `between` between them.

    `marks` are what a bare text may not hold; without any, a text is a JSON string of simple escapes. `quote` stands on
    both sides of a bare text. `framed` says that a line break on both sides belongs to the marks. `literals` are other
    spellings of JSON's words.
    """

    before: str
    after: str
    between: str = ""
    marks: tuple[str, ...] = ()
    quote: str = ""
    framed: bool = True
    literals: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def written(self, arguments: Mapping[str, Any]) -> str:
        """Arguments as this form writes them."""
        return self.between.join(
            self.before.replace("%key%", key) + self._value(value) + self.after for key, value in arguments.items()
        )

    def _value(self, value: Any) -> str:
        if isinstance(value, str) and self.marks:
            return f"{self.quote}{value}{self.quote}"
        text = json_text(value)
        return self.literals.get(text, text)


PARAMETER_TAGS = ArgumentForm(
    "<parameter=%key%>\n",
    "\n</parameter>\n",
    marks=("<param", "</param", "<arg", "</arg", "<function", "</function", "<tool_call", "</tool_call"),
)
KEY_VALUE_TAGS = ArgumentForm(
    "<arg_key>%key%</arg_key>\n<arg_value>",
    "</arg_value>\n",
    marks=("<arg_", "</arg_", "<tool_call", "</tool_call"),
    framed=False,
)
KEYWORDS = ArgumentForm(
    "%key%=",
    "",
    between=", ",
    literals=MappingProxyType({"true": "True", "false": "False", "null": "None"}),
)
ESCAPED_BRACES = ArgumentForm("%key%:", "", between=",", marks=("<escape", "</escape", '<|"|>'), quote="<escape>")
QUOTED_BRACES = ArgumentForm("%key%:", "", between=",", marks=("<escape", "</escape", '<|"|>'), quote='<|"|>')


def arguments_rule(form: ArgumentForm, rules: Rules, tool: Tool) -> Expression:
    """The expression for the arguments of one tool in this form; what it cannot say is named in `rules.loosened`."""
    loosen = partial(rules.loosen, tool.name)
    try:
        root = standard(tool.parameters) if isinstance(tool.parameters, Mapping) else {}
    except (RecursionError, TypeError, ValueError):
        loosen("nesting")
        return EMPTY
    rules.roots.append(root)
    ways = ways_of({"type": "object", **root}, root, loosen)
    made = choice(_members(form, rules, way, root, tool.name) for way in ways if way.get("type") == "object")
    if made != NOTHING:
        return rules.rule(f"{tool.name} arguments", made)
    loosen("no value fits")
    return EMPTY


def _members(form: ArgumentForm, rules: Rules, way: Mapping[str, Any], root: Any, where: str) -> Expression:
    properties = way.get("properties")
    declared: dict[str, Any] = dict(properties) if isinstance(properties, Mapping) else {}
    required = [name for name in way.get("required") or () if isinstance(name, str)]
    for keyword in ("minProperties", "maxProperties", "patternProperties"):
        if way.get(keyword):
            rules.loosen(where, keyword)
    members: list[tuple[str, Expression, bool]] = []
    for name in (*declared, *(name for name in required if name not in declared)):
        value = _value(form, rules, declared.get(name, {}), root, f"{where}.{name}")
        if value == NOTHING and name in required:
            return NOTHING
        if _KEY.fullmatch(name) is None:
            rules.loosen(f"{where}.{name}", "name")
        if value != NOTHING:
            whole = sequence(form.before.replace("%key%", name), value, form.after)
            members.append((name, whole, name in required))
    chain = Members(
        members,
        None,
        0,
        None,
        lambda name, body: rules.rule(f"{where} then {name}", body),
        between=form.between,
        closes="",
    )
    return chain.rest(0, 0)


def _value(form: ArgumentForm, rules: Rules, schema: Any, root: Any, where: str) -> Expression:
    """One value: where it may be text, text alone, as nothing in such a form tells text from another value."""
    loosen = partial(rules.loosen, where)
    ways = ways_of(schema, root, loosen)
    if form.marks and not form.quote:
        ways = [way for way in map(_as_text, ways) if way is not None] or ways
    return choice(_way(form, rules, way, root, where) for way in ways)


def _as_text(way: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a way says of texts; None where it allows none."""
    if "enum" in way:
        texts = [value for value in way["enum"] if isinstance(value, str)]
        return {**way, "enum": texts} if texts else None
    return (way or {"type": "string"}) if way.get("type", "string") == "string" else None


def _way(form: ArgumentForm, rules: Rules, way: Mapping[str, Any], root: Any, where: str) -> Expression:
    loosen = partial(rules.loosen, where)
    if "enum" in way:
        kept = listed(way, loosen)
        options = kept.options if isinstance(kept, Choice) else (kept,)
        return choice(_literal(form, option) for option in options)
    kind = way.get("type")
    if kind in ("boolean", "null"):
        words = ("true", "false") if kind == "boolean" else ("null",)
        return choice(form.literals.get(word, word) for word in words)
    if kind == "string":
        return _text(form, rules, way, where) if form.marks else _simple_string(way, loosen)
    return rules.value(dict(way), root, where)


def _literal(form: ArgumentForm, option: Expression) -> Expression:
    """A listed value, which is one JSON text."""
    assert isinstance(option, Text)
    value = json.loads(option.value)
    if isinstance(value, str) and form.marks:
        return NOTHING if any(mark in value for mark in form.marks) else Text(form.quote + value + form.quote)
    return Text(form.literals.get(option.value, option.value))


def _text(form: ArgumentForm, rules: Rules, way: Mapping[str, Any], where: str) -> Expression:
    """A bare text. A pattern or format is kept where its letters need no escape and begin no mark."""
    loosen = partial(rules.loosen, where)
    if "pattern" in way or "format" in way:
        inside = _unquoted(string(way, loosen))
        if inside is not None and _is_plain(inside):
            return sequence(form.quote, inside, form.quote)
        for keyword in ("pattern", "format"):
            if keyword in way:
                loosen(keyword)
    low, high = _lengths(way)
    if "maxLength" in way:
        loosen("maxLength")  # a letter that could begin a mark is counted with the one after it
    if high < low:
        return NOTHING
    return sequence(form.quote, _bare(form, rules, low, high), form.quote)


def _lengths(way: Mapping[str, Any]) -> tuple[int, int]:
    """The fewest and the most letters of a text."""
    least, most = (
        int(way[key]) if isinstance(way.get(key), int | float) else None for key in ("minLength", "maxLength")
    )
    low = max(0, min(least or 0, LONGEST_STRING))
    return low, max(low, MAX_STRING) if most is None else min(most, LONGEST_STRING)


def _bare(form: ArgumentForm, rules: Rules, low: int, high: int) -> Expression:
    letter = _letter(form, rules, "")
    end = optional(rules.shared("mark begun", _begun(form.marks)))
    if form.framed or form.quote:
        return sequence(repeat(letter, low, high), end)
    edge = _letter(form, rules, "\n")
    if high < 2:
        return sequence(repeat(edge, low, high), end)
    more = sequence(repeat(letter, max(0, low - 2), high - 2), edge)
    whole = sequence(edge, more if low > 1 else optional(more))
    return sequence(whole if low else optional(whole), end)


def _begun(marks: Collection[str]) -> Expression:
    """The beginning of a mark, not all of it, at the end of a text."""
    ways = []
    for first in sorted({mark[0] for mark in marks}):
        rest = [mark[1:] for mark in marks if mark[0] == first]
        if "" not in rest:
            ways.append(sequence(first, optional(_begun(rest))))
    return choice(ways)


def _letter(form: ArgumentForm, rules: Rules, also: str) -> Rule:
    """A letter of a bare text, or a stretch from a letter that could begin a mark on to where it does not; a rule."""
    given_up: Expression = NOTHING
    for _ in range(_RESTARTS + 1):
        given_up = rules.shared("no mark", _given_up(form.marks, also, given_up))
    firsts = {mark[0] for mark in form.marks}
    return rules.shared("edge letter" if also else "letter", choice([none_of([*firsts, *also], _NEVER), given_up]))


def _given_up(marks: Collection[str], also: str, again: Expression) -> Expression:
    """What begins one of `marks` and then goes on otherwise, perhaps with `again`, which begins one itself."""
    begins = {mark[0] for mark in marks}

    def after(rests: Collection[str]) -> Expression:
        firsts = sorted({rest[0] for rest in rests})
        options: list[Expression] = [none_of([*firsts, *begins, *also], _NEVER)]
        options += [again] if not begins & set(firsts) else []
        for first in firsts:
            rest = [one[1:] for one in rests if one[0] == first]
            if "" not in rest:
                options.append(sequence(first, after(rest)))
        return choice(options)

    return choice(sequence(first, after([mark[1:] for mark in marks if mark[0] == first])) for first in sorted(begins))


def _simple_string(way: Mapping[str, Any], loosen: Callable[[str], None]) -> Expression:
    """A quoted text with the escapes that JSON and Python share."""
    made = string(way, loosen)
    if ("pattern" in way or "format" in way) and not {"char", "string"} & set(used(made)):
        return made
    low, high = _lengths(way)
    letter = choice([Letters(r'[^"\\\x00-\x1f]'), sequence("\\", Letters(r'["\\nrtbf]'))])
    return NOTHING if high < low else sequence('"', repeat(letter, low, high), '"')


def _unquoted(expression: Expression) -> Expression | None:
    """What stands between the quotation marks of a JSON string; None for one that is a rule as a whole."""
    if not isinstance(expression, Sequence):
        return None
    first, *inner, last = expression.parts
    if not (isinstance(first, Text) and isinstance(last, Text) and first.value[:1] == '"' and last.value[-1:] == '"'):
        return None
    return sequence(first.value[1:], *inner, last.value[:-1])


def _is_plain(expression: Expression) -> bool:
    """Whether a text of this expression is the same without JSON's escapes and holds nothing that begins a mark."""
    match expression:
        case Text(value):
            return not set(value) & set('"\\<\r\n')
        case Letters(source):
            return source[:2] != "[^" and '"' not in source and "<" not in source and "\\\\" not in source
        case Rule(name):
            return name.endswith("-text")
        case Sequence(parts) | Choice(parts):
            return all(map(_is_plain, parts))
        case Repeat(part):
            return _is_plain(part)
