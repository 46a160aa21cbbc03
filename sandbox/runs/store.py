"""Store of runs: one state machine, one row a run, and results that are sealed as they come in.

    open -> queued -start-> running -finish-> done
                      |        |-----start--> running     (a worker died: the next attempt takes over)
                      '--------'-----abort--> aborted

1. Run numbers are given once, from 1, without a gap.
2. Each start raises the run's *attempt*, its fencing number. Whatever is written names the attempt that it belongs to,
   so a worker that was thought dead can write nothing any more.
3. A result is written once a task; a later attempt takes over what an earlier one had finished.
4. A run is done only when each of its tasks has a result.
5. The result of a task is sealed through the vault, and reading it is an entry in the access log.
6. What an attempt left is sealed before it is judged. Where it has no result yet, the worker that continues the run
   judges it. What the result was judged from stays sealed for the spot check of the month, up to a number of bytes a
   run (`KEPT`); nothing else is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Engine, func, update
from sqlmodel import Session, col, select

from sandbox.boxes.box import Box
from sandbox.errors import NotAllowed, NotFound, Refused
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.submission import Submission
from sandbox.runs.tables import ResultRow, RunRow
from vault.database import join_or_begin
from vault.store.tasks import Vault


class RunState(StrEnum):
    """State of a run; it is all that its owner is shown until its tasks are published."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    ABORTED = "aborted"


TRANSITIONS: Mapping[tuple[RunState, str], RunState] = {
    (RunState.QUEUED, "start"): RunState.RUNNING,
    (RunState.RUNNING, "start"): RunState.RUNNING,
    (RunState.RUNNING, "finish"): RunState.DONE,
    (RunState.QUEUED, "abort"): RunState.ABORTED,
    (RunState.RUNNING, "abort"): RunState.ABORTED,
}

KEPT = 128 * 1024 * 1024
"""How many sealed bytes of states are kept of a run after they were judged; an agent may leave 64 MiB a task."""

ENDED = frozenset({RunState.DONE, RunState.ABORTED})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Record of a run: what is known of it without opening anything sealed.

    Attributes:
        number: from 1.
        month: `2026-12`.
        track: the leaderboard track it belongs to.
        box: the box that it runs in; scores of one that is not `official` are never ranked.
        official: see `box`.
        submitter: a pseudonym.
        name: the submission's name on the leaderboard.
        kind: `image`, `command`, `endpoint` or `reference`.
        submission: its digest.
        tasks: how many tasks it must answer for.
        state: where it stands.
        attempt: its fencing number; 0 before the first start.
        code: for an aborted run the reason; for a finished one `agent-crashed` where each of its tasks ended so.
        opened_at: when it was queued.
        started_at: when its latest attempt began.
        ended_at: when it ended.
        cause: why nobody plays it now, by a code of the closed list of `sandbox.results.failure.STOPS`, or None.
    """

    number: int
    month: str
    track: str
    box: str
    official: bool
    submitter: str
    name: str
    kind: str
    submission: str
    tasks: int
    state: RunState
    attempt: int
    code: str | None
    opened_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    cause: str | None = None


class Runs:
    """The runs of one home.

    Args:
        engine: from `vault.database.open_engine`.
        vault: what seals the results.
        clock: the present moment, with its time zone.
    """

    def __init__(self, engine: Engine, vault: Vault, clock: Callable[[], datetime]) -> None:
        self._engine, self._vault, self._clock = engine, vault, clock

    def open(
        self, submission: Submission, *, month: str, track: str, tasks: int, box: Box, session: Session | None = None
    ) -> RunRecord:
        """Queue a run of `tasks` tasks.

        Raises:
            Refused: there is no task to run.
        """
        if tasks < 1:
            raise Refused(f"a run of {submission.name} has no task; activate a set first")
        with join_or_begin(self._engine, session) as own:
            last = own.exec(select(func.max(RunRow.number))).one()
            row = RunRow(
                number=(last or 0) + 1,
                month=month,
                track=track,
                box=box.name,
                official=box.official,
                submitter=submission.submitter,
                name=submission.name,
                kind=submission.kind,
                submission=submission.digest,
                tasks=tasks,
                state=RunState.QUEUED.value,
                opened_at=self._now(),
            )
            own.add(row)
            own.flush()
            return _record(row)

    def start(self, number: int, session: Session | None = None) -> RunRecord:
        """Begin an attempt: the record's `attempt` is what everything written from now on must name."""
        row = self.get(number, session)
        return self._move(row, "start", session, attempt=row.attempt + 1, started_at=self._now())

    def record(self, number: int, attempt: int, run: TaskRun, session: Session | None = None) -> None:
        """Seal what one task came to.

        Raises:
            NotAllowed: the run is not running, or another attempt has taken over.
            Refused: the task has its result already, or the run has as many as it has tasks.
        """
        blob = _result(number, run.task_id)
        with join_or_begin(self._engine, session) as own:
            row = _held(own, number, attempt)
            if own.exec(select(ResultRow).where(ResultRow.run == number, ResultRow.task == run.task_id)).first():
                raise Refused(f"run {number} has a result for task {run.task_id} already; it was left as it is")
            if len(_results(own, number)) >= row.tasks:
                raise Refused(f"run {number} was opened for {row.tasks} tasks and has all of their results")
            self._vault.seal_blob(blob, _pack(run), session=own)
            own.add(ResultRow(run=number, task=run.task_id, attempt=attempt, blob=blob))
            # What may be there though nobody judged it is of an attempt that does not count.
            if not run.judged_by or self._vault.blob_bytes(f"left/{number}/", session=own) > KEPT:
                self._vault.drop_blobs(_left(number, run.task_id), session=own)

    def seal(self, number: int, attempt: int, left: UnjudgedResult, session: Session | None = None) -> None:
        """Seal what an attempt at one task left, in the place of what an earlier one did.

        Raises:
            NotAllowed: the run is not running, or another attempt has taken over.
        """
        with join_or_begin(self._engine, session) as own:
            _held(own, number, attempt)
            self._vault.drop_blobs(_left(number, left.task_id), session=own)
            self._vault.seal_blob(f"{_left(number, left.task_id)}{attempt}", left.to_bytes(), session=own)

    def left(self, number: int) -> frozenset[str]:
        """Name the tasks of which something is sealed, whether they have a result or not; nothing is opened."""
        return frozenset(name.split("/")[2] for name in self._vault.blob_names(f"left/{number}/"))

    def open_left(self, number: int, task_id: str, *, who: str, why: str) -> UnjudgedResult:
        """Open what an attempt at one task left; an entry in the access log.

        Raises:
            NotFound: nothing is sealed of it.
        """
        (name, *_) = self._vault.blob_names(_left(number, task_id)) or [_left(number, task_id)]
        return UnjudgedResult.from_bytes(self._vault.open_blob(name, who=who, why=why))

    def drop_left(self, number: int, but: Collection[str] = ()) -> None:
        """Take out what the attempts of a run left, but of some tasks; nothing is opened."""
        dropped = sorted(self.left(number) - frozenset(but))
        with join_or_begin(self._engine, None) as own:
            for task_id in dropped:
                self._vault.drop_blobs(_left(number, task_id), session=own)

    def forget_left(self, number: int, task_id: str, session: Session) -> None:
        """Take out what an attempt at one task left that does not count: the task is served again."""
        self._vault.drop_blobs(_left(number, task_id), session=session)

    def finish(
        self, number: int, attempt: int, session: Session | None = None, *, code: str | None = None
    ) -> RunRecord:
        """End a run that has a result for each of its tasks; `code` says what all of them have in common.

        Raises:
            NotAllowed: another attempt has taken over, or results are missing.
        """
        with join_or_begin(self._engine, session) as own:
            row = _held(own, number, attempt)
            finished = len(_results(own, number))
            if finished < row.tasks:
                raise NotAllowed(f"run {number} has {finished} of {row.tasks} results; run the others, or abort it")
            return self._move(_record(row), "finish", own, code=code, ended_at=self._now())

    def abort(self, number: int, reason: str, session: Session | None = None) -> RunRecord:
        """End a run from outside, whoever holds it; what it had written stays sealed and counts for nothing."""
        with join_or_begin(self._engine, session) as own:
            self._vault.drop_blobs(f"left/{number}/", session=own)
            return self._move(self.get(number, own), "abort", own, code=reason, ended_at=self._now())

    def get(self, number: int, session: Session | None = None) -> RunRecord:
        """Return a run.

        Raises:
            NotFound: there is none.
        """
        if session is not None:
            return _record(_row_of(session, number))
        with Session(self._engine) as own:
            return _record(_row_of(own, number))

    def held(self, number: int, attempt: int) -> bool:
        """Say whether a run is still running under this very attempt; otherwise the caller must stop playing it."""
        with Session(self._engine) as own:
            row = _row_of(own, number)
            return row.state == RunState.RUNNING.value and row.attempt == attempt

    def require(self, number: int, attempt: int, session: Session) -> None:
        """Refuse a write of any attempt but the one that holds the run.

        Raises:
            NotAllowed: the run is not running, or another attempt has taken over.
        """
        _held(session, number, attempt)

    def note(self, number: int, cause: str | None, session: Session) -> None:
        """Record why a run that was not ended is not being played."""
        _row_of(session, number).cause = cause

    def list(self, *, month: str | None = None, state: RunState | str | None = None) -> tuple[RunRecord, ...]:
        """List runs in the order of their numbers."""
        query = select(RunRow).order_by(col(RunRow.number))
        if month is not None:
            query = query.where(RunRow.month == month)
        if state is not None:
            query = query.where(RunRow.state == RunState(state).value)
        with Session(self._engine) as own:
            return tuple(_record(row) for row in own.exec(query).all())

    def finished(self, number: int, session: Session | None = None) -> frozenset[str]:
        """Say which tasks have a result; nothing is opened."""
        with nullcontext(session) if session else Session(self._engine) as own:
            return frozenset(row.task for row in _results(own, number))

    def results(self, number: int, *, who: str, why: str) -> tuple[TaskRun, ...]:
        """Open what the tasks came to, in the order of their ids; each opening is an entry in the access log.

        Raises:
            NotFound: there is no such run.
        """
        self.get(number)
        with Session(self._engine) as own:
            blobs = [row.blob for row in _results(own, number)]
        opened = (self._vault.open_blob(blob, who=who, why=why) for blob in blobs)
        return tuple(TaskRun.from_json(json.loads(data)) for data in opened)

    def result(self, number: int, task_id: str, *, who: str, why: str) -> TaskRun:
        """Open what one task came to; an entry in the access log.

        Raises:
            NotFound: there is no such result.
        """
        return TaskRun.from_json(json.loads(self._vault.open_blob(_result(number, task_id), who=who, why=why)))

    def players(self, number: int, *, who: str, why: str) -> dict[str, tuple[str, ...]]:
        """Return who played each attempt at each finished task, the one that counts last, by what is sealed.

        All together are one entry in the access log.
        """
        opened = self._vault.open_blobs(_result(number, ""), who=who, why=why)
        results = {task_id: TaskRun.from_json(json.loads(data)) for task_id, data in opened.items()}
        return {
            task_id: tuple(attempt.played_by for attempt in (*result.earlier, result))
            for task_id, result in results.items()
        }

    def _move(self, before: RunRecord, event: str, session: Session | None, **changes: Any) -> RunRecord:
        """Move along the table by compare-and-swap."""
        after = TRANSITIONS.get((before.state, event))
        if after is None:
            raise NotAllowed(f"run {before.number} is {before.state} and cannot {event}")
        change = update(RunRow).where(
            col(RunRow.number) == before.number,
            col(RunRow.state) == before.state.value,
            col(RunRow.attempt) == before.attempt,
        )
        with join_or_begin(self._engine, session) as own:
            if own.exec(change.values(state=after.value, **changes)).rowcount != 1:
                raise NotAllowed(f"run {before.number} was {before.state} and is no longer; look at it again")
            row = _row_of(own, before.number)
            own.refresh(row)
            return _record(row)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _result(number: int, task_id: str) -> str:
    return f"run/{number}/{task_id}"


def _left(number: int, task_id: str) -> str:
    return f"left/{number}/{task_id}/"


def _pack(run: TaskRun) -> bytes:
    """Write a result as JSON. Not as canonical JSON, which has no form for all that an agent may send."""
    return json.dumps(run.to_sealed_json()).encode("ascii")


def _row_of(session: Session, number: int) -> RunRow:
    row = session.get(RunRow, number)
    if row is None:
        raise NotFound(f"there is no run {number}; list them with `quarterturn leaderboard`")
    return row


def _held(session: Session, number: int, attempt: int) -> RunRow:
    """Return the row of a run that runs under this very attempt."""
    row = _row_of(session, number)
    if row.state != RunState.RUNNING.value:
        raise NotAllowed(f"run {number} is {row.state}: nothing more is written to it")
    if row.attempt != attempt:
        raise NotAllowed(f"run {number} is at attempt {row.attempt}; attempt {attempt} was given up")
    return row


def _results(session: Session, number: int) -> list[ResultRow]:
    return list(session.exec(select(ResultRow).where(ResultRow.run == number).order_by(col(ResultRow.task))).all())


def _record(row: RunRow) -> RunRecord:
    columns = {name: getattr(row, name) for name in RunRecord.__dataclass_fields__}
    return RunRecord(**columns | {"state": RunState(row.state)})
