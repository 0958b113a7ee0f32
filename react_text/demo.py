"""Tools for the demonstration and for first tries: deterministic, typed, without a network.

Run them with `react-text run "How many days are there from 2024-02-01 to 2024-03-01?" --tools react_text/demo.py`.
"""

from __future__ import annotations

from datetime import date
from typing import Literal

from react_text import tool

_STOCK = {"lamp": 14, "chair": 6, "desk": 3, "shelf": 0}
_UNITS = {"miles": 1.609344, "feet": 0.0003048, "km": 1.0, "meters": 0.001}


@tool(safe=True, examples=[("How many rugs are in stock?", {"item": "rug"}, "21")])
def stock_level(item: str) -> int:
    """How many pieces of an item are in stock.

    Args:
        item: the item, in singular
    """
    if item.lower() not in _STOCK:
        raise KeyError(f"no item {item!r}; the items are {', '.join(_STOCK)}")
    return _STOCK[item.lower()]


@tool(
    safe=True,
    examples=[
        (
            "How many days are there from 2021-05-01 to 2021-05-08?",
            {"start": "2021-05-01", "end": "2021-05-08"},
            "7",
        )
    ],
)
def days_between(start: date, end: date) -> int:
    """Number of days from one date to another.

    Args:
        start: the first date
        end: the last date
    """
    return (end - start).days


@tool(
    safe=True,
    examples=[
        (
            "How far is 12 feet in meters?",
            {"value": 12, "unit": "feet", "to": "meters"},
            "3.6576",
        )
    ],
)
def convert_length(
    value: float, unit: Literal["miles", "feet", "km", "meters"], to: Literal["km", "meters", "miles"]
) -> float:
    """Convert a length from one unit to another.

    Args:
        value: the number to convert
        unit: its unit
        to: the unit wanted
    """
    return round(value * _UNITS[unit] / _UNITS[to], 4)
