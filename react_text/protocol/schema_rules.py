"""JSON Schema in, grammar rules out: for each tool's arguments exactly what its schema says. Pure.

What a grammar (or this package) cannot say falls back to the nearest looser rule and is named in `loosened`. Members
come in the schema's order. Everything is bounded: digits, strings, items, names of members, depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from react_text.protocol.expressions import (
    EMPTY,
    NOTHING,
    Choice,
    Expression,
    Repeat,
    Rule,
    Sequence,
    choice,
    gbnf,
    json_text,
    needed,
    repeat,
    separated,
    sequence,
    used,
)
from react_text.protocol.free_text import key_other_than
from react_text.protocol.member_rules import Members
from react_text.protocol.scalar_rules import NOTES, TERMINALS, listed, number, string
from react_text.protocol.schema_ways import ways_of
from react_text.schema.shape import standard
from react_text.tools import Tool

Wanted: TypeAlias = Literal["any", "call", "answer"]

MAX_ITEMS = 32
"""Items of an array whose schema names no limit."""
_LONGEST_ARRAY = 1000
DEEPEST_SELF = 4
"""How often a schema may hold itself, one inside the other."""
_DEEPEST = 40
_MOST_RULES = 4000
_MOST_COUNTED = 400


@dataclass(frozen=True, slots=True)
class Grammar:
    """A GBNF text, and the schema keywords that it could not express, as `tool.argument: keyword`."""

    gbnf: str
    loosened: tuple[str, ...] = ()


@dataclass
class Rules:
    """The rules made so far, by name, and what could not be said, as (place, keyword).

    `roots` are the whole schemas that were worked on: they are known by their place in memory, so they have to stay.
    """

    made: dict[str, Expression] = field(default_factory=dict)
    unsaid: dict[tuple[str, str], None] = field(default_factory=dict)
    roots: list[Any] = field(default_factory=list)
    _known: dict[Any, tuple[Expression, list[tuple[str, str]]]] = field(default_factory=dict)
    _open: list[Any] = field(default_factory=list)
    _in_place: list[Any] = field(default_factory=list)
    _depth: int = 0

    @property
    def loosened(self) -> tuple[str, ...]:
        """What could not be said, as `tool.argument: keyword`."""
        return tuple(f"{where}: {keyword}" for where, keyword in self.unsaid)

    def lines(self, start: Iterable[Expression]) -> list[str]:
        """The rules that the expressions of `start` need, as lines of GBNF."""
        every = {**self.made, **TERMINALS}
        names = [name for one in start for name in used(one)]
        return [f"{name} ::= {gbnf(every[name])}" for name in needed(names, every)]

    def shared(self, where: str, body: Expression) -> Rule:
        """The rule that says just this, made once."""
        known = next((name for name, made in self.made.items() if made == body), None)
        return self.rule(where, body) if known is None else Rule(known)

    def rule(self, where: str, body: Expression) -> Rule:
        """A rule of its own for an expression, named after what it is for."""
        name = self._free_name(where)
        self.made[name] = body
        return Rule(name)

    def arguments(self, tool: Tool) -> Expression:
        """The expression for the arguments of one tool."""
        parameters = tool.parameters if isinstance(tool.parameters, Mapping) else {}
        return self.whole({"type": "object", **parameters}, tool.name, closed=True)

    def whole(self, schema: Any, where: str, *, closed: bool = False) -> Expression:
        """The expression for one JSON value that fits a whole schema.

        `closed` allows an object without declared members no others either, as the arguments of a tool have it.
        """
        try:
            root = standard(schema)
            json.dumps(root)
        except (RecursionError, TypeError, ValueError):
            self.loosen(where, "nesting")
            return Rule("object" if closed else "value")
        self.roots.append(root)
        body = self.value(root, root, where, closed=closed)
        if body == NOTHING:
            self.loosen(where, "no value fits")
            return Rule("object" if closed else "value")
        return body

    def value(self, schema: Any, root: Any, where: str, *, closed: bool = False) -> Expression:
        """The expression for one JSON value that fits `schema`, a part of `root`."""
        if schema is False:
            return NOTHING
        if not isinstance(schema, Mapping) or not schema:
            return self._anything(where)
        said = [key for key in schema if key not in NOTES]
        reference = schema.get("$ref")
        if said == ["$ref"] and isinstance(reference, str):
            key = (id(root), reference)
            return self._once(key, reference.rpartition("/")[2], where, lambda: self._ways(schema, root, where, closed))
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword)
            if said == [keyword] and isinstance(options, list | tuple) and options:
                if keyword == "oneOf":
                    ways_of(schema, root, partial(self.loosen, where))
                return choice(self.value(option, root, where, closed=closed) for option in options)
        return self._ways(schema, root, where, closed)

    def _ways(self, schema: Mapping[str, Any], root: Any, where: str, closed: bool) -> Expression:
        if self._depth > _DEEPEST or len(self.made) > _MOST_RULES:
            self.loosen(where, "nesting")
            return Rule("value")
        self._depth += 1
        try:
            found = ways_of(schema, root, partial(self.loosen, where))
            return choice(self._way(way, root, where, closed) for way in found)
        finally:
            self._depth -= 1

    def _way(self, way: Mapping[str, Any], root: Any, where: str, closed: bool) -> Expression:
        """The expression for a flat schema."""
        loosen = partial(self.loosen, where)
        if "enum" in way:
            return listed(way, loosen)
        match way.get("type"):
            case "object":
                return self._structure(way, root, where, closed, lambda: self._object(way, root, where, closed))
            case "array":
                return self._structure(way, root, where, closed, lambda: self._array(way, root, where))
            case "string":
                return string(way, loosen)
            case "integer" | "number":
                return number(way, loosen)
            case "boolean" | "null" as kind:
                return Rule(kind)
            case _:
                return self._anything(where)

    def _anything(self, where: str) -> Expression:
        """Any JSON value; its objects may name a member twice, which readers refuse."""
        self.loosen(where, "type")
        return Rule("value")

    def _structure(
        self, way: Mapping[str, Any], root: Any, where: str, closed: bool, build: Callable[[], Expression]
    ) -> Expression:
        """An object or array: what is inside it no longer stands in place of the schemas around it."""

        def inside() -> Expression:
            before, self._in_place = self._in_place, []
            try:
                return build()
            finally:
                self._in_place = before

        return self._once((id(root), json.dumps(way), closed), where, where, inside)

    def _once(self, key: Any, stem: str, where: str, build: Callable[[], Expression]) -> Expression:
        """One rule for each schema, however often it is used.

        A schema that refers to itself does so DEEPEST_SELF times: deeper, nothing fits. What stands in its own place
        says nothing: of `a: a or b`, b is left.
        """
        if key in self._in_place:
            return NOTHING
        times = self._open.count(key) + 1
        if times > DEEPEST_SELF + 1:
            return NOTHING
        level = max([times, *map(self._open.count, self._open)])  # how deep it may still go differs with it
        if (key, level) in self._known:
            known, unsaid = self._known[key, level]
            for place, keyword in unsaid:
                self.loosen(where + place, keyword)
            return known
        before, self.unsaid = self.unsaid, {}
        self._in_place.append(key)
        self._open.append(key)
        try:
            body = build()
        finally:
            self._open.pop()
            self._in_place.pop()
            inside, self.unsaid = self.unsaid, before
        if any(True for _ in used(body)) and not isinstance(body, Rule):
            body = self.rule(stem, body)
        places = [] if level > 1 else [(place.removeprefix(where), keyword) for place, keyword in inside]
        self._known[key, level] = (body, places)
        for place, keyword in places:
            self.loosen(where + place, keyword)
        return body

    def _array(self, way: Mapping[str, Any], root: Any, where: str) -> Expression:
        for keyword in ("contains", "uniqueItems"):
            if way.get(keyword) not in (None, False) and way.get("maxItems") != 1:
                self.loosen(where, keyword)
        first, others = _list(way, "prefixItems"), way.get("items")
        if isinstance(others, list | tuple):
            first, others = list(others), way.get("additionalItems")
        least, most = _count(way, "minItems") or 0, _count(way, "maxItems")
        if least > _LONGEST_ARRAY:
            self.loosen(where, "minItems")
            least = _LONGEST_ARRAY
        most = max(least, MAX_ITEMS, len(first)) if most is None else min(most, _LONGEST_ARRAY)
        if most < least:
            return NOTHING
        heads = [self.value(one, root, f"{where}[{index}]") for index, one in enumerate(first[:most])]
        if first and others is None:
            others = False
        item = NOTHING if most <= len(first) else self._one_item(self.value(others, root, f"{where}[]"), where)
        tail: Expression = EMPTY
        for index in range(len(heads), -1, -1):
            if index == len(heads):
                low, high = max(0, least - index), most - index
                tail = repeat(sequence(", ", item), low, high) if index else separated(item, low, high)
            else:
                taken = sequence(", " if index else "", heads[index], tail)
                tail = taken if index < least else choice([taken, EMPTY])
        return sequence("[", tail, "]")

    def _one_item(self, item: Expression, where: str) -> Expression:
        """An item that can be repeated: what repeats something itself becomes a rule."""
        plain = isinstance(item, Rule) or item == NOTHING or not isinstance(item, Choice | Sequence | Repeat)
        return item if plain else self.rule(f"{where} item", item)

    def _object(self, way: Mapping[str, Any], root: Any, where: str, closed: bool) -> Expression:
        """Declared members in the schema's order, optional ones skippable, then others where they are allowed."""
        declared = dict(_mapping(way, "properties"))
        required = [name for name in _list(way, "required") if isinstance(name, str)]
        others = self._other_members(way, root, where, [*declared, *required], open_=not declared and not closed)
        for name in required:
            if name not in declared:
                declared[name] = way.get("additionalProperties", {})
        members: list[tuple[str, Expression, bool]] = []
        for name, schema in declared.items():
            value = self.value(schema, root, f"{where}.{name}")
            if value == NOTHING and name in required:
                return NOTHING
            if value != NOTHING:
                members.append((name, sequence(json_text(name) + ": ", value), name in required))
        least, most = _count(way, "minProperties") or 0, _count(way, "maxProperties")
        if (len(members) + 1) * max(least, most or 0) > _MOST_COUNTED:
            self.loosen(where, "minProperties" if least else "maxProperties")
            least, most = 0, None
        chain = Members(members, others, least, most, lambda name, body: self.rule(f"{where} then {name}", body))
        return sequence("{", chain.rest(0, 0))

    def _other_members(
        self, way: Mapping[str, Any], root: Any, where: str, declared: list[str], *, open_: bool
    ) -> Expression | None:
        """A member that is not declared, or None where there may be none."""
        pairs: list[Expression] = []
        patterns = _mapping(way, "patternProperties")
        if patterns:
            self.loosen(where, "patternProperties")
        key = sequence('"', key_other_than(declared), '": ')
        for schema in patterns.values():
            pairs.append(sequence(key, self.value(schema, root, f"{where}.*")))
        extra = way.get("additionalProperties")
        if not patterns and (extra is True or isinstance(extra, Mapping) or (extra is None and open_)):
            names = way.get("propertyNames")
            if isinstance(names, Mapping) and names:
                self.loosen(where, "propertyNames")
            pairs.append(
                sequence(key, self.value(extra, root, f"{where}.*") if extra not in (None, True) else Rule("value"))
            )
        if not pairs:
            return None
        self.loosen(where, "additionalProperties")
        member = choice(pairs)
        return None if member == NOTHING else self.rule(f"{where} other", member)

    def loosen(self, where: str, keyword: str) -> None:
        """Name a keyword that is not kept."""
        self.unsaid[where, keyword] = None

    def _free_name(self, where: str) -> str:
        stem = "of-" + (re.sub(r"[^a-zA-Z0-9]+", "-", where).strip("-")[:60] or "argument")
        name, number = stem, 1
        while name in self.made:
            number += 1
            name = f"{stem}-{number}"
        return name


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return {str(name): inner for name, inner in found.items()} if isinstance(found, Mapping) else {}


def _list(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return list(found) if isinstance(found, list | tuple) else []


def _count(schema: Mapping[str, Any], key: str) -> int | None:
    found = schema.get(key)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if type(found) is int and found >= 0 else None
