"""The alarm clock: asks again and again, and decides nothing.

APScheduler wakes a thread; whatever is asked looks at the rows, which alone know what is due. A question that takes
longer than the pause is not asked a second time beside itself, and pauses that were slept through are made up for once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

PAUSE = 60

logging.getLogger("apscheduler").setLevel(logging.ERROR)  # that a question takes long is no news


class Alarm:
    """Asks at once, and then once in a pause.

    Args:
        ask: what is asked; it raises nothing.
        seconds: the pause.
    """

    def __init__(self, ask: Callable[[], None], seconds: float = PAUSE) -> None:
        self._ask, self._seconds = ask, seconds
        self._scheduler: BackgroundScheduler | None = None

    def start(self) -> None:
        """Begin to ask."""
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
        """Ask no more; waits for an answer in the making."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=True)
            self._scheduler = None
