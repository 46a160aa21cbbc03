"""Report of a comparison of servers as one HTML file: a pure function of its figures (the extra `measures`).

As a trace's page, the file has no script and asks nothing of anybody, and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import Chart, Row, scale, whisker
from quarterturn.pages.drawing.formatting import NONE, decimal, percent
from quarterturn.pages.templates import inline_style, inline_style_hash, render

ROWS = {
    "fairness": "fairness by the verdict",
    "quality": "answer quality",
    "calls_saved": "calls saved",
    "adoption": "adoption",
    "grounding": "citations that are there",
    "calls": "calls",
    "bytes_shown": "bytes shown",
    "turns": "turns",
    "tokens": "tokens",
}
NO_VALUE = (
    (("quality", "calls_saved", "fairness"), "these three need a verdict that is known"),
    (("adoption",), "the baseline has no adoption, nor has a trial whose calls were all beyond the caps"),
    (("grounding",), "no answer cited a line that could be looked up"),
    (("calls", "bytes_shown"), "costs are those of passed trials, and none passed"),
    (("turns", "tokens"), "turns and tokens are those of passed trials with a model"),
)
"""Which rows may have no value, and why."""
DIGITS_OF_COSTS = {"calls": 1, "bytes_shown": 0, "turns": 1, "tokens": 0}
"""Digits behind the point of the mean of a cost."""
STYLE = "page.css"
CHARTS = ("fairness", "adoption")
HEIGHT, MIDDLE = 16, 8.0
MAX_GOAL_CHARACTERS = 300

Item = Mapping[str, Any]


def page(report: Item, explanations: Mapping[str, str]) -> str:
    """Draw the report of a comparison."""
    servers = report["servers"]
    names = [server["server"] + (" (baseline)" if server["baseline"] else "") for server in servers]
    return render(
        "comparison.html.jinja",
        policy=f"default-src 'none'; style-src {inline_style_hash(STYLE)}; base-uri 'none'; form-action 'none'",
        style=inline_style(STYLE),
        title=f"{' · '.join(names)}",
        counts=[
            ("Tasks", str(len(report["tasks"]))),
            ("Trials", str(report["trials"])),
            ("Agent", report["agent"]),
            ("Model", report["model"] or "none"),
        ],
        charts=[(ROWS[name], explanations[name], _chart(servers, name)) for name in CHARTS],
        names=names,
        figures=[
            (title, *(figure_text(name, server["figures"][name]) for server in servers)) for name, title in ROWS.items()
        ],
        nothing=no_value_text(servers),
        explanations=[(title, explanations[name]) for name, title in ROWS.items()],
        packages=[(name, *_about(server)) for name, server in zip(names, servers, strict=True)],
        differences=[
            (
                f"{difference['first']} minus {difference['second']}",
                [
                    (ROWS[name], difference_text(name, figure), str(figure["n"]))
                    for name, figure in difference["figures"].items()
                    if figure["n"]
                ],
            )
            for difference in report["differences"]
        ],
        tasks=[
            (
                " ".join(task["goal"].split())[:MAX_GOAL_CHARACTERS],
                *(_task_text(server["trials"], task["task"]) for server in servers),
            )
            for task in report["tasks"]
        ],
    )


def no_value_text(servers: Sequence[Item]) -> str:
    """Say why figures have no value, of the reasons that there are; an empty text where every figure has one."""
    figures = [(name, figure) for server in servers for name, figure in server["figures"].items()]
    missing = {name for name, figure in figures if figure["value"] is None}
    reasons = [reason for names, reason in NO_VALUE if missing & set(names)]
    return f"{NONE} stands where nothing was measured: {'; '.join(reasons)}." if reasons else ""


def figure_text(name: str, figure: Item) -> str:
    """Write a figure with its interval: a score in per cent, a cost as a number."""
    if figure["value"] is None:
        return NONE
    if (digits := DIGITS_OF_COSTS.get(name)) is not None:
        value, *bounds = (decimal(number, digits) for number in (figure["value"], *_bounds(figure)))
        return f"{value}{_between(*bounds)}"
    return f"{percent(figure['value'], 1)}{_between(*(decimal(100 * bound) for bound in _bounds(figure)))}"


def difference_text(name: str, figure: Item) -> str:
    """Write a difference with its interval: of scores in points, of costs as a number."""
    factor, unit, digits = (1, "", DIGITS_OF_COSTS[name]) if name in DIGITS_OF_COSTS else (100, " points", 1)
    numbers = (figure["value"], *_bounds(figure))
    value, *bounds = (decimal(factor * number, digits, signed=True) for number in numbers)
    return f"{value}{unit}{_between(*bounds)}"


def _bounds(figure: Item) -> Sequence[float]:
    return () if figure["low"] is None or figure["high"] is None else (figure["low"], figure["high"])


def _between(*bounds: str) -> str:
    return f" [{', '.join(bounds)}]" if bounds else ""


def _about(server: Item) -> Sequence[str]:
    """Write what a server is, the spread between its trials, and how many verdicts are unknown."""
    spreads = [server["spread_between_trials"][name] for name in ("quality", "fairness")]
    return (
        f"{server['package']} {server['version']}",
        str(server["tools"]),
        f"{server['listing_bytes']:,}",
        *(NONE if share is None else f"{decimal(100 * share)} points" for share in spreads),
        str(server["unknown"]),
    )


def _task_text(trials: Sequence[Item], task: str) -> str:
    """Write how many trials of a task passed, and with how many calls."""
    own = [trial for trial in trials if trial["task"] == task]
    passed = [trial["calls"] for trial in own if trial["passed"]]
    calls = f", {decimal(fmean(passed))} calls" if passed else ""
    return f"{len(passed)} of {len(own)}{calls}"


def _chart(servers: Sequence[Item], name: str) -> Chart:
    at, rows = scale(0, 1), []
    for server in servers:
        figure = server["figures"][name]
        if figure["value"] is None:
            continue
        grid = [
            svg.line((svg.pct(at(tick)), 0), (svg.pct(at(tick)), "100%"), "grid") for tick in (0, 0.25, 0.5, 0.75, 1)
        ]
        kind = "bar" if server["baseline"] else "bar ability"
        parts = [*grid, svg.bar(at(0), at(figure["value"]), MIDDLE - 4, 8, kind)]
        if figure["low"] is not None:
            parts += whisker(at(figure["low"]), at(figure["high"]), MIDDLE, "strong")
        rows.append(Row(server["server"], svg.picture(parts, HEIGHT), (figure_text(name, figure),)))
    return Chart("", rows)
