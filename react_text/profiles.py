"""Profiles: how a model is steered by default, by its size and family. Data, chosen on development tasks.

A model's own GGUF metadata say what it is; the caller's `policies` go before any profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from react_text.steering import Policies


@dataclass(frozen=True)
class Profile:
    """The policies of models up to `parameters`, of one architecture or, without `architecture`, of any.

    `architecture` is what GGUF calls `general.architecture`, such as "qwen2".
    """

    name: str
    parameters: int
    policies: Policies
    architecture: str = ""


PROFILES: Sequence[Profile] = (
    Profile("tiny", 250_000_000, Policies(margin=1.0, lone=-1.0, words=0.0, habit=0.75, recall=False)),
    Profile("small", 1_000_000_000, Policies(lone=0.5, ground="copied")),
    Profile(
        "medium", 4_000_000_000, Policies(margin=4.25, lone=4.0, question=True, ground="copied", begin_answer=False)
    ),
)
"""The first that fits counts. What was measured are models of 0.1, 0.5 and 1.5 billion parameters; a larger model than
the last profile's is not steered."""
UNKNOWN = "small"
"""The profile of a model whose size is unknown."""


def profile_for(architecture: str, parameters: int) -> Profile | None:
    """The profile of a model; None where it is too large for any. 0 parameters: the number is unknown."""
    fitting = (one for one in PROFILES if one.architecture in ("", architecture))
    if not parameters:
        return next(one for one in fitting if one.name == UNKNOWN)
    return next((one for one in fitting if parameters <= one.parameters), None)
