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
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from sqlmodel import Session

from quarterturn.app import Application
from quarterturn.errors import NotAllowed
from quarterturn.leaderboard import disclosure, public_view
from quarterturn.runs import running, submission_service
from quarterturn.runs.hosted_endpoint import Hosting
from quarterturn.runs.running import LeaseStatus, RunControl, RunRequest
from quarterturn.submissions.codes import code_of
from quarterturn.submissions.queue import LEASE, TRIES, Claim, pause
from quarterturn.submissions.requests import SubmissionRecord
from sandbox.runs.store import RunRecord, RunState
from vault.errors import Unavailable

RENEW = LEASE.total_seconds() / 3  # seconds between renewals
PATIENCE = 30  # attempts, two hours of them, until the submission fails with the code `machine`

log = logging.getLogger("quarterturn.worker")


class _Turned(NotAllowed):
    """The month turned before the run was opened, so it would count against another month's quota."""


class LeaseHeartbeat:
    """Heartbeat of a lease: renews the claim in a thread, and gives its status."""

    def __init__(self, house: Application, claim: Claim, stopping: threading.Event) -> None:
        self._house, self._claim, self._stopping = house, claim, stopping
        self._ended = threading.Event()

    def status(self) -> LeaseStatus:
        """Say whether the job is still this worker's, and whether the worker goes on."""
        stopped, held = self._stopping.is_set(), ("running", self._claim.attempt)
        try:
            submission = self._house.submissions.get(self._claim.id)
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
                self._house.queue.renew(self._claim)


class NullProgress:
    """Discards progress: how far a submission is must not be disclosed."""

    def say(self, text: str) -> None:
        """Swallow it."""

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG002
        """Swallow it."""
        return nullcontext(lambda _steps: None)


def work(house: Application, claim: Claim, stopping: threading.Event) -> None:
    """Run a job and record its end."""
    submission, beat = house.submissions.get(claim.id), LeaseHeartbeat(house, claim, stopping)
    code: str | None = None
    lack: Exception | None = None
    failed = False
    with beat.kept():
        try:
            _play(house, submission, claim, beat)
        except Unavailable as error:
            lack = error
        except Exception as error:
            code = _why(house, submission.id, error)
            if _goes_on(house, submission, claim, code):
                lack, failed, code = error, code != "machine", None
    if lack is None and (code is None or not stopping.is_set()):
        house.queue.finish(claim, code)
    elif lack is None or stopping.is_set():
        house.queue.give_back(claim)
    else:
        reason = str(lack) if isinstance(lack, Unavailable) else f"{code_of(lack)}; quarterturn doctor may say why"
        log.warning("%s waits; next try in %d s: %s", claim.id, pause(claim.attempt).total_seconds(), reason)
        house.queue.give_back(claim, pause(claim.attempt), failed=failed)


def _play(house: Application, submission: SubmissionRecord, claim: Claim, beat: LeaseHeartbeat) -> None:
    chosen = _choice(house, submission)
    if submission.run is not None and house.runs.get(submission.run).state is RunState.DONE:
        house.ledger.publish()  # what closed it may not have been, if the disk failed or too few witnesses were there
        disclosure.figures(house, submission.run)
        public_view.after(house)
        return
    if submission.tasks == "private":
        hold = RunControl(
            submission.run, lambda own, run: _opened(house, submission, claim, own, run), beat.status, again=True
        )
        running.private(house, chosen, NullProgress(), hold)
        return
    hold, first = RunControl(lease_status=beat.status), 1 if submission.tasks == "check" else None
    with house.models.gateway(submission.model, "dev") as model:
        report = running.dev(chosen, NullProgress(), lambda: house.sender, model, house.spec, first=first, hold=hold)
    trace: dict[str, Any] = report.data
    submission_service.keep_trace(house, submission.id, trace)


def _choice(house: Application, submission: SubmissionRecord) -> RunRequest:
    service = house.settings.service
    hosting = Hosting(submission.reference, service.callbacks, service.callbacks_url or None)
    return RunRequest(
        image=submission.reference if submission.kind == "image" else None,
        agent=None,
        submitter=submission.account,
        box=None if submission.kind == "image" else house.settings.run.box,
        hosting=hosting if submission.kind == "endpoint" else None,
        model=submission.model,
    )


def _why(house: Application, name: str, error: Exception) -> str | None:
    """Give the code of a failure, or None where the run was closed; a turn's end is known by the run alone."""
    record = _run(house, name)
    if record is not None and record.state is RunState.DONE:
        return None
    aborted = record is not None and record.state is RunState.ABORTED and record.code == "turn"
    return "turn" if aborted or isinstance(error, _Turned) else code_of(error)


def _goes_on(house: Application, submission: SubmissionRecord, claim: Claim, code: str | None) -> bool:
    """Say whether a submission that failed with a code is tried again."""
    if code == "machine":
        return claim.attempt < PATIENCE
    record = _run(house, submission.id)
    return record is not None and record.state is RunState.RUNNING and submission.failed_attempts + 1 < TRIES


def _run(house: Application, name: str) -> RunRecord | None:
    number = house.submissions.get(name).run
    return house.runs.get(number) if number is not None else None


def _opened(house: Application, submission: SubmissionRecord, claim: Claim, session: Session, run: int) -> None:
    """Write down which run a job opens, within the transaction that opens it; what this raises opens none."""
    if house.runs.get(run, session).month != submission.month:
        raise _Turned(f"submission {submission.id} is one of {submission.month}, which is over; submit it again")
    if not house.queue.opened(claim, run, session):
        raise RuntimeError("the claim was lost before the run was opened")
