"""Rounded figures of a closed run: what may be shown of it while its tasks are live. Pure.

Figures are rounded as the leaderboard rounds them, and over whole cohorts: no task's result follows from them. The
success rate is given for the sealed cohorts and the sunset one, the other figures over all cohorts together, and their
intervals in steps of five points: each further figure would be an exit of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from sandbox.results.interval import NOTHING
from sandbox.results.score import Figure, Result, Score, roughly, score

SECONDARY = ("efficiency", "hallucinated_tool_rate", "recovery_rate")
FIGURES = ("success_rate", *SECONDARY)
PARTS = ("whole", "sealed")
KEPT = (*PARTS, "sunset")

Scores = Mapping[str, Score]
"""A run's score over all cohorts that it was given, `whole`, over those that stay `sealed` after the next turn, and
over the one that does not, `sunset`."""


def of_results(results: Iterable[Result], sunset: str) -> Scores:
    """Make the figures of a run's results; `sunset` is the cohort that the next turn opens."""
    rows = list(results)
    parts = ([row for row in rows if (row.cohort == sunset) is last] for last in (False, True))
    sealed, opened = (_success_alone(score(part)) for part in parts)
    return {name: score_of(rounded(part)) for name, part in zip(KEPT, (score(rows), sealed, opened), strict=True)}


def _success_alone(part: Score) -> Score:
    return replace(part, efficiency=NOTHING, hallucinated_tool_rate=NOTHING, recovery_rate=NOTHING)


def as_json(scores: Scores) -> dict[str, Any]:
    """Return the figures of all parts as plain JSON values."""
    return {part: rounded(scores[part]) for part in KEPT}


def of_json(document: Mapping[str, Any]) -> dict[str, Score]:
    """Read back the figures of those parts that a document has."""
    return {part: score_of(document[part]) for part in KEPT if part in document}


def rounded(unrounded: Score) -> dict[str, Any]:
    """Return a score's figures, each rounded to half a point, with roughly its n; how many were attempted is fixed.

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
