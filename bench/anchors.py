"""Measures what frozen agents, run again each month, add to the leak test and to linked scores.

Worlds are those of `watch`, with up to eight further submitters whose agent never changes. *Able* ones are like any
submitter's. *Scripts* pass the same tasks each time, with the same calls. The same worlds are tested with fewer and
fewer of them, and all who are present are tested, as in a home. Linked scores are those of one more frozen agent, whose
score changes between months 1 and 3 by nothing but error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from report import Found, Table
from watch import ALPHA, START, World, Wrong, play, share_with_interval

from rotation.detection.detectors.leaked_tasks import leak
from rotation.detection.detectors.scan import judged
from rotation.detection.statistics.linking import link
from rotation.detection.statistics.table import ResultTable

CASES = 40
MOST = 8
AGENTS = (0, 4, MOST)
GUILTY = "who000"
MONTHS = 3
SEED = 900_000


def bench(rounds: int = 0) -> Found:
    """Play everything."""
    cases = rounds or CASES
    by_month = tuple(f"month {month + 1}" for month in range(MONTHS))
    leaks = [row for many in (5, 20) for scripts in (False, True) for row in _leaks(many, cases, scripts=scripts)]
    links = [row for many in (5, 20) for row in _links(many, cases)]
    tables = [
        Table("A leak of 20 %: of all cases, the share (percent) found by then.", ("case", "cases", *by_month), leaks),
        Table(
            "Error of the change of an unchanged agent's linked score, in points: root of the mean square.",
            ("case", "cases", "error", "stated error"),
            links,
        ),
    ]
    return Found("Frozen agents as anchors of difficulty; see docs/adr/0091.", [], tables=tables)


def _leaks(submitters: int, cases: int, *, scripts: bool) -> Iterator[dict[str, Any]]:
    world = World(
        rotations=START + MONTHS - 1, submitters=submitters + MOST, frozen=MOST, repeating=MOST if scripts else 0
    )
    found = {agents: np.zeros((cases, MONTHS), dtype=bool) for agents in AGENTS}
    for case in range(cases):
        table = play(world, SEED + case, Wrong(known=0.2))
        for agents in AGENTS:
            kept = _first(table, submitters + agents)
            found[agents][case] = [_flags(kept, START + month) for month in range(MONTHS)]
    for agents, flags in found.items():
        by_then = np.logical_or.accumulate(flags, axis=1).sum(axis=0)
        kind = "scripts" if scripts else "able agents"
        row = {"case": f"{submitters} submitters and {agents} {kind}", "cases": cases}
        yield row | {f"month {place + 1}": share_with_interval(int(hits), cases) for place, hits in enumerate(by_then)}


def _flags(table: ResultTable, rotation: int) -> bool:
    return any(one.tested.subject == GUILTY and one.holm <= ALPHA for one in judged(table, rotation, (leak,)))


def _links(submitters: int, cases: int) -> Iterator[dict[str, Any]]:
    world = World(rotations=MONTHS, submitters=submitters + 1 + MOST, frozen=MOST + 1, harder=0.6)
    changes: dict[int, list[tuple[float, float]]] = {agents: [] for agents in AGENTS}
    for case in range(cases):
        table = play(world, SEED + case)
        for agents in AGENTS:
            kept = _first(table, submitters + 1 + agents)
            who = kept.submitters.index(f"who{submitters:03d}")
            before, *_, after = np.flatnonzero(kept.submitter == who).tolist()
            change = link(kept).change(before, after)
            changes[agents].append((change.value or 0.0, change.se or 0.0))
    for agents, made in changes.items():
        error, stated = 100 * np.sqrt(np.mean(np.square(made), axis=0))
        row = {"case": f"{submitters} submitters and {agents} able agents", "cases": cases}
        yield row | {"error": f"{error:.1f} ± {error / np.sqrt(2 * cases):.1f}", "stated error": f"{stated:.1f}"}


def _first(table: ResultTable, submitters: int) -> ResultTable:
    """Keep the runs of the first so many submitters."""
    return table.only(np.flatnonzero(table.submitter < submitters))
