"""Submission service: everything that submitters can ask for, and everything that they are told.

Of a private run they see its state, its place in the queue, one code if it failed, and its figures as
`quarterturn.leaderboard.disclosure` discloses them; not its progress, its duration, or its result on any task. A
private task's result comes with the task's retirement, and the dev set's at once.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal

from sqlmodel import Session

from quarterturn.app import Application
from quarterturn.errors import NotAllowed, NotFound, Refused
from quarterturn.leaderboard import disclosure
from quarterturn.runs import running
from quarterturn.submissions.codes import CODES
from quarterturn.submissions.requests import Quota, SubmissionRecord, SubmissionRequest
from quarterturn.submissions.tables import TraceRow
from rotation.calendar import Month
from rotation.errors import NotAllowed as NotLive
from sandbox.runs.store import RunState
from vault.database import transaction
from vault.errors import Unavailable
from vault.task.lifecycle import TaskState

_PINNED = re.compile(r"(?:[^@]+@)?sha256:[0-9a-f]{64}", re.ASCII)
Enqueue = Callable[[Session, int], None]


def month(house: Application) -> str:
    """Give the live month, or the calendar month where none is live: runs of the dev set need no live month."""
    try:
        return str(house.official.month())
    except NotLive:
        return str(Month.of(house.now()))


def submit(
    house: Application, account: str, wish: SubmissionRequest, *, idempotency_key: str | None, enqueue: Enqueue
) -> tuple[SubmissionRecord, bool]:
    """Accept a submission, and say whether it is new or was made before under the same idempotency key.

    Raises:
        NotLive: it is private, and nothing is live.
        Refused: the image may be somebody else's.
        NotFound: the settings have no such model.
        OverQuota, NotAllowed: as for `Submissions.take`.
    """
    if wish.image is not None and not may_name(house.settings.service.images, account, wish.image):
        raise Refused("an image is named by its digest, or begins as the setting service.images says")
    if wish.model is not None and wish.model not in house.settings.models:
        raise NotFound(f"the settings allow no model '{wish.model}'")
    live = str(house.official.month()) if wish.tasks == "private" else month(house)
    return house.submissions.take(account, wish, month=live, idempotency_key=idempotency_key, enqueue=enqueue)


def cancel(house: Application, name: str, account: str) -> SubmissionRecord:
    """Cancel a submission. The worker that plays its run ends the run; where none does, it is ended here.

    Raises:
        NotFound, NotAllowed: as for `Submissions.cancel`.
    """
    waits = house.submissions.get(name, account).state == "queued"
    cancelled = house.submissions.cancel(name, account)
    if waits and cancelled.run is not None:
        with suppress(Unavailable):  # then the turn ends it
            running.taken_back(house, cancelled.run)
    return house.submissions.get(name, account)


def may_name(prefixes: Sequence[str], account: str, image: str) -> bool:
    """Say whether an account may name an image. Names of other people's images can be guessed, digests cannot."""
    own_prefixes = tuple(prefix.replace("{account}", account) for prefix in prefixes)
    return image.startswith(own_prefixes) or _PINNED.fullmatch(image) is not None


def line(house: Application, submissions: Sequence[SubmissionRecord]) -> list[int]:
    """Give the order of the queue, or nothing where none of these submissions waits."""
    return house.queue.waiting() if any(submission.state == "queued" for submission in submissions) else []


def owner_view(house: Application, submission: SubmissionRecord, waiting: list[int] | None = None) -> dict[str, Any]:
    """Give a submission as its owner may see it now; `waiting` is the order of the queue, if it is known already."""
    waiting = waiting if waiting is not None else line(house, [submission])
    code = CODES[submission.code] if submission.code else None
    private = (
        submission.tasks == "private" and submission.run is not None
    )  # and nothing is told of it before it was scored
    return {
        "id": submission.id,
        "set": submission.tasks,
        "kind": submission.kind,
        "model": submission.model,
        "counts": submission.designated,
        "month": submission.month,
        "state": submission.state,
        "place": waiting.index(submission.number) if submission.number in waiting else None,
        "failure": {"code": submission.code, "hint": code.hint, "ours": code.ours} if code else None,
        "charged": submission.charged,
        "run": submission.run,
        "figures": disclosure.figures(house, submission.run) if private and submission.run is not None else None,
        "created_at": submission.created_at.isoformat(),
    }


def waits(house: Application, submission: SubmissionRecord) -> Literal["next", "before", "own", "again"] | None:
    """Say why a submission waits, or None where it does not.

    The causes: no free worker, others before it, another run of its party, or a retry after a failure of ours.
    """
    line, party = house.queue.waiting(), house.accounts.party(submission.account)
    if submission.number not in line:
        return None
    if submission.not_before is not None and submission.not_before > house.now():
        return "again"
    running = sum(other.state == "running" and other.account in party for other in house.submissions.unfinished())
    if running >= house.settings.service.at_once:
        return "own"
    return "before" if line.index(submission.number) else "next"


def quotas(house: Application, account: str) -> dict[str, Any]:
    """Give the use and the rest of each quota."""
    return {name: _quota(quota) for name, quota in house.submissions.quotas(account, month(house)).items()}


def _quota(quota: Quota) -> dict[str, Any]:
    return asdict(quota) | {"left": quota.left, "until": quota.until.isoformat() if quota.until else None}


# -- traces -----------------------------------------------------------------------------------------------------------


def keep_trace(house: Application, name: str, trace: Any) -> None:
    """Store a submission's trace on public tasks; whether it is published does not change."""
    body = zlib.compress(json.dumps(trace).encode())
    with transaction(house.engine) as session:
        row = session.get(TraceRow, name) or TraceRow(submission=name, body=body)
        row.body = body
        session.add(row)


def published_run(house: Application, name: str) -> dict[str, Any] | None:
    """Give a run that its owner has published; None for any other, whether it exists or not."""
    with Session(house.engine) as session:
        row = session.get(TraceRow, name)
        if row is None or row.published_at is None:
            return None
        trace = json.loads(zlib.decompress(row.body))
    return {"id": name, "set": house.submissions.get(name).tasks, "public": True, "trace": trace}


def own_run(house: Application, name: str, account: str) -> dict[str, Any]:
    """Give a run to its owner, as far as its tasks are public.

    Raises:
        NotFound: it is not theirs, or nothing of it can be shown yet.
    """
    submission = house.submissions.get(name, account)
    if submission.tasks == "private":
        _open_retired(house, submission)
    with Session(house.engine) as session:
        row = session.get(TraceRow, name)
        if row is None:
            raise NotFound("nothing of this run can be shown yet")
        public, trace = row.published_at is not None, json.loads(zlib.decompress(row.body))
    return {"id": name, "set": submission.tasks, "public": public, "trace": trace}


def publish(house: Application, name: str, account: str, *, public: bool) -> dict[str, Any]:
    """Publish a run's trace, or make it visible to its owner alone again.

    Raises:
        NotFound: it is not theirs.
        NotAllowed: nothing of it can be shown yet.
    """
    house.submissions.get(name, account)
    try:
        own = own_run(house, name, account)
    except NotFound:
        raise NotAllowed("nothing of this run can be shown yet") from None
    with transaction(house.engine) as session:
        session.get_one(TraceRow, name).published_at = house.now() if public else None
    return own | {"public": public}


def _open_retired(house: Application, submission: SubmissionRecord) -> None:
    """Add to a private run's trace its results on tasks that have been published since."""
    if submission.run is None or house.runs.get(submission.run).state is not RunState.DONE:
        return
    released = {cohort.id for cohort in house.months.cohorts("published")}
    withdrawn = {task.task for task in house.withdrawals.listed() if task.cohort in released}
    played = house.runs.finished(submission.run)
    retired = [t for t in played if t in withdrawn or house.vault.record(t).state is TaskState.PUBLISHED]
    with Session(house.engine) as session:
        row = session.get(TraceRow, submission.id)
        known = json.loads(zlib.decompress(row.body))["tasks"] if row else []
    if len(known) == len(retired):
        return
    why = f"trace of retired tasks for the submitter of run {submission.run}"
    blobs = (
        house.vault.open_blob(f"run/{submission.run}/{task}", who=submission.account, why=why)
        for task in sorted(retired)
    )
    keep_trace(house, submission.id, {"tasks": [{"run": json.loads(blob)} for blob in blobs]})
