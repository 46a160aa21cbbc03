"""Journal of a run: what is recorded of it, and asked about it, while a set of tasks is played.

`RunJournal` keeps nothing; that of a run which is bound to the public log is `rotation.runs.run_tasks.OfficialJournal`.
"""

from __future__ import annotations

import threading

from sandbox.results.failure import RETRIES
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult


class RunJournal:
    """Journal of a run that nobody keeps; whatever a method raises ends the whole set.

    All but `record_outcome` and `is_ended` are called in the thread that plays the task.
    """

    def __init__(self) -> None:
        self._retries = threading.Semaphore(RETRIES)

    def record_serving(self, task_id: str, handle: str) -> None:
        """Record that a task is served, under this handle; called right before its agent is let go."""

    def allow_retry(self, task_id: str, cause: str) -> bool:  # noqa: ARG002 - here all tasks and causes are alike
        """Say whether a task may be served again after a failure of ours, by its code: `RETRIES` times in all."""
        return self._retries.acquire(blocking=False)

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Keep what an attempt left, before anything of it is read or judged."""

    def record_outcome(self, run: TaskRun) -> None:
        """Record what a task came to; called in the thread that plays the set, in the order in which tasks end."""

    def is_ended(self) -> bool:
        """Say whether the run was ended from outside; asked once a second in the thread that plays the set."""
        return False


class MemoryJournal(RunJournal):
    """Journal that keeps in memory what the last attempt left, or None."""

    left: UnjudgedResult | None = None

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Keep what an attempt left."""
        self.left = left
