"""Measures the echo detector on simulated benchmarks: power by what a leaker repeats, false flags, false names.

A flag is an adjusted p-value of 1 % at most. The worlds are those of `tests/rotation/detection/echo_worlds.py`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from report import Found, Table

from rotation.detection.detectors.echoes import echo
from rotation.detection.detectors.scan import judged

_SPEC = importlib.util.spec_from_file_location(
    "echo_worlds", Path(__file__).parents[1] / "tests" / "rotation" / "detection" / "echo_worlds.py"
)
assert _SPEC
assert _SPEC.loader
worlds = sys.modules[_SPEC.name] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(worlds)
HONEST = worlds.HONEST

CASES = 200
ALPHA = 0.01
LEAKS = ((0.1, 0.3), (0.2, 0.1), (0.05, 0.5))
HELD = ((3, 1, "three values, of one other's month"), (3, 0, "three values, of their own month"),
        (3, 5, "three values, of five others"), (2, 1, "two values, of one other's month"),
        (1, 1, "one value, of one other's month"))  # fmt: skip
LONGER: dict[str, dict[str, Any]] = {
    "the world of the table above": {},
    "50 submitters": {"submitters": 50},
    "lists of 64 choices": {"choices": (64, 64, 64)},
    "lists of 16 choices": {"choices": (16, 16, 16)},
    "200 stray values a month": {"stray": 200},
    "it begins in month 6": {"begins": 6, "months": 8},
}
SORTS: dict[str, dict[str, Any]] = {
    "random values": {},
    "all manners": {"manners": HONEST, "stray": 60},
    "all manners, 200 values": {"manners": HONEST, "stray": 200},
    "one scaffold": {"manners": ("scaffold",), "stray": 60},
    "favourites": {"manners": ("favourites",), "stray": 60},
    "half of a list": {"manners": ("spray",), "stray": 40},
    "habits": {"manners": ("habits",), "stray": 60},
    "short lists": {"choices": (12, 30, 64), "manners": HONEST, "stray": 60},
    "lists of many lengths": {"choices": (4, 8, 512, 1024), "manners": HONEST, "stray": 100},
    "five submitters": {"submitters": 5, "manners": HONEST, "stray": 40},
    "seven months": {"months": 7, "manners": HONEST, "stray": 60},
}


def bench(rounds: int = 0) -> Found:
    """Play everything."""
    cases = rounds or CASES
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        tables = [
            Table("Of all leaks, the share (percent) flagged by then.", POWER, [*_power(pool, cases)]),
            Table(
                "Likewise, of leakers who know 10 % and repeat three values of one other's month in 30 % of these "
                "tasks.",
                POWER,
                [*_longer(pool, cases)],
            ),
            Table(
                "Worlds of the first kind with a leaker, where the values of all others are drawn again and what was "
                "said stays.",
                REDRAWN,
                [*_redrawn(pool, max(cases // 4, 1))],
            ),
            Table("Honest worlds.", ("world", "rotations", "flagged", "tests", "named"), [*_false(pool, cases // 4)]),
        ]
    return Found("The echo detector on made-up benchmarks; see docs/reference/detection.md.", [], tables=tables)


POWER = ("case", "cases", "month 1", "month 2", "month 3", "named", "named falsely")


def _power(pool: ProcessPoolExecutor, cases: int) -> Iterator[dict[str, Any]]:
    for together, sources, held in HELD:
        for known, repeated in LEAKS:
            world = {"known": known, "repeated": repeated, "together": together, "sources": sources}
            yield _found(pool, f"knows {known:.0%}, repeats {held} in {repeated:.0%}", world, cases)


def _longer(pool: ProcessPoolExecutor, cases: int) -> Iterator[dict[str, Any]]:
    for name, changed in LONGER.items():
        yield _found(pool, name, {"known": 0.1, "repeated": 0.3} | changed, cases // 2)


def _found(pool: ProcessPoolExecutor, name: str, world: dict[str, Any], cases: int) -> dict[str, Any]:
    by_month, named, false = [0, 0, 0], 0, 0
    for found, details, source in pool.map(guilty, [world] * cases, range(cases)):
        by_month = [count + (month in found) for month, count in enumerate(by_month)]
        named += sum(detail is not None for detail in details)
        false += sum(detail not in (None, "several") and not detail.startswith(source) for detail in details)
    shares = {f"month {month}": f"{100 * count / cases:.1f}" for month, count in enumerate(by_month, start=1)}
    return {"case": name, "cases": cases} | shares | {"named": named, "named falsely": false}


def guilty(made: dict[str, Any], seed: int) -> tuple[set[int], list[str | None], tuple[str, ...]]:
    """Play a world with a leaker: the months in which they are flagged, what is named, and the true sources."""
    world = worlds.EchoWorld(**made)
    table = worlds.play(world, seed)
    found, details = set(), []
    for later in range(3):
        for result in judged(table, world.begins + later, (echo,)):
            if result.tested.subject == "s00":
                details.append(result.tested.detail)
                found |= {later} if result.holm <= ALPHA else set()
    chance = worlds.random.Random(f"agents-{seed}")
    others = chance.sample(range(1, world.submitters), world.sources) if world.sources else []
    return found, details, tuple(f"s{other:02}|" for other in others) or ("own earlier month",)


REDRAWN = ("world", "rotations", "flagged", "tests", "p of 5 %", "p of 1 %", "named")


def _redrawn(pool: ProcessPoolExecutor, cases: int) -> Iterator[dict[str, Any]]:
    for known, repeated in LEAKS:
        world = {"known": known, "repeated": repeated, "months": 3, "manners": HONEST, "stray": 60}
        counts = [sum(column) for column in zip(*pool.map(again, [world] * cases, range(cases)), strict=True)]
        yield {"world": f"knows {known:.0%}, repeats in {repeated:.0%}"} | dict(zip(REDRAWN[1:], counts, strict=True))


def again(made: dict[str, Any], seed: int) -> tuple[int, ...]:
    """Test a world with a leaker whose others' values are drawn again: rotations, flags, tests, small p, and names."""
    world = worlds.EchoWorld(**made)
    table = worlds.play(world, seed, 1)
    months = [judged(table, month, (echo,)) for month in range(2, world.months + 1)]
    flagged = sum(any(result.holm <= ALPHA for result in results) for results in months)
    tests = [result for results in months for result in results]
    small = [sum(result.p_value <= level for result in tests) for level in (0.05, 0.01)]
    return len(months), flagged, len(tests), *small, sum(result.tested.detail is not None for result in tests)


def _false(pool: ProcessPoolExecutor, cases: int) -> Iterator[dict[str, Any]]:
    total = [0] * 4
    for name, world in SORTS.items():
        counts = [sum(column) for column in zip(*pool.map(honest, [world] * cases, range(cases)), strict=True)]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        yield {"world": name} | dict(zip(("rotations", "flagged", "tests", "named"), counts, strict=True))
    yield {"world": "together"} | dict(zip(("rotations", "flagged", "tests", "named"), total, strict=True))


def honest(made: dict[str, Any], seed: int) -> tuple[int, int, int, int]:
    """Play an honest world: its rotations, those with a flag, its tests, and those that name somebody."""
    world = worlds.EchoWorld(**made)
    table = worlds.play(world, 1_000_000 + seed)
    months = [judged(table, month, (echo,)) for month in range(2, world.months + 1)]
    flagged = sum(any(result.holm <= ALPHA for result in results) for results in months)
    named = sum(result.tested.detail is not None for results in months for result in results)
    return len(months), flagged, sum(map(len, months)), named
