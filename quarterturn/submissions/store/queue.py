"""Job queue: rows of submissions, their claims and their leases.

1. A claim raises the row's *attempt*, a fencing number. Whatever a worker writes afterwards names its attempt, in one
   `UPDATE … WHERE attempt = ?`: of two workers that both believe they hold a job, one writes nothing.
2. A claim is a lease. Its worker renews it; where it does not, `reap` puts the row back, without any lock on the queue.
3. A job that died under `TRIES` workers is given up. A job that could not start for a reason of ours is set aside,
   longer each time (`pause`), and does not block others meanwhile.
4. It is fair between parties: the job with the fewest jobs of its own party before it comes first. Of one party's
   private jobs those designated to count come first, and the others wait until they have ended.
5. A worker may be of one class, and then claims only runs of that class (`sandbox.isolation.run_classes`): runs without
   an exit share no machine with runs that have one. A running job counts in its party's backlog whatever its class; a
   job that waits for a worker of the other class blocks nobody.
6. An executor carries numbers of rows and nothing else; the row is the truth.

The local executor uses this database alone: a job exists once its transaction is committed. On PostgreSQL, workers on
other machines are notified (`quarterturn.runs.postgres_executor`), within the caller's transaction.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from sqlalchemy import ColumnElement, Engine, and_, case, exists, false, func, not_, or_, true, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from quarterturn.accounts.tables import AccountRow
from quarterturn.choices import WorkerClass
from quarterturn.errors import MonthTurned
from quarterturn.submissions.store.requests import UNFINISHED, Submissions
from quarterturn.submissions.store.tables import SubmissionRow
from sandbox.isolation.run_classes import run_class
from sandbox.runs.store import RunRecord
from vault.database import join_or_begin, transaction
from vault.errors import Unavailable

LEASE = timedelta(seconds=90)
RENEWAL_SECONDS = LEASE.total_seconds() / 3
CLOSING_GRID_SECONDS = 60.0
"""Private runs are closed on a full minute of the clock, so that an agent tells no more by when it ends."""
TRIES = 5
MIN_RETRY_DELAY, MAX_RETRY_DELAY = timedelta(seconds=5), timedelta(minutes=5)


def pause(attempt: int) -> timedelta:
    """Say for how long a job is set aside after an attempt, the first being 1."""
    return min(MAX_RETRY_DELAY, MIN_RETRY_DELAY * 2.0 ** min(attempt - 1, 20))


OUTAGE_SECONDS = 600.0
"""For how long a worker keeps what it has to write about the end of a job while the database is away."""

LeaseStatus = Literal["held", "cancelled", "stopped", "lost"]


class Executor(Protocol):
    """Hands jobs from the process that accepts a submission to the workers."""

    def enqueue(self, session: Session, number: int) -> None:
        """Hand a job over, within the transaction that wrote its row."""
        ...

    def start(self) -> None:
        """Begin to work."""
        ...

    def stop(self) -> None:
        """Take no more jobs, and put back what was begun."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed job: its row, and the attempt under which the worker holds it."""

    number: int
    id: str
    attempt: int


class Queue:
    """The queue of one home.

    Args:
        engine: from `vault.database.open_engine`.
        clock: the present moment, with its time zone.
        at_once: how many of one party are worked on at the same time.
        judged: says whether the set that is live names a claim judge, which is an exit of its private runs.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime],
        at_once: int = 1,
        judged: Callable[[], bool] = lambda: False,
    ) -> None:
        self._engine, self._clock, self._at_once, self._judged = engine, clock, at_once, judged

    def waiting(self) -> list[int]:
        """Return the numbers of the waiting submissions, in the order in which they would be claimed now."""
        with Session(self._engine) as session:
            return [number for number, _ in self._order(session)]

    def place(self, session: Session, number: int) -> int:
        """Return the place of a row that was just written in its party's own backlog, from 1."""
        own = select(AccountRow.party).join(SubmissionRow).where(SubmissionRow.number == number).scalar_subquery()
        backlog = (
            select(func.count())
            .select_from(SubmissionRow)
            .join(AccountRow)
            .where(AccountRow.party == own, col(SubmissionRow.state).in_(UNFINISHED))
        )
        return session.exec(backlog).one()

    def awaits_named(self, number: int) -> bool:
        """Say whether a row waits until one has ended that its party named before it, or in its place."""
        row = select(SubmissionRow.number).join(AccountRow, col(AccountRow.name) == col(SubmissionRow.account))
        with Session(self._engine) as session:
            return session.exec(row.where(SubmissionRow.number == number, _waits_for_named())).first() is not None

    def claimable(self, session: Session, only: WorkerClass | None = None) -> list[tuple[int, int]]:
        """Return what may be claimed now, as (number, place in its party's own backlog), the next one first.

        Args:
            session: the transaction.
            only: the class of runs that are asked for; all of them by default.
        """
        rows: list[tuple[int, int]] = []
        while heads := self._heads(session, only, taken=[number for number, _ in rows]):
            rows += heads
        return sorted(rows, key=lambda row: row[::-1])

    def _heads(
        self, session: Session, only: WorkerClass | None, taken: Sequence[int] = ()
    ) -> Sequence[tuple[int, int]]:
        """Return what each party may have claimed next, after it had the rows `taken`, as `claimable` does.

        One pass over what is unfinished, grouped by party: with 10,000 waiting an order of all of them took a second.
        """
        row, later = SubmissionRow, col(SubmissionRow.not_before)
        is_taken = col(row.number).in_(taken)
        ready = and_(
            col(row.state) == "queued",
            not_(is_taken),
            or_(later.is_(None), later <= self.now()),
            true() if only is None else _is_of(only, judged=self._judged()),
        )

        def first(*conditions: ColumnElement[bool]) -> ColumnElement[int | None]:
            return func.min(row.number).filter(*conditions)

        named = col(row.designated).is_(True)
        running = func.count().filter(or_(col(row.state) == "running", is_taken))
        next_one = case(
            (first(named, ready) == first(named), first(named)),
            (first(named).is_(None), first(ready)),
            else_=first(ready, col(row.tasks) != "private"),  # private ones wait for the one that was named
        )
        heads = (
            select(next_one, running + 1)
            .select_from(row)
            .join(AccountRow, col(AccountRow.name) == col(row.account))
            .where(col(row.state).in_(UNFINISHED))
            .group_by(AccountRow.party)
            .having(running < self._at_once, next_one.is_not(None))
            .order_by(running, next_one)
        )
        return [(number, place) for number, place in session.exec(heads).all() if number is not None]

    def class_of(self, session: Session, number: int) -> WorkerClass:
        """Say which class a job's run has."""
        row = session.get_one(SubmissionRow, number)
        own = run_class(private=row.tasks == "private", kind=row.kind, model=row.model, judged=self._judged())
        return "sealed" if own == "sealed" else "open"

    def claim(self, worker: str, only: WorkerClass | None = None) -> Claim | None:
        """Claim the next job (of a class); None where none may be claimed now (rules 1, 2, 4 and 5)."""
        with transaction(self._engine) as session:
            for number, _ in self._heads(session, only):
                row, now = session.get_one(SubmissionRow, number), self.now()
                claim = Claim(number, row.id, row.attempt + 1)
                taken = {
                    "state": "running",
                    "attempt": claim.attempt,
                    "worker": worker,
                    "lease_until": now + LEASE,
                    "not_before": None,
                    "started_at": row.started_at or now,
                }
                change = update(SubmissionRow).where(
                    col(SubmissionRow.number) == number,
                    col(SubmissionRow.state) == "queued",
                    col(SubmissionRow.attempt) == row.attempt,
                )
                if session.exec(change.values(**taken)).rowcount == 1:
                    return claim
        return None

    def renew(self, claim: Claim) -> bool:
        """Extend a job's lease; False means that the job is no longer this worker's."""
        return self._write(claim, lease_until=self.now() + LEASE)

    def opened(self, claim: Claim, run: int, session: Session | None = None) -> bool:
        """Record which run of the ledger a job opened, within the transaction that opens it."""
        return self._write(claim, session, run=run)

    def finish(self, claim: Claim, code: str | None) -> bool:
        """End a job: done, or failed with a code of the table."""
        state = "done" if code is None else "failed"
        return self._write(claim, state=state, code=code, lease_until=None, ended_at=self.now())

    def give_back(self, claim: Claim, pause: timedelta | None = None, *, failed: bool = False) -> bool:
        """Put a job back that could not be ended; with a pause it counts as not begun, and is not claimed before that.

        One that `failed` by a mistake of ours counts as one that died under its worker (rule 3).
        """
        if pause is None:
            return self._write(claim, state="queued", lease_until=None)
        later, failures = self.now() + pause, SubmissionRow.failed_attempts + int(failed)
        return self._write(
            claim, state="queued", lease_until=None, not_before=later, started_at=None, failed_attempts=failures
        )

    def reap(self) -> int:
        """Put back, or give up, every job whose lease has expired; give their number."""
        now = self.now()
        silent = (col(SubmissionRow.state) == "running", col(SubmissionRow.lease_until) < now)
        over = {"state": "failed", "code": "interrupted", "lease_until": None, "ended_at": now}
        with transaction(self._engine) as session:
            dead = session.exec(
                update(SubmissionRow).where(*silent, col(SubmissionRow.failed_attempts) >= TRIES - 1).values(**over)
            ).rowcount
            again = {"state": "queued", "lease_until": None, "failed_attempts": SubmissionRow.failed_attempts + 1}
            back = session.exec(update(SubmissionRow).where(*silent).values(**again)).rowcount
        return int(dead + back)

    def _order(self, session: Session) -> Sequence[tuple[int, int]]:
        """Return what waits as (number, place in its party's own backlog), the next one first."""
        place = (
            func.row_number()
            .over(
                partition_by=AccountRow.party,
                order_by=(
                    col(SubmissionRow.state).desc(),
                    col(SubmissionRow.designated).desc(),
                    col(SubmissionRow.number),
                ),
            )
            .label("place")
        )
        unfinished = (
            select(SubmissionRow.number, SubmissionRow.state, place)
            .join(AccountRow, col(AccountRow.name) == col(SubmissionRow.account))
            .where(col(SubmissionRow.state).in_(UNFINISHED))
        )
        own = unfinished.subquery()
        query = select(own.c.number, own.c.place).where(own.c.state == "queued").order_by(own.c.place, own.c.number)
        return [(number, place) for number, place in session.exec(query).all()]

    def _write(self, claim: Claim, session: Session | None = None, **values: object) -> bool:
        change = update(SubmissionRow).where(
            col(SubmissionRow.number) == claim.number,
            col(SubmissionRow.state) == "running",
            col(SubmissionRow.attempt) == claim.attempt,
        )
        with join_or_begin(self._engine, session) as own:
            return own.exec(change.values(**values)).rowcount == 1

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        return self._clock().astimezone(UTC)


class Lease:
    """Lease of a claimed job: whether its worker still holds it, and what it writes under it.

    Args:
        submissions: the submissions.
        queue: their claims.
        claim: the claim.
        stopping: set when the worker stops.
    """

    def __init__(self, submissions: Submissions, queue: Queue, claim: Claim, stopping: threading.Event) -> None:
        self._submissions, self._queue, self._claim, self._stopping = submissions, queue, claim, stopping
        self._ended = threading.Event()

    def status(self) -> LeaseStatus:
        """Return whether the job is still this worker's; its owner may have `cancelled` it, the operator `stopped` us.

        While the database is away the job is held as far as anybody can tell: whatever is written is fenced.
        """
        stopped, held = self._stopping.is_set(), ("running", self._claim.attempt)
        with suppress(Unavailable):
            submission = self._submissions.get(self._claim.id)
            if submission.state == "cancelled":
                return "cancelled"
            if (submission.state, submission.attempt) != held:
                return "lost"
        return "stopped" if stopped else "held"

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the claim in a thread for as long as the block lasts."""
        thread = threading.Thread(target=self._renew, name=f"beat {self._claim.number}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def record_run(self, run: RunRecord, session: Session) -> None:
        """Record which run the job opens, within the transaction that opens it; what this raises opens none.

        Raises:
            MonthTurned: the run would count against another month's quota.
        """
        if (month := session.get_one(SubmissionRow, self._claim.number).month) != run.month:
            raise MonthTurned(f"submission {self._claim.id} is one of {month}, which is over; submit it again")
        if not self._queue.opened(self._claim, run.number, session):
            raise RuntimeError("the claim was lost before the run was opened")

    def outlast(self, write: Callable[[], object]) -> None:
        """Write what must not be lost, again each second while the database is away; what is written is fenced.

        Raises:
            Unavailable: it was away for longer than `OUTAGE_SECONDS`.
        """
        end = time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                write()
            except Unavailable:
                if time.monotonic() >= end:
                    raise
                time.sleep(1.0)
            else:
                return

    def wait_to_close(self) -> None:
        """Wait for a full minute, for as long as the job is this worker's and the worker goes on."""
        end = time.monotonic() + -self._queue.now().timestamp() % CLOSING_GRID_SECONDS
        while (left := end - time.monotonic()) > 0 and self.status() == "held":
            time.sleep(min(1.0, left))

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            with suppress(Unavailable):
                self._queue.renew(self._claim)


def _waits_for_named() -> ColumnElement[bool]:
    """Whether a private row waits until one has ended that its party named before it, or in its place."""
    other, owner = aliased(SubmissionRow), aliased(AccountRow)
    first = or_(not_(col(SubmissionRow.designated)), col(other.number) < col(SubmissionRow.number))
    named = exists().where(
        col(other.account) == col(owner.name),
        col(owner.party) == col(AccountRow.party),
        col(other.designated),
        col(other.state).in_(UNFINISHED),
        col(other.number) != col(SubmissionRow.number),
        first,
    )
    return and_(col(SubmissionRow.tasks) == "private", col(SubmissionRow.state) == "queued", named)


def _is_of(only: WorkerClass, *, judged: bool) -> ColumnElement[bool]:
    """Return `run_class` of images and endpoints as an SQL condition."""
    if judged:  # every run has an exit
        return false() if only == "sealed" else true()
    row = SubmissionRow
    sealed = and_(col(row.tasks) == "private", col(row.kind) != "endpoint", col(row.model).is_(None))
    return sealed if only == "sealed" else not_(sealed)
