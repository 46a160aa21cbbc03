"""The embedded executor: threads of this process that take jobs from the database.

The row is the job, so enqueueing is nothing but waking up whoever waits, once the row is committed. Another process on
the same home may work beside it; the claims keep them apart.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import traceback
from collections.abc import Callable

from sqlalchemy import event
from sqlmodel import Session

from quarterturn import jobs
from quarterturn.queue import Claim
from quarterturn.wiring import House

POLL, REAP = 1.0, 15  # seconds between looks; looks between reaps
Work = Callable[[House, Claim, threading.Event], None]

log = logging.getLogger("quarterturn.worker")


class Embedded:
    """Works on the jobs of one home in this process (`quarterturn.queue.Executor`).

    Args:
        house: the home, open and unlocked; its stores are used by all threads.
        workers: how many jobs are worked on at a time; none, where others work and this process only takes jobs in.
        work: plays one job and ends it.
    """

    def __init__(self, house: House, workers: int = 1, work: Work = jobs.work) -> None:
        self._house, self._work, self._count = house, work, workers
        self._name = f"{socket.gethostname()[:60]}:{os.getpid()}"
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def enqueue(self, session: Session, number: int) -> None:  # noqa: ARG002 - the row says it all
        """Wake a worker once the row is there."""
        event.listen(session, "after_commit", lambda _: self._wake.set(), once=True)

    def start(self) -> None:
        """Begin to work."""
        self._stopping.clear()
        self._threads = [
            threading.Thread(target=self._loop, args=(place,), name=f"worker {place}") for place in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take no more jobs; what is being played is given back, and its run is gone on with later."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()

    def _loop(self, place: int) -> None:
        looks = 0
        while not self._stopping.is_set():
            try:
                if place == 0 and looks % REAP == 0:
                    self._house.queue.reap()
                claim = self._house.queue.claim(f"{self._name}/{place}")
                if claim is not None:
                    self._work(self._house, claim, self._stopping)
                    continue
            except Exception as error:  # a worker that ends would leave all that comes after it waiting
                last = traceback.extract_tb(error.__traceback__)[-1]
                log.error("%s in %s (%s)", type(error).__name__, last.name, last.filename.rpartition("/")[2])  # noqa: TRY400 - its words may quote a task
            looks += 1
            self._wake.wait(POLL)
            self._wake.clear()
