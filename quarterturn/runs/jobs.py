"""Worker job: runs one claimed submission, and records its end under that claim.

1. while it runs, a thread renews the claim; cancellation by its owner is checked once a second
2. a ledger run that an earlier attempt opened is resumed
3. only the worker that still holds the claim writes its end; a failure is recorded as a code, never as an error's text
4. a job that was lost to another worker, or given back because this one stops, is left as it is
5. while the database is unavailable nothing can be written, so nothing is decided: the job is given back once the
   database answers, or reaped, and resumed
6. a job that this machine cannot run now (no engine, a port is taken) is set aside and retried, `PATIENCE` times
7. an opened run is resumed after any other failure too, `TRIES` times in all, attempts of workers that fell silent
   included: tasks that it has not served yet count as failed when the month turns
8. a run that an earlier attempt or the turn has closed is not played again: only the record of its end was lost
9. a private run is closed on a full minute of the clock, so that its agent tells no more by when it ends
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from sqlmodel import Session

from quarterturn.errors import NotAllowed
from quarterturn.failure_codes import code_of
from quarterturn.progress import NullProgress
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.runs.request import LeaseStatus, RunControl, RunRequest
from quarterturn.submissions.store.queue import LEASE, TRIES, Claim, Queue, pause
from quarterturn.submissions.store.requests import SubmissionRecord, Submissions
from sandbox.runs.store import RunRecord, Runs, RunState
from vault.errors import Unavailable

RENEW = LEASE.total_seconds() / 3  # seconds between renewals
GRID = 60.0  # seconds between two moments at which private runs are closed
PATIENCE = 30  # attempts, two hours of them, until the submission fails with the code `machine`

log = logging.getLogger("quarterturn.worker")


class _Turned(NotAllowed):
    """The month turned before the run was opened, so it would count against another month's quota."""


class LeaseHeartbeat:
    """Heartbeat of a lease: renews the claim in a thread, and gives its status."""

    def __init__(self, submissions: Submissions, queue: Queue, claim: Claim, stopping: threading.Event) -> None:
        self._submissions, self._queue, self._claim, self._stopping = submissions, queue, claim, stopping
        self._ended = threading.Event()

    def status(self) -> LeaseStatus:
        """Say whether the job is still this worker's, and whether the worker goes on."""
        stopped, held = self._stopping.is_set(), ("running", self._claim.attempt)
        try:
            submission = self._submissions.get(self._claim.id)
        except Unavailable:
            return "stopped" if stopped else "held"  # as far as anybody can tell: whatever is written is fenced
        if submission.state == "cancelled":
            return "cancelled"
        if (submission.state, submission.attempt) != held:
            return "lost"
        return "stopped" if stopped else "held"

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the claim for as long as the block lasts."""
        thread = threading.Thread(target=self._renew, name=f"beat {self._claim.number}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(RENEW):
            with suppress(Unavailable):
                self._queue.renew(self._claim)


class RunKinds(NamedTuple):
    """How each kind of submission is run.

    Attributes:
        private: the private set.
        public: public tasks; keeps the trace.
        request: makes the request of a submission.
        settle: publishes what a run that has ended left unpublished: the disk failed, or the turn ended it.
    """

    private: PrivateRuns
    public: Callable[[RunRequest, SubmissionRecord, RunControl], None]
    request: Callable[[SubmissionRecord], RunRequest]
    settle: Callable[[SubmissionRecord], None]


class JobWorker:
    """Runs claimed submissions.

    Args:
        submissions: the submissions.
        queue: their claims.
        runs: the rows of official runs.
        kinds: how each kind of submission is run.
        now: the present moment.
    """

    def __init__(
        self, submissions: Submissions, queue: Queue, runs: Runs, kinds: RunKinds, now: Callable[[], datetime]
    ) -> None:
        self._submissions, self._queue, self._runs, self._kinds, self._now = submissions, queue, runs, kinds, now

    def work(self, claim: Claim, stopping: threading.Event) -> None:
        """Run a job and record its end."""
        submission = self._submissions.get(claim.id)
        beat = LeaseHeartbeat(self._submissions, self._queue, claim, stopping)
        code: str | None = None
        lack: Exception | None = None
        failed = False
        with beat.kept():
            try:
                code = self._play(submission, claim, beat)
            except Unavailable as error:
                lack = error
            except Exception as error:
                code = self._why(submission.id, error)
                if self._goes_on(submission, claim, code):
                    lack, failed, code = error, code != "machine", None
        if lack is None and (code is None or not stopping.is_set()):
            self._queue.finish(claim, code)
        elif lack is None or stopping.is_set():
            self._queue.give_back(claim)
        else:
            reason = str(lack) if isinstance(lack, Unavailable) else f"{code_of(lack)}; quarterturn doctor may say why"
            log.warning("%s waits; next try in %d s: %s", claim.id, pause(claim.attempt).total_seconds(), reason)
            self._queue.give_back(claim, pause(claim.attempt), failed=failed)

    def _play(self, submission: SubmissionRecord, claim: Claim, beat: LeaseHeartbeat) -> str | None:
        """Play a submission; give the code of the run that was closed, if it has one."""
        chosen = self._kinds.request(submission)
        if submission.run is not None and self._runs.get(submission.run).state is RunState.DONE:
            self._kinds.settle(submission)
        elif submission.tasks == "private":
            opened, before_close = partial(self._opened, submission, claim), partial(self._wait_for_grid, beat)
            hold = RunControl(submission.run, opened, beat.status, again=True, before_close=before_close)
            self._kinds.private.run(chosen, NullProgress(), hold)
        else:
            self._kinds.public(chosen, submission, RunControl(lease_status=beat.status))
        record = self._run(submission.id)
        return record.code if record is not None and record.state is RunState.DONE else None

    def _wait_for_grid(self, beat: LeaseHeartbeat) -> None:
        """Wait for a full minute, for as long as the job is this worker's and the worker goes on."""
        end = time.monotonic() + -self._now().timestamp() % GRID
        while (left := end - time.monotonic()) > 0 and beat.status() == "held":
            time.sleep(min(1.0, left))

    def _why(self, name: str, error: Exception) -> str | None:
        """Give the code of a failure, or None where the run was closed; a turn's end is known by the run alone."""
        record = self._run(name)
        if record is not None and record.state is RunState.DONE:
            return record.code
        aborted = record is not None and record.state is RunState.ABORTED and record.code == "turn"
        return "turn" if aborted or isinstance(error, _Turned) else code_of(error)

    def _goes_on(self, submission: SubmissionRecord, claim: Claim, code: str | None) -> bool:
        """Say whether a submission that failed with a code is tried again."""
        if code == "machine":
            return claim.attempt < PATIENCE
        record = self._run(submission.id)
        return record is not None and record.state is RunState.RUNNING and submission.failed_attempts + 1 < TRIES

    def _run(self, name: str) -> RunRecord | None:
        number = self._submissions.get(name).run
        return self._runs.get(number) if number is not None else None

    def _opened(self, submission: SubmissionRecord, claim: Claim, session: Session, run: int) -> None:
        """Write down which run a job opens, within the transaction that opens it; what this raises opens none."""
        if self._runs.get(run, session).month != submission.month:
            raise _Turned(f"submission {submission.id} is one of {submission.month}, which is over; submit it again")
        if not self._queue.opened(claim, run, session):
            raise RuntimeError("the claim was lost before the run was opened")
