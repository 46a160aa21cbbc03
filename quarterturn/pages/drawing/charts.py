"""Charts of the findings report, from the numbers of `rotation.detection.report.report`. Pure.

No information is in colour alone: what is above expectation goes up or to the right, exposed tasks are drawn apart.
A chart that has a row per submitter leaves names and figures to the page, beside each row's picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.formatting import decimal, percent, points
from quarterturn.pages.drawing.words import MONTH, Terms

Item = Mapping[str, Any]
PARTS = ("ability", "difficulty", "excess")
LANE = 10  # pixels a bar
STEPS = (0.7, 1.5, 2.5)  # residuals at which a cell grows
HALF = 5.0  # the height of the tallest cell, above and below the middle
TICKS = 5
TINY = 1e-9


@dataclass(frozen=True)
class Row:
    """A row of a chart: its name, its picture, and its figures as text."""

    name: str
    picture: str
    told: Sequence[str] = ()


@dataclass(frozen=True)
class Chart:
    """A chart of rows below a scale."""

    scale: str
    rows: Sequence[Row]


def jumps(rows: Sequence[Item]) -> Chart:
    """Draw each change as a waterfall: three bars, each from where the last ended, then the whole with its interval."""
    reach = _reach([end for row in rows for end in _extent(row)])
    at = _framed(-reach, reach)
    chart_rows = [
        Row(
            row["submitter"],
            svg.picture(_waterfall(row, at), 4 * LANE + 14),
            (f"change {_figure(row['change'])}", f"excess {_figure(row['excess'])}"),
        )
        for row in sorted(rows, key=standing_out)
    ]
    return Chart(_axis(_ticks(-reach, reach), at, lambda tick: decimal(100 * tick, 0, signed=True)), chart_rows)


def standing_out(row: Item) -> float:
    """Return what puts changes in order: the excess that stands out of its own interval most comes first."""
    value, (low, high) = row["excess"]["value"] or 0.0, _interval(row, "excess")
    return -value / max(high - low, TINY) if low is not None and high is not None else 0.0


def _waterfall(row: Item, at: Callable[[float], float]) -> list[str]:
    start, parts = 0.0, [_upright(at(0), "zero")]
    for lane, name in enumerate(PARTS):
        value, (low, high) = row[name]["value"] or 0.0, _interval(row, name)
        middle, end = lane * LANE + 9.0, start + value
        parts.append(svg.bar(at(start), at(end), middle - 3.5, 7, f"bar {name}"))
        if low is not None and high is not None:
            parts += whisker(at(end + low - value), at(end + high - value), middle, "thin")
        if lane:
            parts.append(svg.line((svg.pct(at(start)), middle - LANE), (svg.pct(at(start)), middle + 3.5), "step"))
        start = end
    low, high = _interval(row, "change")
    middle = len(PARTS) * LANE + 12.0
    if low is not None and high is not None:
        parts += whisker(at(low), at(high), middle, "strong")
    return [*parts, svg.dot(svg.pct(at(row["change"]["value"] or 0.0)), middle, 4, "point")]


def scores(rows: Sequence[Item]) -> Chart:
    """Draw each run's raw score (a ring) above its linked one (a dot), both with their intervals."""
    at = scale(0, 1)
    chart_rows = []
    for row in sorted(rows, key=lambda entry: -(entry["linked"]["value"] or 0)):
        parts = [_upright(at(tick), "grid") for tick in _ticks(0, 1)]
        for name, middle, kind in (("raw", 10.0, "ring"), ("linked", 21.0, "point")):
            value, (low, high) = row[name]["value"], _interval(row, name)
            if low is not None and high is not None:
                parts += whisker(at(low), at(high), middle, "thin" if name == "raw" else "strong")
            if value is not None:
                parts.append(svg.dot(svg.pct(at(value)), middle, 4, kind))
        caption = (f"{percent(row['raw']['value'], 1)} raw, {percent(row['linked']['value'], 1)} linked",)
        chart_rows.append(Row(row["name"], svg.picture(parts, 31), caption))
    return Chart(_axis(_ticks(0, 1), at, percent), chart_rows)


def history(rows: Sequence[Item]) -> Chart:
    """Draw what an agent passed of each period (a dot) beside its peers: their middle (a ring), and 95 % of them."""
    at = _framed(0, 1)
    chart_rows = []
    for row in rows:
        middle, low, high = (row["peers"][end] for end in ("value", "low", "high"))
        upright = [_upright(at(tick), "grid") for tick in _ticks(0, 1)]
        peers = whisker(at(low), at(high), 11, "thin")
        dots = [
            svg.dot(svg.pct(at(share)), 11, 4, kind) for share, kind in ((middle, "ring"), (row["observed"], "point"))
        ]
        told = f"{percent(row['observed'])} of {row['exposed']}, peers {percent(min(max(middle, 0), 1))}"
        chart_rows.append(Row(row["name"], svg.picture([*upright, *peers, *dots], 22), (told,)))
    return Chart(_axis(_ticks(0, 1), at, percent), chart_rows)


def heat(figure: Item, terms: Terms = MONTH) -> Chart:
    """Draw a strip a submitter with a cell a task: up for better than expected, down for worse, taller the further."""
    tasks = figure["tasks"]
    rows = [Row(row["submitter"], _strip(row["residuals"], _edges(tasks))) for row in figure["rows"]]
    exposed = sum(task["exposed"] for task in tasks)
    parts = [
        (0, exposed, f"{terms.exposed}: hard to easy"),
        (exposed, len(tasks), terms.fresh if exposed else f"{terms.fresh}: hard to easy"),
    ]
    return Chart(_above([(start, words) for start, end, words in parts if start < end], len(tasks)), rows)


def drift(tasks: Sequence[Item], months: Sequence[str]) -> Chart:
    """Draw a strip a month with a cell a task, from the oldest cohort to the newest, by z of passes over expected."""
    rows = []
    for rotation in sorted({entry["rotation"] for task in tasks for entry in task["rotations"]}):
        z = [next((entry["z"] for entry in task["rotations"] if entry["rotation"] == rotation), None) for task in tasks]
        rows.append(Row(months[rotation - 1], _strip(z, [start for start, _ in _cohorts(tasks)][1:])))
    named = [(start, months[first - 1] if first > 0 else "earlier") for start, first in _cohorts(tasks)]
    last = [mark for mark, after in pairwise([*named, (len(tasks), "")]) if mark[1] != after[1]]
    return Chart(_above([mark for mark in named if mark[1] != "earlier"] or last, len(tasks)), rows)


def _strip(values: Sequence[float | None], edges: Iterable[int]) -> str:
    """Draw a strip; the middle line is expectation, edges part groups of tasks."""
    by_kind: dict[str, list[tuple[int, float, float]]] = {}
    for place, value in enumerate(values):
        if value is None:
            continue
        step = sum(abs(value) > limit for limit in STEPS)
        height = HALF * (0.25, 0.5, 0.75, 1.0)[step]
        kind = f"up{step}" if value > 0 else f"down{step}"
        top, bottom = (HALF - height, HALF) if value > 0 else (HALF, HALF + height)
        by_kind.setdefault(kind, []).append((place, top, bottom))
    drawn = [svg.cells(places, kind) for kind, places in sorted(by_kind.items())]
    width = max(len(values), 1)
    lines = [
        svg.line((svg.pct(100 * edge / width), 0), (svg.pct(100 * edge / width), "100%"), "edge") for edge in edges
    ]
    middle = svg.line((0, "50%"), ("100%", "50%"), "zero")
    return svg.picture([svg.stretched(drawn, width, 2 * HALF), middle, *lines], 18, kind="strip")


def _edges(tasks: Sequence[Item]) -> list[int]:
    exposed = sum(task["exposed"] for task in tasks)
    return [exposed] if 0 < exposed < len(tasks) else []


def _cohorts(tasks: Sequence[Item]) -> list[tuple[int, int]]:
    """Return where each cohort begins, and the rotation in which it went live."""
    starts = [place for place in range(len(tasks)) if not place or tasks[place]["first"] != tasks[place - 1]["first"]]
    return [(start, tasks[start]["first"]) for start in starts]


def _above(parts: Sequence[tuple[int, str]], width: int) -> str:
    """Write what each part of a strip is about, above where it begins."""
    return svg.picture([svg.words(svg.pct(100 * start / max(width, 1)), 12, text) for start, text in parts], 16)


def _axis(ticks: Sequence[float], at: Callable[[float], float], written: Callable[[float], str]) -> str:
    """Write a scale above rows; the outermost words stay within the picture."""
    anchors = ["start", *["middle"] * (len(ticks) - 2), "end"]
    return svg.picture(
        [svg.words(svg.pct(at(tick)), 12, written(tick), side) for tick, side in zip(ticks, anchors, strict=True)], 16
    )


def _ticks(low: float, high: float) -> list[float]:
    return [low + (high - low) * step / (TICKS - 1) for step in range(TICKS)]


def scale(low: float, high: float) -> Callable[[float], float]:
    """Return what turns a value into a place in per cent."""
    return lambda value: 100 * (value - low) / (high - low)


def _framed(low: float, high: float) -> Callable[[float], float]:
    """Return the same for values that may lie beyond the scale: they are drawn at its end."""
    at = scale(low, high)
    return lambda value: at(min(max(value, low), high))


def _reach(values: Iterable[float | None]) -> float:
    """Return how far a scale goes on both sides of 0: whole tenths, at most everything."""
    farthest = max((abs(value) for value in values if value is not None), default=0.1)
    return min(max(math.ceil(farthest * 10) / 10, 0.1), 1.0)


def _extent(row: Item) -> Iterator[float | None]:
    """Yield every place that a waterfall reaches to."""
    start = 0.0
    for name in PARTS:
        yield from (start + row[name][end] for end in ("value", "low", "high") if row[name][end] is not None)
        start += row[name]["value"] or 0.0
    yield from (row["change"][end] for end in ("value", "low", "high"))


def _interval(row: Item, part: str) -> tuple[float | None, float | None]:
    return row[part]["low"], row[part]["high"]


def _upright(place: float, kind: str) -> str:
    return svg.line((svg.pct(place), 0), (svg.pct(place), "100%"), kind)


def whisker(low: float, high: float, middle: float, kind: str) -> list[str]:
    """Draw an interval between two places in per cent."""
    ends = [svg.line((svg.pct(end), middle - 2.5), (svg.pct(end), middle + 2.5), kind) for end in (low, high)]
    return [svg.line((svg.pct(low), middle), (svg.pct(high), middle), kind), *ends]


def _figure(change: Item) -> str:
    between = "" if change["low"] is None else f" [{points(change['low'])}, {points(change['high'])}]"
    return f"{points(change['value'])}{between}"
