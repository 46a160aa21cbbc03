"""Figures of the maintainer's report on a rotation, as plain reproducible numbers. Pure.

Shares are between 0 and 1, abilities and difficulties in log odds. A submitter is represented by the first of their
runs in the rotation. The *unaided* ability is estimated from the tasks that the submitter could not have known; the
expected results on the other tasks come from it alone, so knowing tasks does not raise what is expected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rotation.detection.detectors.display_statistics import jump_z
from rotation.detection.statistics.linking import Estimate, LinkedRuns, Scale
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from sandbox.results.interval import Z, proportion

DIGITS = 6
MAX_RESIDUAL = 9.99  # that is shown
BAND = tuple(step / 20 for step in range(21))
TINY = 1e-9  # the error of a share that several samples met exactly
NO_GROUPS: Mapping[str, Collection[str]] = MappingProxyType({})
MAD = 1.4826  # a normal's standard deviation / its median absolute deviation


def firsts(table: ResultTable, rotation: int) -> Ints:
    """Return each submitter's first run in a rotation, in the order of submitters."""
    rows = np.flatnonzero(table.rotation == rotation)
    return rows[np.unique(table.submitter[rows], return_index=True)[1]]


def scores(line: LinkedRuns) -> list[dict[str, Any]]:
    """Return each run's raw score, with an interval over families, and its linked score."""
    table = line.table
    return [
        {
            "run": table.runs[run],
            "submitter": whose(table, run),
            "rotation": int(table.rotation[run]),
            "raw": _raw(table, run),
            "linked": plain(linked),
        }
        for run, linked in enumerate(line.linked())
    ]


def jumps(line: LinkedRuns, rotation: int) -> list[dict[str, Any]]:
    """Split each submitter's score change since their last rotation into ability, set difficulty and excess.

    With E(a, s) the expected score of ability a on set s: ability is E(now, this set) - E(then, this set), difficulty
    E(then, this set) - E(then, that set), both abilities unaided; excess is what the scores are above that, now less
    then. The three add up to the change of the raw score. Added are the change of the linked score, and the z-score of
    the raw change, which is only displayed.
    """
    table = line.table
    after = [int(run) for run in firsts(table, rotation) if _before(table, int(run)) is not None]
    before = [int(_before(table, run) or 0) for run in after]
    if not after:
        return []
    parts = line.estimates(lambda scale: _parts(table, scale, np.array(before), np.array(after)).ravel())
    linked = line.estimates(lambda scale: line.scores(scale)[after] - line.scores(scale)[before])
    rows = [[*parts[at :: len(after)], linked[at]] for at in range(len(after))]
    return [
        {"submitter": whose(table, now), "since": int(table.rotation[then]), "z": number(_jump(table, then, now))}
        | dict(zip(("change", "ability", "difficulty", "excess", "linked"), map(plain, row), strict=True))
        for then, now, row in zip(before, after, rows, strict=True)
    ]


def expected(
    line: LinkedRuns,
    rotation: int,
    tasks: Bools | None = None,
    groups: Mapping[str, Collection[str]] = NO_GROUPS,
) -> dict[str, Any]:
    """Compare each submitter's passes on some tasks, by default the exposed ones, with those the fresh ones predict.

    The band holds 95 % of the peers: z is in units of the model's noise; its centre and spread are the median and the
    median absolute deviation of the peers' z (at least 1). The excess is what was passed beyond the band's centre; its
    95 % interval is that of chance. A group's figures are the means of its members' figures; what members have in
    common by task is summed before it is squared, as in the group's test.

    Args:
        line: the results.
        rotation: the rotation to report on.
        tasks: the tasks (T,).
        groups: name -> its members.
    """
    table, chosen = line.table, firsts(line.table, rotation)
    cells, known = _cells(table, chosen)
    shown = cells & (known if tasks is None else tasks)
    chance = expit(line.scale.unaided[chosen, None] - np.nan_to_num(line.scale.difficulty))
    passed, information = table.share[chosen], chance * (1 - chance)
    spread = information if table.rates is None else (passed - chance) ** 2  # of several samples, as far as they vary
    fresh = cells & ~known
    rows, noise, errors, by_task = list[dict[str, Any]](), [], [], {}
    for at, run in enumerate(chosen):
        if not shown[at].any() or not fresh[at].any():
            continue
        here, there = shown[at], fresh[at]
        seen, hoped = passed[at][here].mean(), chance[at][here].mean()
        lever = information[at][here].mean() / information[at][there].sum()
        contrast = here / here.sum() - lever * there
        error = np.sqrt(np.where(here | there, contrast**2 * spread[at], 0).sum()) + TINY
        noise.append(error / np.sqrt(hoped * (1 - hoped)))
        errors.append(error)
        by_task[whose(table, run)] = contrast * (passed[at] - chance[at])
        rows.append(
            {
                "submitter": whose(table, run),
                "exposed": int(here.sum()),
                "fresh": int(there.sum()),
                "fresh_observed": number(passed[at][there].mean()),
                "expected": number(hoped),
                "observed": number(seen),
                "z": number((seen - hoped) / error),
            }
        )
    z = np.array([row["z"] for row in rows])
    for row, error in zip(rows, errors, strict=True):
        middle, width = _centre(z)
        peers = row["expected"] + middle * error
        row["peers"] = _around(peers, Z * width * error)
        row["excess"] = _excess(row["observed"] - peers, Z * error)
    members = {name: [row for row in rows if row["submitter"] in groups[name]] for name in groups}
    of_groups = [_of_group(name, own, by_task) for name, own in members.items() if own]
    return {"points": rows, "band": _band(z, np.array(noise))} | ({"groups": of_groups} if groups else {})


def _of_group(name: str, rows: Sequence[dict[str, Any]], by_task: Mapping[str, Floats]) -> dict[str, Any]:
    """Return the means of the figures of a group's members."""
    error = np.sqrt((np.mean([by_task[row["submitter"]] for row in rows], axis=0) ** 2).sum())
    observed = float(np.mean([row["observed"] for row in rows]))
    peers = {end: float(np.mean([row["peers"][end] for row in rows])) for end in ("value", "low", "high")}
    return {
        "submitter": name,
        "members": len(rows),
        "exposed": max(row["exposed"] for row in rows),
        "observed": number(observed),
        "peers": {end: number(share) for end, share in peers.items()},
        "excess": _excess(observed - peers["value"], Z * error),
    }


def _excess(value: float, half: float) -> dict[str, float | None]:
    """Return a difference of two shares with its interval, within what such a difference can be."""
    ends = _around(value, half)
    return {end: share if share is None else min(max(share, -1.0), 1.0) for end, share in ends.items()}


def residuals(line: LinkedRuns, rotation: int) -> dict[str, Any]:
    """Return (passed - expected) / sd by submitter and task: exposed tasks first, each group from hard to easy."""
    table, chosen = line.table, firsts(line.table, rotation)
    cells, known = _cells(table, chosen)
    chance = expit(line.scale.unaided[chosen, None] - np.nan_to_num(line.scale.difficulty))
    off = np.clip((table.share[chosen] - chance) / np.sqrt(chance * (1 - chance)), -MAX_RESIDUAL, MAX_RESIDUAL)
    exposed = (known & cells).sum(0) * 2 > cells.sum(0)
    order = [int(t) for t in np.lexsort((-line.scale.difficulty, ~exposed)) if cells[:, t].any()]
    return {
        "tasks": [
            {
                "task": table.tasks[task],
                "family": table.families[int(table.family[task])],
                "first": int(table.first[task]),
                "exposed": bool(exposed[task]),
                "difficulty": number(line.scale.difficulty[task]),
            }
            for task in order
        ],
        "rows": [
            {
                "submitter": whose(table, run),
                "residuals": [round(float(off[at, task]), 2) if cells[at, task] else None for task in order],
            }
            for at, run in enumerate(chosen)
        ],
    }


def drift(line: LinkedRuns, rotation: int) -> list[dict[str, Any]]:
    """Give, for each task of the rotation, observed and expected passes in each rotation (item parameter drift).

    Difficulties are fitted over all rotations, so a task that became easier has a z above 0 late and below 0 early.
    """
    table, scale = line.table, line.scale
    chosen = np.concatenate([firsts(table, int(r)) for r in np.unique(table.rotation)])
    chance = expit(scale.ability[chosen, None] - np.nan_to_num(scale.difficulty))
    live = np.flatnonzero(table.taken[firsts(table, rotation)].any(0))
    rows = []
    for task in sorted((int(t) for t in live), key=lambda t: (int(table.first[t]), t)):
        points = []
        for month in np.unique(table.rotation):
            answered = (table.rotation[chosen] == month) & table.taken[chosen, task]
            if answered.any():
                passed, hoped = table.passed[chosen[answered], task], chance[answered, task]
                points.append(
                    {
                        "rotation": int(month),
                        "runs": int(answered.sum()),
                        "observed": number(passed.mean()),
                        "expected": number(hoped.mean()),
                        "z": number((passed - hoped).sum() / np.sqrt((hoped * (1 - hoped)).sum())),
                    }
                )
        rows.append({"task": table.tasks[task], "first": int(table.first[task]), "rotations": points})
    return rows


def plain(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate as plain JSON values."""
    return {name: number(getattr(estimate, name)) for name in ("value", "low", "high")}


def number(value: Any) -> float | None:
    """Round a number to six places; None for None or a non-finite value, and never negative zero."""
    return None if value is None or not np.isfinite(value) else round(float(value), DIGITS) + 0.0


def _parts(table: ResultTable, scale: Scale, before: Ints, after: Ints) -> Floats:
    """Return change, ability, difficulty and excess, (4, N)."""
    taken = table.taken & scale.kept
    raw = (table.passed & taken).sum(1) / np.maximum(taken.sum(1), 1)
    own = scale.expected(scale.unaided, table.taken)
    crossed = scale.expected(scale.unaided[before], table.taken[after])
    excess = raw - own
    return np.array(
        [raw[after] - raw[before], own[after] - crossed, crossed - own[before], excess[after] - excess[before]]
    )


def _jump(table: ResultTable, then: int, now: int) -> float | None:
    taken = table.taken[[then, now]]
    passed = (table.passed[[then, now]] & taken).sum(1)
    return jump_z((int(passed[0]), int(passed[1])), (int(taken[0].sum()), int(taken[1].sum())))


def _cells(table: ResultTable, runs: Ints) -> tuple[Bools, Bools]:
    return table.taken[runs], table.exposed[runs]


def _band(z: Floats, noise: NDArray[np.float64]) -> list[dict[str, float | None]]:
    if not len(z):
        return []
    (middle, spread), width = _centre(z), float(np.median(noise))
    rows = []
    for share in BAND:
        scale = width * np.sqrt(share * (1 - share))
        low, high = (share + (middle + side * Z * spread) * scale for side in (-1, 1))
        rows.append({"expected": share, "low": number(max(0.0, low)), "high": number(min(1.0, high))})
    return rows


def _around(value: float, half: float) -> dict[str, float | None]:
    return {"value": number(value), "low": number(value - half), "high": number(value + half)}


def _centre(z: Floats) -> tuple[float, float]:
    """Return centre and spread of the peers' z."""
    middle = float(np.median(z))
    return middle, max(1.0, MAD * float(np.median(np.abs(z - middle))))


def _raw(table: ResultTable, run: int) -> dict[str, float | None]:
    pairs = [
        (int(table.passed[run, cells].sum()), int(cells.sum()))
        for family in np.unique(table.family[table.taken[run]])
        for cells in [table.taken[run] & (table.family == family)]
    ]
    figure = proportion(pairs)
    return {"value": number(figure.value), "low": number(figure.low), "high": number(figure.high)}


def _before(table: ResultTable, run: int) -> int | None:
    """Find the submitter's first run in the latest earlier rotation in which they made one."""
    own = np.flatnonzero((table.submitter == table.submitter[run]) & (table.rotation < table.rotation[run]))
    if not len(own):
        return None
    return int(own[table.rotation[own] == table.rotation[own].max()][0])


def whose(table: ResultTable, run: int) -> str:
    """Return the name of a run's submitter."""
    return table.submitters[int(table.submitter[run])]
