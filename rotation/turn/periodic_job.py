"""Periodic background job on APScheduler; what is due is decided by the called function, from the database.

A call that takes longer than the interval is never run twice at once, and missed intervals are made up for by one call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

PAUSE = 60

logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a long call is not worth a warning


class PeriodicJob:
    """Calls a function immediately, and then at a fixed interval.

    Args:
        ask: the function; it must not raise.
        seconds: the interval.
    """

    def __init__(self, ask: Callable[[], None], seconds: float = PAUSE) -> None:
        self._ask, self._seconds = ask, seconds
        self._scheduler: BackgroundScheduler | None = None

    def start(self) -> None:
        """Start the scheduler."""
        self._scheduler = BackgroundScheduler(timezone=UTC)
        self._scheduler.add_job(
            self._ask,
            "interval",
            seconds=self._seconds,
            next_run_time=datetime.now(UTC),
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )
        self._scheduler.start()

    def stop(self) -> None:
        """Stop the scheduler; waits for a call that is running."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=True)
            self._scheduler = None
