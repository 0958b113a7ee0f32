"""Steering: what a small model is helped with, move by move. Pure; each policy is one named switch of `Policies`."""

from react_text.steering.known import Known, known_from
from react_text.steering.moves import NEUTRAL_QUESTION, Steering
from react_text.steering.policies import Ask, Expect, Move, Moving, Policies, Score

__all__ = [
    "NEUTRAL_QUESTION",
    "Ask",
    "Expect",
    "Known",
    "Move",
    "Moving",
    "Policies",
    "Score",
    "Steering",
    "known_from",
]
