"""Figures with their intervals: a dot and a whisker on a scale from 0 to 100 %, and the same as text. Pure.

A figure is `{"value", "low", "high", "n"}` as leaderboards and submissions have it, or None where it is not disclosed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import scale, whisker
from quarterturn.pages.drawing.formatting import NONE, decimal, percent
from quarterturn.pages.drawing.grid import Column

HEIGHT, MIDDLE = 16, 8.0
BOUNDS = ("value", "low", "high", "n")
NAMES = {
    "success_rate": "Success",
    "efficiency": "Calls used",
    "hallucinated_tool_rate": "Unlisted calls",
    "recovery_rate": "Recovery",
}
MEANINGS = {
    "success_rate": "tasks passed, of all tasks of the set",
    "efficiency": "tool calls made, of those allowed, over passed tasks: less is better",
    "hallucinated_tool_rate": "calls to unlisted tools, of all calls: less is better",
    "recovery_rate": "recovery tasks passed, of those in which the agent saw an error",
}

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """A figure as a page shows it: a picture, the value, and the interval."""

    title: str
    picture: str
    value: str
    between: str


def draw_figure(title: str, figure: Item | None, kind: str = "ranked") -> Shown:
    """Draw a figure; one that is not disclosed is a dash."""
    if figure is None or figure["value"] is None:
        return Shown(title, "", NONE, "")
    at = scale(0, 1)
    parts = [svg.line((svg.pct(at(tick)), 0), (svg.pct(at(tick)), "100%"), "grid") for tick in (0, 0.5, 1)]
    between = ""
    if figure["low"] is not None and figure["high"] is not None:
        parts += whisker(at(figure["low"]), at(figure["high"]), MIDDLE, "strong")
        between = f"{decimal(100 * figure['low'])} to {decimal(100 * figure['high'])}"
    parts.append(svg.dot(svg.pct(at(figure["value"])), MIDDLE, 4, "point" if kind == "ranked" else "ring"))
    return Shown(title, svg.picture(parts, HEIGHT, kind="figure"), percent(figure["value"], 1), between)


def draw_line(ranked: Item, beside: Item | None) -> str:
    """Draw a line of a leaderboard: the ranked rate with its interval, and a ring for the one that is not ranked."""
    at = scale(0, 1)
    parts = []
    if ranked["low"] is not None and ranked["high"] is not None:
        parts.append(svg.line((_whole(at(ranked["low"])), MIDDLE), (_whole(at(ranked["high"])), MIDDLE), "between"))
    if beside is not None and beside["value"] is not None:
        parts.append(svg.dot(_whole(at(beside["value"])), MIDDLE, 4, "ring"))
    if ranked["value"] is not None:
        parts.append(svg.dot(_whole(at(ranked["value"])), MIDDLE, 4, "point"))
    return svg.picture(parts, HEIGHT)


def in_numbers(figure: Item | None) -> tuple[str, str]:
    """Write a figure in per cent without the sign, and its interval."""
    if figure is None or figure["value"] is None:
        return NONE, ""
    low, high = figure["low"], figure["high"]
    between = "" if low is None or high is None else f"{decimal(100 * low)}{NONE}{decimal(100 * high)}"
    return decimal(100 * figure["value"]), between


def _whole(place: float) -> str:
    """Write a place in per cent; the figures of a leaderboard are in half points, so one digit is exact."""
    return f"{place:.1f}%"


def columns(parts: Sequence[str]) -> list[Column]:
    """Name the columns that hold every figure of some parts of a score."""
    return [
        Column(f"{part}_{name}" + ("" if bound == "value" else f"_{bound}"), f"{NAMES[name]}, {part}, {bound}")
        for part in parts
        for name in NAMES
        for bound in BOUNDS
    ]


def cells(line: Item, parts: Sequence[str]) -> dict[str, Any]:
    """Return what stands in those columns."""
    return {
        f"{part}_{name}" + ("" if bound == "value" else f"_{bound}"): line[part][name][bound] if line[part] else None
        for part in parts
        for name in NAMES
        for bound in BOUNDS
    }
