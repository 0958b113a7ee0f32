"""Small inline charts as SVG: bars with intervals, histograms, and one scatter plot.

Widths are in percent and heights in pixels, so that a chart fits any screen and its text keeps its size. Colours are
classes of the page's style sheet. Takes numbers and labels; knows nothing of what they mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from react_text.compare.findings import Paired, Rate


@dataclass(frozen=True)
class Point:
    """One point of a scatter plot: `y` with the ends of its interval, a colour, a mark, a label and a tooltip."""

    x: float
    y: float
    low: float
    high: float
    colour: str
    mark: int
    label: str
    title: str


@dataclass(frozen=True)
class Axis:
    """Where values stand between 0 and 100 percent of a chart's width."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Percent of the width."""
        if self.logarithmic:
            value = max(value, self.low)
            return 100 * math.log(value / self.low) / math.log(self.high / self.low)
        return 100 * (value - self.low) / (self.high - self.low)


MARKS = (
    "M0 -6A6 6 0 1 0 0.01 -6Z",
    "M-5.5 -5.5H5.5V5.5H-5.5Z",
    "M0 -7.5L7 5.5H-7Z",
    "M0 -7.5L7.5 0L0 7.5L-7.5 0Z",
    "M-2 -7H2V-2H7V2H2V7H-2V2H-7V-2H-2Z",
)
"""Outlines of the marks of a scatter plot, one for each model, around their centre."""


def stacked(parts: Sequence[tuple[str, float]], whisker: Rate | None = None, height: int = 22) -> str:
    """A bar of parts (colour class, share), with the interval of a rate drawn across it."""
    body, left = "", 0.0
    for name, share in parts:
        if share > 0:
            body += f'<rect class="{name}" x="{left:.2f}%" width="{100 * share:.2f}%" y="3" height="{height - 6}"/>'
        left += 100 * share
    return _svg(body + (_whisker(whisker.low, whisker.high, height) if whisker and whisker.n else ""), height)


def bar(rate: Rate, colour: str, height: int = 22) -> str:
    """A rate as a bar from zero with its interval."""
    return stacked([("track", 0), (colour, rate.share)], rate, height)


def _whisker(low: float, high: float, height: int) -> str:
    middle, a, b = height / 2, 100 * low, 100 * high
    ends = "".join(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{middle - 4}" y2="{middle + 4}"/>' for x in (a, b))
    line = f'<line x1="{a:.2f}%" x2="{b:.2f}%" y1="{middle}" y2="{middle}"/>'
    return f'<g class="halo">{line}{ends}</g><g class="whisker">{line}{ends}</g>'


def difference(pair: Paired, reach: float, height: int = 22) -> str:
    """A paired difference with its interval, on a scale from -reach to +reach; coloured where p is below 0.05."""

    def place(value: float) -> float:
        return 50 + 50 * max(-1.0, min(1.0, value / reach))

    side = "even" if pair.p >= 0.05 else "gained" if pair.difference > 0 else "lost"
    middle = height / 2
    body = '<line class="zero" x1="50%" x2="50%" y1="0" y2="100%"/>'
    left, right = sorted((50.0, place(pair.difference)))
    body += f'<rect class="{side} soft" x="{left:.2f}%" width="{right - left:.2f}%" y="6" height="{height - 12}"/>'
    body += _whisker(place(pair.low) / 100, place(pair.high) / 100, height)
    body += f'<circle class="{side}" cx="{place(pair.difference):.2f}%" cy="{middle}" r="4.5"/>'
    return _svg(body, height)


def ruler(axis: Axis, unit: str = "") -> str:
    """The numbers above a column of charts with the same axis."""
    body = ""
    for tick in axis.ticks:
        at = axis.place(tick)
        anchor = "start" if at < 4 else "end" if at > 96 else "middle"
        body += f'<text x="{at:.2f}%" y="12" text-anchor="{anchor}">{escape(_number(tick))}{escape(unit)}</text>'
    return _svg(body, 16, "ruler")


PERCENT = Axis(0, 100, (0, 25, 50, 75, 100))


def histogram(values: Sequence[float], axis: Axis, colour: str, marks: Sequence[float], height: int = 40) -> str:
    """How values spread along an axis, with vertical lines at `marks`."""
    import numpy

    bins = 48
    counts, _ = numpy.histogram(_places(values, axis), bins=bins, range=(0, 1))
    top = counts.max() or 1
    width = 100 / bins
    body = f'<line class="base" x1="0" x2="100%" y1="{height - 0.5}" y2="{height - 0.5}"/>'
    for number, count in enumerate(counts):
        if count:
            tall = max(1.5, (height - 4) * count / top)
            body += (
                f'<rect class="{colour}" x="{number * width:.2f}%" width="{width - 0.25:.2f}%" '
                f'y="{height - tall:.1f}" height="{tall:.1f}"/>'
            )
    for number, mark in enumerate(marks):
        at = axis.place(mark)
        kind = "whisker" if number == 0 else "whisker dashed"
        body += f'<line class="{kind}" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="{height}"/>'
    return _svg(body, height)


def _places(values: Sequence[float], axis: Axis) -> Any:
    import numpy

    found = numpy.maximum(numpy.asarray(values, dtype=numpy.float64), axis.low if axis.logarithmic else -math.inf)
    if axis.logarithmic:
        return numpy.log(found / axis.low) / math.log(axis.high / axis.low)
    return (found - axis.low) / (axis.high - axis.low)


def scatter(points: Sequence[Point], axis: Axis, height: int = 340) -> str:
    """Points with vertical intervals; y runs from 0 to 100 percent, x along the axis."""
    body = ""
    for share in (0, 25, 50, 75, 100):
        y = height * (1 - share / 100)
        body += f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        body += f'<text x="-8" y="{y + 4}" text-anchor="end">{share} %</text>'
    for tick in axis.ticks:
        at = axis.place(tick)
        body += f'<line class="grid" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="{height}"/>'
        body += f'<text x="{at:.2f}%" y="{height + 20}" text-anchor="middle">{escape(_number(tick))}</text>'
    taken: list[tuple[float, float, float, float]] = []
    for point in points:
        at, y = axis.place(point.x), height * (1 - point.y)
        taken.append((at * 6.4 - 8, y - 8, at * 6.4 + 8, y + 8))
    for point in points:
        at, y = axis.place(point.x), height * (1 - point.y)
        ends = height * (1 - point.low), height * (1 - point.high)
        body += f'<g class="point {point.colour}"><title>{escape(point.title)}</title>'
        body += f'<line class="reach" x1="{at:.2f}%" x2="{at:.2f}%" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>'
        body += f'<svg x="{at:.2f}%" y="{y:.1f}" overflow="visible"><path d="{MARKS[point.mark % len(MARKS)]}"/>'
        body += f"{_label(point.label, at * 6.4, y, taken, height)}</svg></g>"
    return (
        f'<svg class="chart scatter" width="100%" height="{height}" aria-hidden="true" focusable="false">{body}</svg>'
    )


def _label(text: str, x: float, y: float, taken: list[tuple[float, float, float, float]], height: int) -> str:
    """A point's label where it covers nothing, as on a plot 640 pixels wide; "" where there is no room."""
    wide = 7.2 * len(text)
    for dx, dy, anchor in ((12, 4, "start"), (-12, 4, "end"), (0, -13, "middle"), (0, 22, "middle")):
        left = x + dx - (0 if anchor == "start" else wide if anchor == "end" else wide / 2)
        box = (left, y + dy - 11, left + wide, y + dy + 3)
        inside = left > 0 and box[2] < 640 and box[1] > -12 and box[3] < height
        if inside and not any(a < box[2] and box[0] < c and b < box[3] and box[1] < d for a, b, c, d in taken):
            taken.append(box)
            return f'<text class="name" x="{dx}" y="{dy}" text-anchor="{anchor}">{escape(text)}</text>'
    return ""


def linear_axis(values: Sequence[float]) -> Axis:
    """An axis from zero to a round number above all values."""
    top = max([*values, 1.0]) * 1.08
    step = 10 ** math.floor(math.log10(top))
    step = next(one for one in (step / 5, step / 2, step, 2 * step) if top / one <= 6)
    count = math.ceil(top / step)
    return Axis(0, step * count, tuple(step * number for number in range(count + 1)))


def log_axis(values: Sequence[float]) -> Axis:
    """A logarithmic axis of at least two decades that holds all values above a millisecond."""
    found = [max(value, 0.001) for value in values] or [1.0]
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)) + 1e-9)
    high = max(high, low + 2)
    ticks = tuple(10.0**power for power in range(low, high + 1))
    return Axis(ticks[0], ticks[-1], ticks, logarithmic=True)


def _number(value: float) -> str:
    text = f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:g}"
    return text.replace("-", "−")


def _svg(body: str, height: int, name: str = "") -> str:
    return f'<svg class="chart {name}" width="100%" height="{height}" aria-hidden="true" focusable="false">{body}</svg>'
