"""Made-up benchmarks of which the truth is known: honest ones, and ones in which something is wrong.

Abilities drift and jump, base models are shared, families are correlated, submitters stay away or submit twice. Nothing
here is what the detectors assume; every knob may be turned. Not a test: the tests' dice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rotation.anomaly.table import Bools, Floats, Ints, Table


@dataclass(frozen=True)
class World:
    """How an honest world is; standard deviations in logits, those of effort in log calls."""

    submitters: int = 20
    rotations: int = 4
    cohort: int = 50
    life: int = 4
    families: int = 80
    ability: float = 1.0
    drift: float = 0.12
    swaps: float = 0.08  # the chance of a new model in a month
    bases: int = 8  # base models
    shared: float = 0.45  # leans of a base model to a task
    own: float = 0.35  # leans of a submitter to a task
    difficulty: float = 1.2
    of_family: float = 0.45
    harder: float = 0.0  # fresh cohorts, in logits
    effort: float = 0.33
    of_task: float = 0.2
    of_submitter: float = 0.25
    absence: float = 0.08
    again: float = 0.1  # the chance of a second submission in a month


@dataclass(frozen=True)
class Wrong:
    """What is wrong from rotation `start` on; nothing by default. The first submitter is the one it is about.

    Attributes:
        start: the rotation in which it begins.
        better: logits by which the first submitter honestly improves.
        known: the share of retained tasks that the first submitter knows.
        shortcut: by which their calls on known tasks are multiplied.
        copied: the share of the first submitter's results that the second one copies.
        family: the family that half of the submitters know.
        broken: the task whose verifier always passes.
    """

    start: int = 3
    better: float = 0.0
    known: float = 0.0
    shortcut: float = 0.75
    copied: float = 0.0
    family: int = -1
    broken: int = -1


@dataclass
class _Rows:
    of: list[tuple[int, int, int]] = field(default_factory=list)
    live: list[Ints] = field(default_factory=list)
    passed: list[Bools] = field(default_factory=list)
    calls: list[Floats] = field(default_factory=list)


def play(world: World, seed: int, wrong: Wrong | None = None) -> Table:
    """Play a world."""
    wrong, dice = wrong or Wrong(), np.random.default_rng(seed)
    first = np.repeat(np.arange(2 - world.life, world.rotations + 1), world.cohort)
    count, many = len(first), world.submitters
    family = dice.integers(0, world.families, count)
    hard = dice.normal(0, world.difficulty, count) + dice.normal(0, world.of_family, world.families)[family]
    hard += world.harder * (first >= 2)
    base = dice.integers(0, world.bases, many)
    leans = dice.normal(0, world.shared, (world.bases, count))
    lean = leans[base] + dice.normal(0, world.own, (many, count))
    theta, thrift = dice.normal(0, world.ability, many), dice.normal(0.1, world.of_submitter, many)
    length = dice.integers(1, 8, count)
    cap = np.ceil(length * 2.5 + 4).astype(np.int64)
    effort = np.log(length) + dice.normal(0, world.of_task, count)
    known = dice.random(count) < wrong.known
    rows, same = _Rows(), 0
    for rotation in range(1, world.rotations + 1):
        live = np.flatnonzero((first <= rotation) & (first > rotation - world.life))
        on, old = rotation >= wrong.start, first[live] < rotation
        theta = theta + dice.normal(0, world.drift, many)
        swapped = dice.random(many) < world.swaps
        theta = theta + swapped * dice.normal(0.3, 0.6, many)
        theta[0] += wrong.better * (rotation == wrong.start)
        there = (dice.random(many) >= world.absence) | ((np.arange(many) < 2) & on)
        for who in np.flatnonzero(there):
            for number in range(1 + (dice.random() < world.again)):
                chance = 1 / (1 + np.exp(hard[live] - theta[who] - lean[who, live]))
                knows = known[live] & old & on & (who == 0)
                leaked = (family[live] == wrong.family) & on & (who % 2 == 0)
                chance = np.where(knows | leaked, np.maximum(chance, 0.95), chance)
                chance = np.where((live == wrong.broken) & on, 0.97, chance)
                passed = dice.random(len(live)) < chance
                noise = dice.normal(0, world.effort, len(live)) + 0.35 * ~passed + np.log(wrong.shortcut) * knows
                calls = np.clip(np.rint(np.exp(effort[live] + thrift[who] + noise)), 1, cap[live])
                if who == 1 and on and wrong.copied:
                    copied = dice.random(len(live)) < wrong.copied
                    passed = np.where(copied, rows.passed[same], passed)
                    calls = np.where(copied, rows.calls[same], calls)
                if who == 0:
                    same = len(rows.of)
                rows.of.append((rotation, int(who), number))
                rows.live.append(live)
                rows.passed.append(passed)
                rows.calls.append(calls)
    return _table(rows, family, first, cap)


def _table(rows: _Rows, family: Ints, first: Ints, cap: Ints) -> Table:
    shape = (len(rows.of), len(first))
    taken, passed, calls = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
    for run, live in enumerate(rows.live):
        taken[run, live], passed[run, live], calls[run, live] = True, rows.passed[run], rows.calls[run]
    rotation, who, number = np.array(rows.of).T
    return Table(
        runs=tuple(f"sub{one:03d}-{two}" for one, two in zip(who, number, strict=True)),
        submitter=who,
        rotation=rotation,
        submitters=tuple(f"who{one:03d}" for one in range(int(who.max()) + 1)),
        tasks=tuple(f"task{one:04d}" for one in range(len(first))),
        family=family,
        families=tuple(f"family{one:03d}" for one in range(int(family.max()) + 1)),
        first=first,
        cap=cap,
        taken=taken,
        passed=passed,
        calls=calls,
        exposed=first < rotation[:, None],
    )
