"""How long each phase of a run took, by one monotonic clock that is handed in.

Durations are ours to look at and to bench. None is ever shown to whoever submitted a private run: they would tell which
task was long.
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
        """Give the phases so far, in the order in which they were first entered."""
        return dict(self._seconds)
