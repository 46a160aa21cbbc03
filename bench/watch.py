"""Measures the detectors on simulated benchmarks whose truth is known: false flags, and power.

Worlds are those of `tests/rotation/detection/worlds.py`: 20 submitters, 200 live tasks, lives of four months, and where
nothing is wrong many others in turn (`HONEST`). A case is a world, a seed and what is wrong from rotation 3 on. In
honest cases the rotations from 2 on count, with all detectors. In the others all detectors look at rotation 3, so that
false flags beside the true one are counted too; where a leak is looked for, its own looks at two more months.

Shares stand with their 95 % interval (E. B. Wilson, *J. Amer. Statist. Assoc.* 22, 1927, 209-212). A flag is an
adjusted p-value of 1 % at most. Cases are shared out among the cores; a seed gives the same case on each of them.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from oracle import limits
from report import Found, Table

from quarterturn.findings import case_file_scan
from rotation.detection.detectors.scan import DETECTORS, judged

_SPEC = importlib.util.spec_from_file_location(
    "made_up_worlds", Path(__file__).parents[1] / "tests" / "rotation" / "detection" / "worlds.py"
)
assert _SPEC
assert _SPEC.loader
worlds = sys.modules[_SPEC.name] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(worlds)
World, Wrong, play = worlds.World, worlds.Wrong, worlds.play

CASES = 200  # of a kind
ALPHA = 0.01
START = 3
KINDS = ("leak", "copy", "family", "task")
PLAIN = World(rotations=5)
CALM = {"effort": 0.27}  # as lets an oracle find the fifth in the first month in 91 of 100
LEANING = {"leaning": 0.6}  # logits, by server and by family
UNEVEN = LEANING | {"uneven": True}
REBASED = LEANING | {"rebased": True, "swaps": 0.2, "bases": 3}
IN_CALLS = {"call_leaning": 0.2, "shared_effort": 0.15, "own_effort": 0.15}  # log calls
HABITS = UNEVEN | IN_CALLS | {"rebased": True, "swaps": 0.1, "bases": 4}
HONEST: dict[str, dict[str, Any]] = {
    "as in the other cases": {},
    "little noise in effort": {"effort": 0.2},
    "two base models": {"bases": 2, "shared": 0.9},
    "a lab of a third": {"lab": 0.33},
    "a lab of two thirds": {"lab": 0.67, "shared": 0.7},
    "heavy tails": {"tails": 3.0, "ability": 1.5},
    "everybody swaps models": {"wave": 3},
    "many swaps": {"swaps": 0.3},
    "harder fresh cohorts": {"harder": 1.0},
    "one much harder cohort": {"harder": 1.5, "harder_only": 3},
    "own habits by task": {"own": 0.6, "own_effort": 0.25},
    "own habits by family": {"of_both": 0.5},
    "base models' habits by task": {"shared_effort": 0.2},
    "overdispersed effort": {"dispersion": 0.5},
    "absences and several runs": {"absence": 0.3, "again": 0.6},
    "few large families": {"families": 15, "of_family": 0.8},
}


@dataclass(frozen=True)
class Truth:
    """What is wrong in a simulated case, and the flag that finds it."""

    wrong: Any = None
    kind: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Cases:
    """A group of simulated cases of one name.

    Attributes:
        wrong: gives, of a world and a seed, what is wrong.
        submitters: how many.
        varied: whether the world is another from case to case.
        often: how many cases there are for each that was asked for.
        months: for how many months the guilty are looked for.
        world: what is otherwise in its world than in the plain one.
    """

    wrong: Callable[[Any, int], Truth] = lambda _world, _seed: Truth()
    submitters: int = 20
    varied: bool = False
    often: float = 1.0
    months: int = 1
    world: Mapping[str, Any] = field(default_factory=dict)


def _leak(known: float, shortcut: float = 0.75) -> Callable[[Any, int], Truth]:
    return lambda _world, _seed: Truth(Wrong(known=known, shortcut=shortcut), "leak", "who000")


def _copy(share: float) -> Callable[[Any, int], Truth]:
    return lambda _world, _seed: Truth(Wrong(copied=share), "copy", "who000|who001")


def _better(_world: Any, seed: int) -> Truth:
    return Truth(Wrong(better=(1.0, 1.5, 2.0)[seed % 3]), "leak", "")


def _of_half(world: Any, seed: int, what: str) -> Truth:
    """Choose a family of several live tasks, or a task, of which less than half was passed before.

    For one that is never passed again it is more than half.
    """
    table = play(world, seed)
    live = np.flatnonzero(table.taken[table.rotation == START].any(axis=0))
    old = table.taken & (table.rotation < START)[:, None]
    groups = table.family if what == "family" else np.arange(len(table.tasks))
    made, passed = (np.bincount(groups, cells.sum(axis=0)) for cells in (old, old & table.passed))
    size = np.bincount(groups[live], minlength=len(made))
    seldom = (passed > made / 2) if what == "impossible" else (passed < made / 2)
    fit = np.flatnonzero((size >= (2 if what == "family" else 1)) & (made > 0) & seldom)
    chosen = int(np.random.default_rng([seed, 2]).choice(fit))
    if what == "family":
        return Truth(Wrong(family=chosen, knowing=0.6), "family", table.families[chosen])
    return Truth(Wrong(**{what: chosen}), "task", table.tasks[chosen])


def _family(world: Any, seed: int) -> Truth:
    return _of_half(world, seed, "family")


def _broken(world: Any, seed: int) -> Truth:
    return _of_half(world, seed, "broken")


def _impossible(world: Any, seed: int) -> Truth:
    return _of_half(world, seed, "impossible")


ALL: dict[str, Cases] = {
    "honest, 20 submitters": Cases(varied=True, often=2.5),
    "honest, 5 submitters": Cases(submitters=5, varied=True, often=1.5),
    "honest, 50 submitters": Cases(submitters=50, varied=True, often=0.2),
    "honest big improvement": Cases(_better, months=3),
    "leak 20 %": Cases(_leak(0.2), months=3),
    "leak 20 %, no effort shortcut": Cases(_leak(0.2, 1.0), months=3),
    "leak 40 %": Cases(_leak(0.4), months=3),
    "leak 10 %": Cases(_leak(0.1), months=3),
    "leak 20 %, 5 submitters": Cases(_leak(0.2), submitters=5, months=3),
    "leak 20 %, 50 submitters": Cases(_leak(0.2), submitters=50, often=0.2, months=3),
    "copy 15 %": Cases(_copy(0.15)),
    "copy 30 %": Cases(_copy(0.3)),
    "copy 50 %": Cases(_copy(0.5)),
    "leaked family": Cases(_family),
    "verifier always passes": Cases(_broken),
    "verifier never passes": Cases(_impossible),
    "leak 20 %, calm effort": Cases(_leak(0.2), months=3, world=CALM),
    "leak 40 %, calm effort": Cases(_leak(0.4), months=3, world=CALM),
    "leak 10 %, calm effort": Cases(_leak(0.1), months=3, world=CALM),
    "honest, strong leanings": Cases(world=UNEVEN),
    "leak 20 %, strong leanings": Cases(_leak(0.2), months=3, world=UNEVEN),
    "honest, strong leanings, even cohorts": Cases(world=LEANING),
    "honest, strong leanings of models that change": Cases(world=REBASED),
    "honest, strong leanings and habits in calls": Cases(world=HABITS),
    "honest, half of them scripts": Cases(world={"repeating": 10}),
    "honest, 13 submitters, 8 of them scripts": Cases(submitters=13, world={"repeating": 8}),
}


@dataclass(frozen=True)
class Seen:
    """Outcome of a case: the world's name; the flagged subjects by rotation and kind; which flags are right."""

    world: str
    truth: Truth
    flags: dict[tuple[int, str], tuple[str, ...]]

    def found(self, months: int) -> bool:
        """Return whether the guilty were flagged within so many months."""
        looked = [self.flags.get((START + month, self.truth.kind), ()) for month in range(months)]
        return any(self.truth.subject in subjects or (subjects and not self.truth.subject) for subjects in looked)


def play_one(name: str, number: int) -> Seen:
    """Play a case and scan it."""
    cases = ALL[name]
    variant = list(HONEST)[number % len(HONEST)] if cases.varied else next(iter(HONEST))
    world = replace(PLAIN, submitters=cases.submitters, **HONEST[variant] | cases.world)
    seed = 1_000_000 + 1000 * list(ALL).index(name) + number
    truth = cases.wrong(world, seed)
    table = play(world, seed, truth.wrong)
    if truth.wrong is None:
        looks = dict.fromkeys(range(2, world.rotations + 1), DETECTORS)
    else:
        own = (DETECTORS[KINDS.index(truth.kind)],)
        looks = {START: DETECTORS} | {START + later: own for later in range(1, cases.months)}
    flags: dict[tuple[int, str], tuple[str, ...]] = {}
    for rotation, detectors in looks.items():
        tests = judged(table, rotation, detectors)
        for kind in KINDS if len(detectors) > 1 else (truth.kind,):
            flagged = tuple(one.tested.subject for one in tests if one.tested.kind == kind and one.holm <= ALPHA)
            flags[rotation, kind] = flagged
    if truth.kind == "leak" and not truth.subject:  # who got better is who must not be flagged
        flags = {key: tuple(one for one in subjects if one == "who000") for key, subjects in flags.items()}
    return Seen(variant, truth, flags)


def interval(hits: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    if not of:
        return 0.0, 1.0
    share, z = hits / of, 1.959964
    middle, spread = share + z**2 / (2 * of), z * math.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    low, high = ((middle + sign * spread) / (1 + z**2 / of) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def share_with_interval(hits: int, of: int) -> str:
    """Format a share in percent, with its interval."""
    low, high = interval(hits, of)
    return f"{100 * hits / max(of, 1):.1f} ({100 * low:.1f} to {100 * high:.1f})"


def sample(rounds: int, names: Sequence[str] = tuple(ALL)) -> dict[str, list[Seen]]:
    """Play so many cases of each kind, or the multiple that the kind asks for."""
    work = [(name, number) for name in names for number in range(max(1, round(rounds * ALL[name].often)))]
    cores = len(os.sched_getaffinity(0))
    seen: dict[str, list[Seen]] = {name: [] for name in names}
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        for (name, _), one in zip(work, pool.map(play_one, *zip(*work, strict=True)), strict=True):
            seen[name].append(one)
    return seen


def bench(rounds: int = 0) -> Found:
    """Play everything."""
    seen = sample(rounds or CASES)
    honest = {name: cases for name, cases in seen.items() if name.startswith("honest, ")}
    tables = [
        Table(
            "Honest worlds: of all rotations, the share (percent) with any flag of a kind, and of any kind.",
            ("world", "rotations", *KINDS, "any"),
            [*_false(honest)],
        ),
        Table(
            "Where something is wrong: of all cases, the share (percent) in which it was flagged by then.",
            ("case", "cases", "month 1", "month 2", "month 3"),
            [*_true({name: cases for name, cases in seen.items() if name not in honest})],
        ),
        Table(
            "Of all flags in rotation 3, the share (percent) that is right, and with tasks of a leaked family, flagged "
            "beside it.",
            ("flags", "right", "with such tasks"),
            [_mix(seen)],
        ),
        Table(
            "What an oracle that knows every parameter would find of the leaks by then, in percent.",
            ("case", "month 1", "month 2", "month 3"),
            [*_limits(CASES if rounds == 0 else rounds)],
        ),
        Table("Seconds of this machine, one process.", ("case", "tests", "seconds"), [*_speed()]),
    ]
    return Found("Detectors on made-up benchmarks; see docs/reference/detection.md.", [], tables=tables)


def _false(honest: dict[str, list[Seen]]) -> Iterator[dict[str, Any]]:
    groups = dict(honest) | {"all of these": [case for cases in honest.values() for case in cases]}
    for variant in HONEST:
        groups[f"· {variant}"] = [case for case in groups["all of these"] if case.world == variant]
    for name, cases in groups.items():
        rotations = [(case, rotation) for case in cases for rotation in sorted({at for at, _ in case.flags})]
        row: dict[str, Any] = {"world": name, "rotations": len(rotations)}
        for kind in KINDS:
            row[kind] = share_with_interval(sum(bool(case.flags[at, kind]) for case, at in rotations), len(rotations))
        row["any"] = share_with_interval(
            sum(any(case.flags[at, kind] for kind in KINDS) for case, at in rotations), len(rotations)
        )
        yield row


def _true(wrong: dict[str, list[Seen]]) -> Iterator[dict[str, Any]]:
    for name, cases in wrong.items():
        row: dict[str, Any] = {"case": name, "cases": len(cases)}
        for month in (1, 2, 3):
            looked = month <= ALL[name].months
            row[f"month {month}"] = (
                share_with_interval(sum(case.found(month) for case in cases), len(cases)) if looked else ""
            )
        yield row


def _limits(cases: int) -> Iterator[dict[str, Any]]:
    for name, known, shortcut, effort in (
        ("leak 20 %", 0.2, 0.75, PLAIN.effort),
        ("leak 20 %, no effort shortcut", 0.2, 1.0, PLAIN.effort),
        ("leak 40 %", 0.4, 0.75, PLAIN.effort),
        ("leak 10 %", 0.1, 0.75, PLAIN.effort),
        ("leak 20 %, calm effort", 0.2, 0.75, CALM["effort"]),
        ("leak 40 %, calm effort", 0.4, 0.75, CALM["effort"]),
        ("leak 10 %, calm effort", 0.1, 0.75, CALM["effort"]),
    ):
        shares = limits(replace(PLAIN, effort=effort), known, shortcut, cases)
        yield {"case": name} | {f"month {month}": f"{100 * share:.0f}" for month, share in enumerate(shares, start=1)}


def _mix(seen: dict[str, list[Seen]]) -> dict[str, Any]:
    """Count flags of the first month in all cases with 20 submitters, with honest ones in one of ten."""
    right = beside = flags = 0
    for name, cases in seen.items():
        if ALL[name].submitters == World().submitters:
            for case in cases[:: 1 if _is_wrong(name) else 10]:
                subjects = [(kind, one) for (at, kind), found in case.flags.items() for one in found if at == START]
                flags += len(subjects)
                right += subjects.count((case.truth.kind, case.truth.subject))
                beside += sum(kind == "task" for kind, _ in subjects) if case.truth.kind == "family" else 0
    return {
        "flags": flags,
        "right": share_with_interval(right, flags),
        "with such tasks": share_with_interval(right + beside, flags),
    }


def _is_wrong(name: str) -> bool:
    """Return whether something is wrong in the cases of a name, or better than before."""
    return not name.startswith("honest, ")


def _speed() -> Iterator[dict[str, Any]]:
    """Time `watch scan` from file to file."""
    sizes = {
        "50 submitters, one rotation judged": World(submitters=50, rotations=2),
        "1,000 submissions over six months": World(submitters=33, rotations=6, runs=5, again=0.05),
    }
    everything, case_file_scan.MUCH = case_file_scan.MUCH, 10**12
    with tempfile.TemporaryDirectory() as folder:
        for name, world in sizes.items():
            path = worlds.write(play(world, 1), Path(folder) / "case.jsonl")
            start = time.process_time()
            scanned = case_file_scan.scan([path], Path(folder) / "flags")
            yield {"case": name, "tests": scanned.tests, "seconds": f"{time.process_time() - start:.1f}"}
    case_file_scan.MUCH = everything
