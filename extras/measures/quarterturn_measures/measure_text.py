"""Measures as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterturn_measures.measures.failure_class import TITLES
from quarterturn_measures.measures.table import shown
from quarterturn_measures.run_measures import MeasuredRun
from sandbox.results.interval import Figure

WIDTH = 34
NONE = "-"


def lines(
    runs: Sequence[MeasuredRun],
    trials: Mapping[str, Any] | None,
    median: Mapping[str, float | None] | None,
    by: str | None,
) -> Iterator[str]:
    """Write the measures of runs, the failure profile of each, and what trials say."""
    for place, run in enumerate(runs):
        yield from [""] if place else []
        yield f"run {run.run.number} of {run.run.submitter}, {len(run.tasks)} tasks"
        yield f"  {'measure':<{WIDTH}} {'value':>7}   95 % interval       n"
        yield from _rows(run.figures)
        for group, figures in run.groups(by).items() if by else ():
            yield f"{by} {group}"
            yield from _rows(figures)
        yield from _profile(run, median)
        yield from _causes(run)
    if trials:
        yield from _trials(trials)


def _rows(figures: Mapping[str, Figure]) -> Iterator[str]:
    for measure in shown({name: figure.n for name, figure in figures.items()}):
        yield _row(f"{measure.title}{' (judged)' if measure.judged else ''}", figures[measure.name], measure.counts)


def _row(title: str, figure: Figure, counts: str) -> str:
    value = NONE if figure.value is None else f"{100 * figure.value:.1f} %"
    between = "" if figure.low is None or figure.high is None else f"{100 * figure.low:.1f} to {100 * figure.high:.1f}"
    return f"  {title:<{WIDTH}} {value:>7}   {between:<15} {figure.n:>5} {counts}"


def _profile(run: MeasuredRun, median: Mapping[str, float | None] | None) -> Iterator[str]:
    if not run.diagnosed:
        return
    yield f"failures: {run.diagnosed}, each under the first class that its calls and evidence show"
    for name, figure in run.profile.items():
        beside = median[name] if median else None
        field = "" if beside is None else f", median of the field {100 * beside:.1f} %"
        if figure.value or beside:
            yield _row(TITLES[name], figure, "failures") + field


def _causes(run: MeasuredRun) -> Iterator[str]:
    rows = run.root_causes
    if rows:
        yield "calls that failed or came back with nothing"
    for row in rows:
        tools = ", ".join(f"{tool} {count}" for tool, count in row["tools"].items())
        yield f"  {row['cause']:<{WIDTH}} {row['calls']:>7}   {tools}"


def _trials(trials: Mapping[str, Any]) -> Iterator[str]:
    rates = ", ".join(f"{100 * rate:.1f}" for rate in trials["success_rates"])
    yield f"{trials['trials']} trials: success {rates} %, standard deviation {100 * trials['spread']:.1f} points"
    for k, figure in trials["pass_at"].items():
        yield _row(f"pass@{k}", Figure(**figure), "tasks")
