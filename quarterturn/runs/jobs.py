"""Worker: threads that claim submissions from the database, run each, and record its end under its claim.

1. while it runs, a thread renews the claim; cancellation by its owner is checked once a second
2. a ledger run that an earlier attempt opened is resumed
3. only the worker that still holds the claim writes its end; a failure is recorded as a code, never as an error's text
4. a job that was lost to another worker, or given back because this one stops, is left as it is
5. while the database is unavailable nothing can be written, so nothing is decided: why the run stopped is written once
   the database answers, and the job is given back, or reaped, and resumed; tasks in play are then served again
6. a job that this machine cannot run now (no engine, a port is taken) is set aside and tried again,
   up to `MAX_MACHINE_ATTEMPTS` in all
7. an opened run is resumed after any other failure too, `TRIES` times in all, attempts of workers that fell silent
   included: tasks that it has not served yet count as failed when the month turns
8. a run that an earlier attempt or the turn has closed is not played again: only the record of its end was lost
9. the row is the job: other processes on the same database work beside this one, and the claims keep them apart
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from quarterturn.choices import WorkerClass
from quarterturn.errors import MonthTurned
from quarterturn.failure_codes import code_of
from quarterturn.progress import NullProgress
from quarterturn.retry_loop import RetryLoop
from quarterturn.runs.dev_runs import PublicRuns
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.runs.request import RunRequest
from quarterturn.runs.run_log import record
from quarterturn.settings import Settings
from quarterturn.submissions.store.queue import TRIES, Claim, Lease, Queue, Reaper, pause
from quarterturn.submissions.store.requests import SubmissionRecord, Submissions
from quarterturn.submissions.traces import TraceRelease
from sandbox.runs.store import RunRecord, Runs, RunState
from vault.errors import Unavailable

MAX_MACHINE_ATTEMPTS = 30  # two hours of them, until the submission fails with the code `machine`

POLL_SECONDS, REAP_SECONDS = 1.0, 15.0  # between two looks for a job, and for expired leases
Work = Callable[[Claim, threading.Event], None]

log = logging.getLogger("quarterturn.worker")


class JobWorker:
    """Runs claimed submissions.

    Args:
        submissions: the submissions.
        queue: their claims.
        runs: the rows of official runs.
        settings: where endpoints call back, and the box of their runs.
        private: runs the private set.
        public: runs public tasks.
        traces: adds to the trace of a run that has ended the tasks that retired meanwhile.
    """

    def __init__(
        self,
        submissions: Submissions,
        queue: Queue,
        runs: Runs,
        *,
        settings: Settings,
        private: PrivateRuns,
        public: PublicRuns,
        traces: TraceRelease,
    ) -> None:
        self._submissions, self._queue, self._runs, self._settings = submissions, queue, runs, settings
        self._private, self._public, self._traces = private, public, traces

    def work(self, claim: Claim, stopping: threading.Event) -> None:
        """Run a job and record its end."""
        submission = self._submissions.get(claim.id)
        lease = Lease(self._queue, claim, stopping)
        waited, begun_at = self._queue.now() - submission.created_at, time.monotonic()
        ids: dict[str, Any] = {"submission": claim.id, "attempt": claim.attempt}
        record("claim", waited_seconds=round(waited.total_seconds(), 3), **ids)
        code: str | None = None
        lack: Exception | None = None
        failed = False
        with lease.kept():
            try:
                code = self._play(submission, lease)
            except Unavailable as error:
                lack = error
            except Exception as error:
                code = self._why(submission.id, error)
                if self._goes_on(submission, claim, code):
                    lack, failed, code = error, code != "machine", None
        outcome = (code or "done") if lack is None else "again"
        record("end", outcome=outcome, seconds=round(time.monotonic() - begun_at, 3), **ids)
        if lack is None and (code is None or not stopping.is_set()):
            lease.outlast(partial(self._queue.finish, claim, code))
        elif lack is None or stopping.is_set():
            lease.outlast(partial(self._queue.give_back, claim))
        else:
            reason = str(lack) if isinstance(lack, Unavailable) else f"{code_of(lack)}; quarterturn doctor may say why"
            log.warning("%s waits; next try in %d s: %s", claim.id, pause(claim.attempt).total_seconds(), reason)
            lease.outlast(partial(self._queue.give_back, claim, pause(claim.attempt), failed=failed))

    def _play(self, submission: SubmissionRecord, lease: Lease) -> str | None:
        """Play a submission; give the code of the run that was closed, if it has one."""
        chosen = RunRequest.of(submission, self._settings)
        if submission.run is not None and self._runs.get(submission.run).state is RunState.DONE:
            self._private.settle()
            self._traces.release_all(submission)
        elif submission.tasks == "private":
            self._private.run(chosen, NullProgress(), submission.run, lease)
        else:
            self._public.run(chosen, submission, lease)
        record = self._run(submission.id)
        return record.code if record is not None and record.state is RunState.DONE else None

    def _why(self, name: str, error: Exception) -> str | None:
        """Return the code of a failure, or None where the run was closed; a turn's end is known by the run alone."""
        record = self._run(name)
        if record is not None and record.state is RunState.DONE:
            return record.code
        aborted = record is not None and record.state is RunState.ABORTED and record.code == "turn"
        return "turn" if aborted or isinstance(error, MonthTurned) else code_of(error)

    def _goes_on(self, submission: SubmissionRecord, claim: Claim, code: str | None) -> bool:
        """Say whether a submission that failed with a code is tried again."""
        if code == "machine":
            return claim.attempt < MAX_MACHINE_ATTEMPTS
        record = self._run(submission.id)
        return record is not None and record.state is RunState.RUNNING and submission.failed_attempts + 1 < TRIES

    def _run(self, name: str) -> RunRecord | None:
        number = self._submissions.get(name).run
        return self._runs.get(number) if number is not None else None


class WorkerThreads:
    """Threads of one process that claim jobs and work on them (`quarterturn.submissions.store.queue.Executor`).

    One thread at a time looks for a job, and the next one looks once it has found it: how often the database is asked
    does not depend on how many threads wait.

    Args:
        queue: the jobs of the home.
        work: runs one job and records its end; called by all threads.
        workers: how many jobs are worked on at a time; none, where others work and this process only takes jobs in.
        only: the class of runs that are worked on here; all of them by default.
    """

    def __init__(self, queue: Queue, work: Work, workers: int = 1, only: WorkerClass | None = None) -> None:
        self._queue, self._work, self._count, self._only = queue, work, workers, only
        self._reaper, self._looking = Reaper(queue), threading.Lock()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        """Look for a job now."""
        self._wake.set()

    def start(self) -> None:
        """Begin to work."""
        self._stopping.clear()
        loop = RetryLoop(self._stopping)
        steps = [("reaper", self._reap), *((f"worker {place}", self._claim_and_work) for place in range(self._count))]
        self._threads = [
            threading.Thread(target=loop.make, args=(step,), name=name) for name, step in steps if self._count
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Claim no more jobs; a job that is being played is given back, and its run is resumed later."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()

    def _reap(self) -> None:
        self._reaper.reap()
        self._stopping.wait(REAP_SECONDS)

    def _claim_and_work(self) -> None:
        with self._looking:
            claim = self._wait_for_claim()
        if claim is not None:
            self._work(claim, self._stopping)

    def _wait_for_claim(self) -> Claim | None:
        while not self._stopping.is_set():
            if claim := self._queue.claim(f"{process_name()}/{threading.get_ident()}", self._only):
                return claim
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
        return None


def process_name() -> str:
    """Return the name of this process as a worker: host and process id."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}"
