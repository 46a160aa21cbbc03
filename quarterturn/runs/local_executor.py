"""Local executor: worker threads of this process that claim jobs from the database.

The row is the job, so enqueueing only wakes a waiting worker once the row is committed. Another process on the same
home may work beside it; the claims keep them apart.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from functools import partial

from sqlalchemy import event
from sqlmodel import Session

from quarterturn.choices import WorkerClass
from quarterturn.retry_loop import RetryLoop
from quarterturn.submissions.store.queue import Claim, Queue

POLL, REAP = 1.0, 15.0  # seconds between looks, and between reaps
Work = Callable[[Claim, threading.Event], None]


class LocalExecutor:
    """Works on the jobs of one home in this process (`quarterturn.submissions.store.queue.Executor`).

    Args:
        queue: the jobs of the home.
        work: runs one job and records its end; called by all threads.
        workers: how many jobs are worked on at a time; none, where others work and this process only takes jobs in.
        only: the class of runs that are worked on here; all of them by default.
    """

    def __init__(self, queue: Queue, work: Work, workers: int = 1, only: WorkerClass | None = None) -> None:
        self._queue, self._work, self._count, self._only = queue, work, workers, only
        self._name, self._reap_at = named(), 0.0
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def enqueue(self, session: Session, number: int) -> None:  # noqa: ARG002 - the row says it all
        """Wake a worker once the row is there."""
        event.listen(session, "after_commit", lambda _: self._wake.set(), once=True)

    def start(self) -> None:
        """Begin to work."""
        self._stopping.clear()
        steady = RetryLoop(self._stopping)
        self._threads = [
            threading.Thread(target=steady.make, args=(partial(self._look, place),), name=f"worker {place}")
            for place in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Claim no more jobs; a job that is being played is given back, and its run is resumed later."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()

    def _look(self, place: int) -> None:
        """Work until nothing may be taken, then wait to be woken, or a moment."""
        if place == 0 and time.monotonic() >= self._reap_at:
            self._reap_at = time.monotonic() + REAP
            self._queue.reap()
        take(self._queue, f"{self._name}/{place}", self._work, self._stopping, self._only)
        self._wake.wait(POLL)
        self._wake.clear()


def take(queue: Queue, worker: str, work: Work, stopping: threading.Event, only: WorkerClass | None = None) -> None:
    """Claim jobs (of a class) and run them, until none may be claimed or this worker stops."""
    while not stopping.is_set() and (claim := queue.claim(worker, only)) is not None:
        work(claim, stopping)


def named() -> str:
    """Give the name of this process as a worker: host and process id."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}"
