"""Run log: one line of the process log for each claim, start, serving, hand-in and end of a run.

A line holds ids and durations (`quarterturn.logs` formats it); of a task only the number of its serving in its run.
"""

from __future__ import annotations

import itertools
import logging
import time
from typing import Literal

log = logging.getLogger("quarterturn.runs")


def record(act: Literal["claim", "start", "serving", "hand-in", "end"], **fields: str | float | None) -> None:
    """Write the line of an act; fields without a value are left out."""
    log.info("%s", act, extra={name: value for name, value in fields.items() if value is not None})


class ServingLog:
    """Log of the servings of one run, counted from 1.

    Args:
        ids: of the run, which each line repeats.
    """

    def __init__(self, **ids: str | float) -> None:
        self._ids, self._numbers = ids, itertools.count(1)
        self._begun: dict[str, tuple[int, float]] = {}

    def begin(self, task_id: str) -> None:
        """Write that a task is served."""
        number = next(self._numbers)
        self._begun[task_id] = number, time.monotonic()
        record("serving", serving=number, **self._ids)

    def hand_in(self, task_id: str) -> None:
        """Write that what its agent left was handed in, and how long that took; not where another process began it."""
        number, begun_at = self._begun.pop(task_id, (None, None))
        seconds = None if begun_at is None else round(time.monotonic() - begun_at, 3)
        record("hand-in", serving=number, seconds=seconds, **self._ids)
