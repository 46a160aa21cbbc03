"""The maintainer's report on one rotation as one JSON document, which is the only input of the report page.

It holds names of runs, submitters, tasks and families, and numbers; never a task's text, which no table has. Later
rotations have no influence on it. Tables with the same results give the same document, byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, ndtri

from rotation.detection.detectors import display_statistics
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.detection.detectors.leaked_tasks import smallest
from rotation.detection.detectors.scan import FIRST
from rotation.detection.report import figures
from rotation.detection.report.figures import number
from rotation.detection.statistics import ability
from rotation.detection.statistics.linking import LinkedRuns, link
from rotation.detection.statistics.table import ResultTable
from rotation.findings.store import TESTED, Finding

FARTHEST = 8.0  # z that is shown
TAIL = 0.025  # on each side of a band
BEST_OF_K_VALUES = (3, 5, 10, 20)  # numbers of submissions whose expected gain from choosing the best is reported
SHOWN = ("kind", "subject", "status", "p_value", "p_adj", "q", "effect", "low", "high")
Item = dict[str, Any]


def report(table: ResultTable, rotation: int, tests: Collection[Finding], *, with_power: bool = True) -> Item:
    """Make the document of a rotation that has at least one run.

    Args:
        table: the results of all rotations.
        rotation: the rotation to report on.
        tests: the findings of the detectors' tests of it; their figures are shown as they were stored.
        with_power: whether to add the smallest share of known tasks that each submitter's own test detects.
    """
    now = table.until(rotation)
    line, first = link(now), figures.firsts(now, rotation)
    made = sorted(tests, key=lambda test: (TESTED.index(test.kind), test.subject.encode()))
    taken, exposed = now.taken[first], now.taken[first] & now.exposed[first]
    return {
        "rotation": rotation,
        "runs": int((now.rotation == rotation).sum()),
        "submitters": len(first),
        "tasks": int(taken.any(0).sum()),
        "exposed": int(exposed.any(0).sum()),
        "first": rotation < FIRST,
        "too_few_peers": len(first) < MIN_SUBMITTERS,
        "smallest": visible(now, rotation) if with_power else {},
        "tests": [{name: getattr(test, name) for name in SHOWN} for test in made],
        "quantiles": {kind: _quantiles(list(of_kind)) for kind, of_kind in groupby(made, lambda test: test.kind)},
        "jumps": figures.jumps(line, rotation),
        "expected": figures.expected(line, rotation),
        "residuals": figures.residuals(line, rotation),
        "drift": figures.drift(line, rotation),
        "scores": figures.scores(line),
        "views": {
            "fit": _fit(now, rotation),
            "best": _best(line, rotation),
            "luck": [
                {"k": k, "points": number(display_statistics.best_of(_usual(line, rotation), k))}
                for k in BEST_OF_K_VALUES
            ],
        },
    }


def visible(table: ResultTable, rotation: int) -> dict[str, float | None]:
    """Give, by submitter, the smallest known share detected in one case of two; empty for a first rotation."""
    return {who: number(share) for who, share in smallest(table, rotation).items()} if rotation >= FIRST else {}


def _quantiles(tests: Sequence[Finding]) -> list[Item]:
    """Return the Q-Q plot of the tests' z-scores against a standard normal, with the band of 95 % of honest ones."""
    p_values = np.array([test.p_value for test in tests], dtype=float)
    z = np.clip(-ndtri(np.sort(p_values)[::-1]), -FARTHEST, FARTHEST)
    count, rank = len(z), np.arange(1, len(z) + 1)
    hoped = ndtri((rank - 0.5) / count)
    low, high = (ndtri(betaincinv(rank, count - rank + 1, side)) for side in (TAIL, 1 - TAIL))
    rows = zip(hoped, z, low, high, strict=True)
    return [{"expected": number(e), "z": number(v), "low": number(a), "high": number(b)} for e, v, a, b in rows]


def _fit(table: ResultTable, rotation: int) -> list[Item]:
    """Return each submitter's person fit, against difficulties estimated without them."""
    apart, chosen = ability.leave_one_out(table, ability.fit(table)), figures.firsts(table, rotation)
    slope = 1 / np.sqrt(1 + ability.LOGISTIC * apart.unknown[chosen])
    chance = expit((apart.theta[chosen, None] - apart.difficulty[chosen]) * slope)
    fits = display_statistics.person_fit(table.passed[chosen], chance, table.taken[chosen], slope)
    rows = zip(chosen, fits, strict=True)
    return [{"submitter": figures.whose(table, int(run)), "lz": number(fit)} for run, fit in rows]


def _best(line: LinkedRuns, rotation: int) -> list[Item]:
    """Return best and mean score of submitters with several runs, and the difference that luck alone would make."""
    table, rows = line.table, []
    for who, name in enumerate(table.submitters):
        runs = np.flatnonzero((table.submitter == who) & (table.rotation == rotation))
        if len(runs) < 2:  # noqa: PLR2004 - one run has no best
            continue
        taken = table.taken[runs]
        scores = (table.passed[runs] & taken).sum(1) / np.maximum(taken.sum(1), 1)
        chance = expit(line.scale.ability[runs[0]] - line.scale.difficulty[taken[0]])
        rows.append(
            {
                "submitter": name,
                "k": len(runs),
                "best": number(scores.max()),
                "mean": number(scores.mean()),
                "luck": number(display_statistics.best_of(chance, len(runs))),
            }
        )
    return rows


def _usual(line: LinkedRuns, rotation: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the probabilities (T,) of a pass for a run of median ability on the rotation's tasks."""
    chosen = figures.firsts(line.table, rotation)
    tasks = line.table.taken[chosen].any(0)
    return np.asarray(expit(np.median(line.scale.ability[chosen]) - line.scale.difficulty[tasks]))
