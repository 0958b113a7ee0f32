"""A kit: tools that belong together, with the state they share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from react_text.tools import Tool


@dataclass(frozen=True)
class Kit:
    """Tools over one state. `state` is what they read and change, `start` what it is before a task."""

    tools: tuple[Tool, ...]
    state: dict[str, Any] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)

    def reset(self) -> None:
        """Put the state back to its start."""
        self.state.clear()
        self.state.update(copy.deepcopy(dict(self.start)))

    def changes(self) -> dict[str, Any]:
        """The parts of the state that are not as they were at the start."""
        return {name: copy.deepcopy(value) for name, value in self.state.items() if value != self.start.get(name)}

    def offered(self, examples: bool) -> tuple[Tool, ...]:
        """The tools, with or without their worked examples."""
        return self.tools if examples else tuple(replace(tool, examples=()) for tool in self.tools)


MakeKit: TypeAlias = Callable[[], Kit]
