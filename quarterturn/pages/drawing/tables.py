"""Tables beside the charts of the findings report: the same figures as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, quantiles
from typing import Any

from quarterturn.pages.drawing import words
from quarterturn.pages.drawing.charts import standing_out
from quarterturn.pages.drawing.formatting import chance, decimal, legible, percent, points

FURTHEST = 12  # tasks of which the drift is written out
FAR = 2.0  # residuals that are counted
QUARTERS = 4
Item = Mapping[str, Any]
Table = list[list[str]]


def tested(tests: Sequence[Item]) -> Table:
    """Count the tests of each kind, with the least of each p."""
    rows = []
    for kind in dict.fromkeys(test["kind"] for test in tests):
        of_kind = [test for test in tests if test["kind"] == kind]
        review = sum(test["status"] == "review" for test in of_kind)
        watching = sum(test["status"] == "watching" for test in of_kind)
        least = [chance(min(test[name] for test in of_kind)) for name in ("p_value", "p_adj", "q")]
        rows.append([words.KINDS[kind], str(len(of_kind)), str(review), str(watching), *least])
    return rows


def jumps(rows: Sequence[Item], months: Sequence[str]) -> Table:
    """Write the parts of each change, with their intervals."""
    names = ("change", "ability", "difficulty", "excess", "linked")
    ordered = sorted(rows, key=standing_out)
    return [
        [legible(row["submitter"]), months[row["since"] - 1], *(_within(row[name], points) for name in names)]
        for row in ordered
    ]


def peers(rows: Sequence[Item]) -> Table:
    """Write each submitter's point."""
    return [
        [
            legible(row["submitter"]),
            str(row["exposed"]),
            str(row["fresh"]),
            *(percent(row[name]) for name in ("fresh_observed", "expected", "observed")),
            decimal(row["z"], 2, signed=True),
            _within(row["excess"], points),
        ]
        for row in sorted(rows, key=lambda row: -row["z"])
    ]


def heat(figure: Item) -> Table:
    """Write the mean residuals of four groups of tasks, and how many are far out."""
    exposed = sum(task["exposed"] for task in figure["tasks"])
    bounds = [0, (exposed + 1) // 2, exposed, exposed + (len(figure["tasks"]) - exposed + 1) // 2, len(figure["tasks"])]
    rows = []
    for row in figure["rows"]:
        values = row["residuals"]
        parts = [[value for value in values[a:b] if value is not None] for a, b in pairwise(bounds)]
        means = [decimal(fmean(part), 2, signed=True) if part else decimal(None) for part in parts]
        beyond = [sum(value is not None and side * value > FAR for value in values) for side in (1, -1)]
        rows.append([legible(row["submitter"]), *means, *map(str, beyond)])
    return rows


def drift(tasks: Sequence[Item], rotation: int, months: Sequence[str]) -> Table:
    """Write the tasks that are furthest from expectation in this rotation."""
    now = [
        (task, entry)
        for task in tasks
        for entry in task["rotations"]
        if entry["rotation"] == rotation and entry["z"] is not None
    ]
    return [
        [
            legible(task["task"]),
            months[task["first"] - 1] if task["first"] > 0 else f"before {months[0]}",
            str(entry["runs"]),
            percent(entry["observed"]),
            percent(entry["expected"]),
            decimal(entry["z"], 2, signed=True),
        ]
        for task, entry in sorted(now, key=lambda pair: -abs(pair[1]["z"]))[:FURTHEST]
    ]


def spread(kind: str, rows: Sequence[Item]) -> list[str]:
    """Write how the z of a kind are spread."""
    z = [row["z"] for row in rows]
    parts = quantiles(z, n=QUARTERS, method="inclusive") if len(z) > 1 else z * 3
    above = sum(row["z"] > row["high"] for row in rows)
    return [words.KINDS[kind], str(len(z)), *(decimal(value, 2) for value in (*parts, max(z))), str(above)]


def scores(rows: Sequence[Item], months: int) -> Table:
    """Write each submitter's first run of each month."""
    first: dict[str, dict[int, Item]] = {}
    for row in rows:
        first.setdefault(row["submitter"], {}).setdefault(row["rotation"], row)
    table = []
    for submitter, by_month in first.items():
        cells = [
            _within(by_month[month][kind], lambda share: percent(share, 1)) if month in by_month else ""
            for month in range(1, months + 1)
            for kind in ("raw", "linked")
        ]
        table.append([legible(submitter), *cells])
    return table


def views(report: Item) -> Table:
    """Write the commonly requested figures: jump, person fit, and the best of several submissions."""
    jumps = {row["submitter"]: row["z"] for row in report["jumps"]}
    best = {row["submitter"]: row for row in report["views"]["best"]}
    rows = []
    for row in report["views"]["fit"]:
        name = row["submitter"]
        entry = best.get(name)
        several = (
            [str(entry["k"]), percent(entry["best"], 1), percent(entry["mean"], 1), decimal(100 * entry["luck"])]
            if entry
            else ["1", "", "", ""]
        )
        jump, fit = (decimal(value, 2, signed=True) for value in (jumps.get(name), row["lz"]))
        rows.append([legible(name), jump, fit, *several])
    return rows


def _within(estimate: Item, written: Any) -> str:
    value, low, high = (written(estimate[name]) for name in ("value", "low", "high"))
    return value if estimate["low"] is None else f"{value} [{low}, {high}]"
