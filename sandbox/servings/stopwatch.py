"""Stopwatch for the phases of a run, on a monotonic clock that is passed in.

Durations are for the operator and for benchmarks. None is ever shown to the submitter of a private run: it would
reveal which task was long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], float]


class Meter:
    """A stopwatch with named phases; a phase that is entered twice adds up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a block under `name`, also where it raises."""
        start = self._clock()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + self._clock() - start

    @property
    def seconds(self) -> dict[str, float]:
        """Return the phases so far, in the order in which they were first entered."""
        return dict(self._seconds)
