"""Rounded figures of closed runs, stored as they may be shown, so that a run's sealed results are opened only once.

1. A run's figures are made when they are first asked for after its end, in one opening of its sealed closing, and are a
   row from then on. A run's results do not change; which of them count does where a task is withdrawn, and the
   `withdraw` leaf says so: figures are made again without it once that leaf is published, and not before.
2. Figures are rounded as the leaderboard rounds them, and over whole cohorts: no task's result follows from them. The
   success rate is stored for the sealed cohorts and the sunset one, the other figures over all cohorts together, and
   their intervals in steps of five points: each further figure would be an exit of its own.
3. Leaderboards, ranks and disclosures are made from these alone, so whoever has a leaderboard can rank it again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from quarterturn.app import Application
from quarterturn.leaderboard.tables import ScoreRow
from rotation.calendar import Month
from sandbox.results.interval import NOTHING
from sandbox.results.score import Figure, Result, Score, roughly, score
from sandbox.runs.store import RunRecord
from vault.database import transaction

SECONDARY = ("efficiency", "hallucinated_tool_rate", "recovery_rate")
FIGURES = ("success_rate", *SECONDARY)
PARTS = ("whole", "sealed")
KEPT = (*PARTS, "sunset")

Scores = Mapping[str, Score]
"""A run's score over all cohorts that it was given, `whole`, over those that stay `sealed` after the next turn, and
over the one that does not, `sunset`."""


def of_run(house: Application, record: RunRecord) -> Scores:
    """Give the figures of a run that is done."""
    return of_runs(house, [record])[record.number]


def of_runs(house: Application, records: Sequence[RunRecord]) -> dict[int, Scores]:
    """Give the figures of runs that are done, by their numbers; those of one month are read at once."""
    months = {record.month for record in records}
    withdrawn = {month: _withdrawn(house, Month.parse(month)) for month in months}
    with Session(house.engine) as session:
        query = select(ScoreRow.run, ScoreRow.figures, ScoreRow.month, ScoreRow.without)
        rows = session.exec(query.where(col(ScoreRow.month).in_(months))).all()
    known = {run: figures for run, figures, month, without in rows if without == len(withdrawn[month])}
    return {r.number: _read(known.get(r.number) or _keep(house, r, withdrawn[r.month])) for r in records}


def of_results(results: Iterable[Result], sunset: str) -> Scores:
    """Make the figures of a run's results; `sunset` is the cohort that the next turn opens."""
    rows = list(results)
    parts = ([row for row in rows if (row.cohort == sunset) is last] for last in (False, True))
    sealed, opened = (_success_alone(score(part)) for part in parts)
    return {name: score_of(rounded(part)) for name, part in zip(KEPT, (score(rows), sealed, opened), strict=True)}


def _success_alone(part: Score) -> Score:
    return replace(part, efficiency=NOTHING, hallucinated_tool_rate=NOTHING, recovery_rate=NOTHING)


def rounded(unrounded: Score) -> dict[str, Any]:
    """Give a score's figures, each rounded to half a point, with roughly its n; how many were attempted is fixed.

    The intervals of all but the success rate are rounded outward, to steps of five points.
    """
    figures = {name: _rounded(getattr(unrounded, name), wide=name in SECONDARY) for name in FIGURES}
    figures["success_rate"]["n"] = unrounded.attempted
    return figures | {"attempted": unrounded.attempted, "unknown": roughly(unrounded.unknown), "spec": unrounded.spec}


def score_of(document: Mapping[str, Any]) -> Score:
    """Read back what `rounded` gave."""
    figures = {name: Figure(**document[name]) for name in FIGURES}
    attempted, unknown = int(document["attempted"]), int(document["unknown"])
    return Score(
        **figures,
        attempted=attempted,
        passed=round((figures["success_rate"].value or 0) * attempted),
        unknown=unknown,
        ranked=attempted > 0 and not unknown,
        spec=document["spec"],
    )


def half_point(value: float | None) -> float | None:
    """Round to half a point."""
    return None if value is None else round(value * 200) / 200


def _rounded(figure: Figure, *, wide: bool) -> dict[str, Any]:
    bounds = {name: half_point(value) for name, value in asdict(figure).items() if name != "n"}
    if wide and figure.low is not None and figure.high is not None:
        bounds |= {"low": _down(figure.low), "high": 1 - _down(1 - figure.high)}
    return bounds | {"n": roughly(figure.n)}


def _down(value: float) -> float:
    """Round down to five points; what was rounded stays as it is."""
    return math.floor(round(value * 20, 6)) / 20


def _read(figures: Mapping[str, Any]) -> Scores:
    return {part: score_of(figures[part]) for part in KEPT}


def _withdrawn(house: Application, month: Month) -> frozenset[str]:
    """Give the tasks of the month's cohorts that count in no figure, by the published log."""
    cohorts = {cohort.id for cohort in house.months.cohorts() if cohort.entered <= month <= cohort.retires}
    return frozenset(entry.task for entry in house.withdrawals.listed() if entry.cohort in cohorts)


def _keep(house: Application, record: RunRecord, withdrawn: Collection[str]) -> dict[str, Any]:
    """Open what a run was bound to, and keep its figures; who was faster kept the same ones, or newer ones."""
    results = house.run_ledger.closed(record, why=f"figures of run {record.number}")
    scores = of_results(
        (result for result in results if result.task not in withdrawn), Month.parse(record.month).cohort
    )
    figures = {part: rounded(scores[part]) for part in KEPT}
    with suppress(IntegrityError), transaction(house.engine) as session:
        row = session.get(ScoreRow, record.number)
        if row is None:
            session.add(ScoreRow(run=record.number, month=record.month, figures=figures, without=len(withdrawn)))
        elif row.without < len(withdrawn):
            row.figures, row.without = figures, len(withdrawn)
    return figures
