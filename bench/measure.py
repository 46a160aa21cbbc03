"""Ratios of two functions that are measured in turns, side by side, in one run.

A time alone says more about the machine than about the code, so none stands alone here. What is measured and its floor
take turns, ours, floor, ours, floor, and each turn gives one ratio; a machine that is slow for a while is slow for
both. Of the ratios the median is shown with the smallest and the largest.

A *side* is a callable that does its work once and gives the seconds for one unit of it. `timed` makes one of a plain
function, and repeats it as often as it takes to be longer than the clock's grain. One round is played before the first
that counts: it pays for imports and cold caches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Clock = Callable[[], float]
Side = Callable[[], float]

SLICE = 0.02  # seconds that a side lasts at least
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Times of the rounds, in seconds for one unit; `ours[n]` was measured right before `floor[n]`."""

    ours: tuple[float, ...]
    floor: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.ours or len(self.ours) != len(self.floor):
            raise ValueError(f"rounds come in pairs, not {len(self.ours)} and {len(self.floor)}")

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return one ratio a round: ours divided by the floor."""
        return tuple(ours / floor for ours, floor in zip(self.ours, self.floor, strict=True))

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return len(self.ours)

    @property
    def median(self) -> float:
        """The median of the ratios (and not the ratio of the medians)."""
        return statistics.median(self.ratios)

    @property
    def low(self) -> float:
        """The smallest ratio."""
        return min(self.ratios)

    @property
    def high(self) -> float:
        """The largest ratio."""
        return max(self.ratios)

    @property
    def rate(self) -> float:
        """Units of our work in a second, by the median of our times."""
        return 1 / statistics.median(self.ours)


def interleave(ours: Side, floor: Side, rounds: int) -> Comparison:
    """Measure the two in turns, after one round that does not count."""
    ours(), floor()
    pairs = [(ours(), floor()) for _ in range(rounds)]
    return Comparison(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


def compare(
    ours: Callable[[], Any], floor: Callable[[], Any], rounds: int, clock: Clock = time.perf_counter
) -> Comparison:
    """Compare two plain functions, each repeated as often as it needs."""
    return interleave(timed(ours, clock=clock), timed(floor, clock=clock), rounds)


def timed(function: Callable[[], Any], *, units: int = 1, clock: Clock = time.perf_counter) -> Side:
    """Make a side of a comparison from a function that does `units` units of work in one call."""
    times = repetitions(function, clock)

    def side() -> float:
        start = clock()
        for _ in range(times):
            function()
        return (clock() - start) / (times * units)

    return side


def repetitions(function: Callable[[], Any], clock: Clock = time.perf_counter) -> int:
    """Return how often a function must be called to last SLICE seconds; a power of two."""
    times = 1
    while times < MOST:
        start = clock()
        for _ in range(times):
            function()
        if clock() - start >= SLICE:
            break
        times *= 2
    return times
