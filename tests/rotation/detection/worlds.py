"""Simulated benchmarks whose truth is known: honest ones, and ones in which something is wrong.

Abilities drift and jump, base models are shared, families are correlated, submitters stay away or submit twice. The
detectors assume none of this, and every parameter may be changed. Most optional effects have a random stream of their
own, so that changing their parameter leaves the rest of a world as it was. Not a test: the tests' data generator.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rotation.calendar import Month
from rotation.detection.detectors.scan import Detector, judged
from rotation.detection.scan_results import tested
from rotation.detection.statistics.correction import holm
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from rotation.findings.store import Finding

Dice = np.random.Generator
LOOKED_IN = Month(2027, 2)
LOOKED_AT = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """Parameters of an honest world; standard deviations in logits, those of effort in log calls."""

    submitters: int = 20
    rotations: int = 4
    cohort: int = 50
    life: int = 4
    families: int = 80
    ability: float = 1.0
    drift: float = 0.12
    swaps: float = 0.08  # the chance of a new model in a month
    wave: int = 0  # the rotation in which everybody has a new model
    bases: int = 8  # base models
    lab: float = 0.0  # the share of submitters who are one lab: one base model, one ability, hardly biases of their own
    shared: float = 0.45  # biases of a base model on a task
    own: float = 0.35  # biases of a submitter on a task
    of_both: float = 0.0  # biases of a submitter on a family
    servers: int = 10
    leaning: float = 0.0  # biases on a server, and again on a family, half of their variance shared by base model
    call_leaning: float = 0.0  # habits in calls on a server, and again on a family, shared likewise, log calls
    rebased: bool = False  # whether a new model is on another base model, whose biases and habits replace the old one's
    uneven: bool = False  # whether a cohort has many more tasks of some servers than of others
    difficulty: float = 1.2
    of_family: float = 0.45
    tails: float = 0.0  # degrees of freedom of difficulties and abilities; 0 for normal ones
    harder: float = 0.0  # fresh cohorts, in logits
    harder_only: int = 0  # only the cohort of this rotation
    effort: float = 0.33
    of_task: float = 0.2
    of_submitter: float = 0.25
    own_effort: float = 0.0  # of a submitter on a task, every month the same
    shared_effort: float = 0.0  # of a base model on a task
    dispersion: float = 0.0  # of the effort's own spread, log sd by run and task
    absence: float = 0.08
    runs: int = 1  # of a submitter in a month
    again: float = 0.1  # the chance of one more
    frozen: int = 0  # how many of the last submitters run one agent that never changes, once in every month
    repeating: int = 0  # how many of the last submitters repeat results: the same passes and calls as before
    repeated: float = 1.0  # the share of results that they repeat; all of them, if they are scripts


@dataclass(frozen=True)
class Wrong:
    """What is wrong from rotation `start` on, nothing by default; the first submitter is the guilty one.

    Attributes:
        start: the rotation in which it begins.
        better: logits by which the first submitter honestly improves.
        known: the share of retained tasks that the first submitter knows.
        shortcut: by which their calls on known tasks are multiplied.
        copied: the share of the first submitter's results that the second one copies.
        family: the family that the first `knowing` of the submitters know.
        knowing: their share.
        broken: the task whose verifier always passes.
        impossible: the task whose verifier never does.
    """

    start: int = 3
    better: float = 0.0
    known: float = 0.0
    shortcut: float = 0.75
    copied: float = 0.0
    family: int = -1
    knowing: float = 0.5
    broken: int = -1
    impossible: int = -1


@dataclass
class _Rows:
    of: list[tuple[int, int, int]] = field(default_factory=list)
    live: list[Ints] = field(default_factory=list)
    passed: list[Bools] = field(default_factory=list)
    calls: list[Floats] = field(default_factory=list)

    def same_again(self, who: int, live: Ints, passed: Bools, calls: Floats, repeated: Bools) -> tuple[Bools, Floats]:
        """Return a run's results with those of the submitter's earlier runs in place of some, if there are any."""
        for run, (_, before, _) in enumerate(self.of):
            if before == who:
                _, now, then = np.intersect1d(live, self.live[run], return_indices=True)
                now, then = now[repeated[now]], then[repeated[now]]
                passed[now], calls[now] = self.passed[run][then], self.calls[run][then]
        return passed, calls


@dataclass(frozen=True)
class _People:
    """Lasting traits of S submitters on T tasks."""

    theta: Floats  # (S,)
    call_efficiency: Floats  # (S,)
    base: Ints  # (S,) of the base models
    of_base: Floats  # (bases, T) biases
    own: Floats  # (S, T) biases
    calls_of_base: Floats  # (bases, T) habits in log calls
    own_calls: Floats  # (S, T) likewise

    @property
    def bias(self) -> Floats:
        """(S, T) biases on each task."""
        return self.of_base[self.base] + self.own

    @property
    def usual(self) -> Floats:
        """(S, T) log calls beyond what each task takes."""
        return self.calls_of_base[self.base] + self.own_calls


def play(world: World, seed: int, wrong: Wrong | None = None) -> ResultTable:
    """Simulate a world."""
    wrong, dice, rare = wrong or Wrong(), np.random.default_rng(seed), np.random.default_rng([seed, 1])
    first = np.repeat(np.arange(2 - world.life, world.rotations + 1), world.cohort)
    family = _uneven(world, len(first), rare) if world.uneven else dice.integers(0, world.families, len(first))
    hard = _spread(world, dice, world.difficulty, len(first)) + dice.normal(0, world.of_family, world.families)[family]
    hard += world.harder * (first == world.harder_only if world.harder_only else first >= 2)
    people = _people(world, family, dice, rare)
    length = dice.integers(1, 8, len(first))
    cap = np.ceil(length * 2.5 + 4).astype(np.int64)
    effort = np.log(length) + dice.normal(0, world.of_task, len(first))
    known = dice.random(len(first)) < wrong.known
    theta, rows, same = people.theta, _Rows(), 0
    for rotation in range(1, world.rotations + 1):
        live = np.flatnonzero((first <= rotation) & (first > rotation - world.life))
        on, old = rotation >= wrong.start, first[live] < rotation
        moved, swapped = _moved(world, rotation, dice)
        lasting = np.arange(world.submitters) >= world.submitters - world.frozen
        moved, swapped = moved * ~lasting, swapped & ~lasting
        theta = theta + moved
        if world.rebased:
            people.base[swapped] = rare.integers(0, world.bases, world.submitters)[swapped]
        bias, usual = people.bias, effort + people.usual
        theta[0] += wrong.better * (rotation == wrong.start)
        there = (dice.random(world.submitters) >= world.absence) | ((np.arange(world.submitters) < 2) & on) | lasting
        for who in np.flatnonzero(there):
            for number in range(1 if lasting[who] else world.runs + (dice.random() < world.again)):
                chance = 1 / (1 + np.exp(hard[live] - theta[who] - bias[who, live]))
                knows = known[live] & old & on & (who == 0)
                leaked = (family[live] == wrong.family) & on & (who < wrong.knowing * world.submitters)
                chance = np.where(knows | leaked, np.maximum(chance, 0.95), chance)
                chance = np.where((live == wrong.broken) & on, 0.97, chance)
                chance = np.where((live == wrong.impossible) & on, 0.01, chance)
                passed = dice.random(len(live)) < chance
                noise = dice.normal(0, world.effort, len(live)) * np.exp(rare.normal(0, world.dispersion, len(live)))
                noise += 0.35 * ~passed + np.log(wrong.shortcut) * knows
                calls = np.clip(np.rint(np.exp(usual[who, live] + people.call_efficiency[who] + noise)), 1, cap[live])
                if who == 1 and on and wrong.copied:
                    copied = dice.random(len(live)) < wrong.copied
                    passed = np.where(copied, rows.passed[same], passed)
                    calls = np.where(copied, rows.calls[same], calls)
                if who >= world.submitters - world.repeating:
                    repeated = rare.random(len(live)) < world.repeated
                    passed, calls = rows.same_again(int(who), live, passed, calls, repeated)
                if who == 0:
                    same = len(rows.of)
                rows.of.append((rotation, int(who), number))
                rows.live.append(live)
                rows.passed.append(passed)
                rows.calls.append(calls)
    return _table(world, rows, family, first, cap)


def _people(world: World, family: Ints, dice: Dice, rare: Dice) -> _People:
    count, many = len(family), world.submitters
    base = dice.integers(0, world.bases, many)
    shared, own = dice.normal(0, world.shared, (world.bases, count)), dice.normal(0, world.own, (many, count))
    theta, call_efficiency = _spread(world, dice, world.ability, many), dice.normal(0.1, world.of_submitter, many)
    lab = np.flatnonzero(rare.random(many) < world.lab)
    base[lab], own[lab] = 0, own[lab] * 0.2
    theta[lab], call_efficiency[lab] = theta[lab[:1]], call_efficiency[lab[:1]]
    own = own + rare.normal(0, world.of_both, (many, world.families))[:, family]
    if world.leaning:
        of_base, of_one = _leanings(world, world.leaning, family, np.random.default_rng(rare.integers(2**32)))
        shared, own = shared + of_base, own + of_one
    calls_of_base = rare.normal(0, world.shared_effort, (world.bases, count))
    own_calls = rare.normal(0, world.own_effort, (many, count))
    if world.call_leaning:
        dice_of_calls = np.random.default_rng(rare.integers(2**32))
        of_base, of_one = _leanings(world, world.call_leaning, family, dice_of_calls)
        calls_of_base, own_calls = calls_of_base + of_base, own_calls + of_one
    return _People(theta, call_efficiency, base, shared, own, calls_of_base, own_calls)


def _uneven(world: World, count: int, dice: Dice) -> Ints:
    """Return the families of the tasks, where each cohort has other shares of the servers: uniform over all shares."""
    server = np.arange(world.families) % world.servers
    cohorts = []
    for _ in range(count // world.cohort):
        share = dice.dirichlet(np.ones(world.servers))[server]
        cohorts.append(dice.choice(world.families, world.cohort, p=share / share.sum()))
    return np.concatenate(cohorts)


def _leanings(world: World, sd: float, family: Ints, dice: Dice) -> tuple[Floats, Floats]:
    """Return the leanings of base models (bases, T) and of submitters (S, T) on the tasks of a server and family."""
    sd, groups = sd * np.sqrt(0.5), ((family % world.servers, world.servers), (family, world.families))
    of_base, of_one = np.zeros((world.bases, len(family))), np.zeros((world.submitters, len(family)))
    for group, count in groups:
        of_base += dice.normal(0, sd, (world.bases, count))[:, group]
        of_one += dice.normal(0, sd, (world.submitters, count))[:, group]
    return of_base, of_one


def _spread(world: World, dice: Dice, sd: float, count: int) -> Floats:
    if not world.tails:
        return dice.normal(0, sd, count)
    spread: Floats = sd * np.sqrt((world.tails - 2) / world.tails) * dice.standard_t(world.tails, count)
    return spread


def _moved(world: World, rotation: int, dice: Dice) -> tuple[Floats, Bools]:
    """Return by how much abilities changed since the month before, (S,), and who has a new model."""
    drift, swapped = dice.normal(0, world.drift, world.submitters), dice.random(world.submitters) < world.swaps
    swapped |= rotation == world.wave
    moved: Floats = drift + swapped * dice.normal(0.3, 0.6, world.submitters)
    return moved, swapped


def _table(world: World, rows: _Rows, family: Ints, first: Ints, cap: Ints) -> ResultTable:
    shape = (len(rows.of), len(first))
    taken, passed, calls = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
    for run, live in enumerate(rows.live):
        taken[run, live], passed[run, live], calls[run, live] = True, rows.passed[run], rows.calls[run]
    rotation, who, number = np.array(rows.of).T
    return ResultTable(
        runs=tuple(f"sub{one:03d}-{two}" for one, two in zip(who, number, strict=True)),
        submitter=who,
        rotation=rotation,
        submitters=tuple(f"who{one:03d}" for one in range(int(who.max()) + 1)),
        tasks=tuple(f"task{one:04d}" for one in range(len(first))),
        family=family,
        families=tuple(f"family{one:03d}" for one in range(int(family.max()) + 1)),
        server=family % world.servers,
        first=first,
        cap=cap,
        taken=taken,
        passed=passed,
        calls=calls,
        sequence=np.zeros_like(calls),
        exposed=first < rotation[:, None],
    )


def table_of(taken: Bools, passed: Bools, **known: Any) -> ResultTable:
    """Make a table of results; missing fields get plain defaults: a run a submitter, one rotation, one family."""
    runs, tasks = taken.shape
    names = tuple(f"s{number:02}" for number in range(runs))
    plain: dict[str, Any] = {
        "runs": names,
        "submitter": np.arange(runs),
        "rotation": np.ones(runs, dtype=np.int64),
        "submitters": names,
        "tasks": tuple(f"t{number:03}" for number in range(tasks)),
        "family": np.zeros(tasks, dtype=np.int64),
        "families": ("f",),
        "server": np.zeros(tasks, dtype=np.int64),
        "first": np.ones(tasks, dtype=np.int64),
        "cap": np.full(tasks, 12),
        "calls": np.full(taken.shape, 3),
        "sequence": np.zeros(taken.shape, dtype=np.int64),
        "exposed": np.zeros(taken.shape, dtype=bool),
    }
    return ResultTable(taken=taken, passed=passed, **(plain | known))


def flagged(detector: Detector, table: ResultTable, rotation: int = 3) -> list[str]:
    """Name the subjects that a detector flags at 1 %, corrected for the number of its tests."""
    tests = detector(table, rotation)
    adjusted = holm(np.array([test.p_value for test in tests]))
    return [test.subject for test, p_value in zip(tests, adjusted, strict=True) if p_value <= 0.01]


def lines(table: ResultTable) -> Iterator[str]:
    """Write a table as lines of a case file, one per task run; servers are invented."""
    for run, task in np.argwhere(table.taken).tolist():
        row = {
            "rotation": int(table.rotation[run]),
            "submission": table.runs[run],
            "submitter": table.submitters[table.submitter[run]],
            "task_id": table.tasks[task],
            "server": f"server{table.server[task]}",
            "family": table.families[table.family[task]],
            "first_active_rotation": int(table.first[task]),
            "passed": bool(table.passed[run, task]),
            "tool_calls": int(table.calls[run, task]),
            "max_steps": int(table.cap[task]),
        }
        yield json.dumps(row) + "\n"


def write(table: ResultTable, path: Path) -> Path:
    """Write a table as a case file."""
    path.write_text("".join(lines(table)))
    return path


def stored(table: ResultTable, rotation: int) -> list[Finding]:
    """Test a rotation, and give the findings as a home stores them."""
    made = [tested(result, LOOKED_IN, None) for result in judged(table, rotation)]
    told = [{one.name: getattr(new, one.name) for one in fields(new)} | {"status": new.status} for new in made]
    return [Finding(number=place, computed_at=LOOKED_AT, reviews=(), **one) for place, one in enumerate(told, 1)]
