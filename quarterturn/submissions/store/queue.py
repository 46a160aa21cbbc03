"""Job queue: rows of submissions, their claims and their leases.

1. A claim raises the row's *attempt*, a fencing number. Whatever a worker writes afterwards names its attempt, in one
   `UPDATE … WHERE attempt = ?`: of two workers that both believe they hold a job, one writes nothing.
2. A claim is a lease. Its worker renews it; where it does not, `reap` puts the row back, without any lock on the queue.
3. A job that died under `TRIES` workers is given up. A job that could not start for a reason of ours is set aside,
   longer each time (`pause`), and does not block others meanwhile.
4. It is fair between parties: claims go by the round that each row was given when it was written
   (`quarterturn.submissions.store.fair_rounds`). A row whose party has as many running as may is passed over. Of one
   party's private jobs those designated to count come first, and the others wait until they have ended.
5. A worker may be of one class, and then claims only runs of that class (`sandbox.isolation.run_classes`): runs without
   an exit share no machine with runs that have one. A running job counts as its party's whatever its class; a job that
   waits for a worker of the other class blocks nobody.
6. A lease outlives an outage of the database, however long: a `Reaper` that could not look extends what has expired by
   a whole lease, in which a worker that lives renews its own.

A claim walks an index, and costs the same however many wait. The database is all that processes share, on one machine
or on many: a job exists once its transaction is committed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Literal, Protocol

from sqlalchemy import (
    ColumnElement,
    Engine,
    Executable,
    and_,
    bindparam,
    exists,
    false,
    func,
    not_,
    or_,
    true,
    tuple_,
    update,
)
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select
from sqlmodel.sql.sqltypes import UTCDateTime

from quarterturn.accounts.tables import AccountRow
from quarterturn.choices import WorkerClass
from quarterturn.errors import MonthTurned
from quarterturn.submissions.store.requests import UNFINISHED
from quarterturn.submissions.store.tables import SubmissionRow
from sandbox.runs.store import RunRecord
from vault.database import join_or_begin, transaction
from vault.errors import Unavailable

LEASE = timedelta(seconds=90)
RENEWAL_SECONDS = LEASE.total_seconds() / 3
MAX_SIGHT_GAP = LEASE / 2
"""Between two looks of a reaper that has seen the database all the time."""
CLOSING_GRID_SECONDS = 60.0
"""Private runs are closed on a full minute of the clock, so that an agent tells no more by when it ends."""
TRIES = 5
MIN_RETRY_DELAY, MAX_RETRY_DELAY = timedelta(seconds=5), timedelta(minutes=5)


def pause(attempt: int) -> timedelta:
    """Say for how long a job is set aside after an attempt, the first being 1."""
    return min(MAX_RETRY_DELAY, MIN_RETRY_DELAY * 2.0 ** min(attempt - 1, 20))


NEWEST_SUBMISSIONS = 1_000
"""So many of them are shown to monitoring by outcome and duration."""
OUTAGE_SECONDS = 600.0
"""For how long a worker keeps what it has to write about the end of a job while the database is away."""

LeaseStatus = Literal["held", "cancelled", "stopped", "lost"]


class Executor(Protocol):
    """Claims jobs and works on them, in threads of this process."""

    def wake(self) -> None:
        """Look for a job now: one was just written. Without it, it is found within `POLL_SECONDS`."""
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


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """State of the queue for monitoring; it names no account and no task.

    Attributes:
        waiting: how many wait.
        running: how many run.
        age_seconds: for how long the oldest that waits has waited; 0 where none does.
        outcomes: how often the `NEWEST_SUBMISSIONS` ended as `done`, or with which failure code.
        run_seconds: how long those took from their start to their end, the shortest first.
    """

    waiting: int
    running: int
    age_seconds: float
    outcomes: Mapping[str, int]
    run_seconds: Sequence[float]


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
        """Return the numbers of the waiting submissions, in the order in which they are claimed."""
        row = SubmissionRow
        query = select(row.number).where(row.state == "queued").order_by(col(row.fair_round), col(row.number))
        with Session(self._engine) as session:
            return [number for number in session.exec(query) if number is not None]

    def places(self, numbers: Collection[int]) -> dict[int, int]:
        """Return how many are claimed before each of these submissions, for those that wait."""
        row, other = SubmissionRow, aliased(SubmissionRow)
        is_before = tuple_(col(other.fair_round), col(other.number)) < tuple_(col(row.fair_round), col(row.number))
        before = select(func.count()).select_from(other).where(col(other.state) == "queued", is_before)
        query = select(row.number, before.scalar_subquery()).where(row.state == "queued", col(row.number).in_(numbers))
        with Session(self._engine) as session:
            return {number: place for number, place in session.exec(query) if number is not None}

    def metrics(self) -> QueueMetrics:
        """Return what monitoring asks for; it reads the unfinished rows' index, and the newest rows."""
        row, now = SubmissionRow, self.now()
        by_state = select(row.state, func.count(), func.min(row.created_at)).where(col(row.state).in_(UNFINISHED))
        newest = (
            select(row.state, row.code, row.started_at, row.ended_at)
            .order_by(col(row.number).desc())
            .limit(NEWEST_SUBMISSIONS)
        )
        with Session(self._engine) as session:
            counts = {state: (count, oldest) for state, count, oldest in session.exec(by_state.group_by(row.state))}
            rows = session.exec(newest).all()
        ended = [(code or state, start, end) for state, code, start, end in rows if end]
        waiting, oldest = counts.get("queued", (0, now))
        return QueueMetrics(
            waiting,
            counts.get("running", (0, now))[0],
            (now - oldest).total_seconds(),
            Counter(outcome for outcome, _, _ in ended),
            sorted((end - start).total_seconds() for _, start, end in ended if start),
        )

    def awaits_named(self, number: int) -> bool:
        """Say whether a row waits until one has ended that its party named before it, or in its place."""
        row = select(SubmissionRow.number).join(AccountRow, col(AccountRow.name) == col(SubmissionRow.account))
        with Session(self._engine) as session:
            return session.exec(row.where(SubmissionRow.number == number, _waits_for_named())).first() is not None

    def claim(self, worker: str, only: WorkerClass | None = None) -> Claim | None:
        """Claim the next job (of a class); None where none may be claimed now (rules 1, 2, 4 and 5)."""
        statement = _claim_statement(only, judged=self._judged(), at_once=self._at_once)
        with transaction(self._engine) as session:
            now = self.now()
            row = session.connection().execute(statement, {"by": worker, "now": now, "until": now + LEASE}).first()
        return Claim(*row) if row else None

    def status(self, number: int) -> tuple[str, int]:
        """Return the state and the attempt of a job; each running one is asked about once a second."""
        with Session(self._engine) as session:
            query = select(SubmissionRow.state, SubmissionRow.attempt).where(SubmissionRow.number == number)
            return session.exec(query).one()

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
        """Put back, or give up, every job whose lease has expired; return their number."""
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

    def extend_expired(self) -> None:
        """Extend every lease that has expired by a whole one."""
        now, row = self.now(), SubmissionRow
        change = update(row).where(col(row.state) == "running", col(row.lease_until) < now)
        with transaction(self._engine) as session:
            session.exec(change.values(lease_until=now + LEASE))

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


class Reaper:
    """Reaper of one process: where it could not look, it extends expired leases once before it reaps any (rule 6).

    Args:
        queue: whose leases.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._looked_at: datetime | None = None

    def reap(self) -> int:
        """Put back, or give up, every job whose worker was silent while the database was up; return their number.

        Raises:
            Unavailable: the database is away; the next look extends what expired meanwhile.
        """
        now, last = self._queue.now(), self._looked_at
        self._looked_at = None
        if last is None or not now - MAX_SIGHT_GAP <= last <= now:  # an outage, or this process was suspended
            self._queue.extend_expired()
            reaped = 0
        else:
            reaped = self._queue.reap()
        self._looked_at = now
        return reaped


class Lease:
    """Lease of a claimed job: whether its worker still holds it, and what it writes under it.

    Args:
        queue: the queue.
        claim: the claim.
        stopping: set when the worker stops.
    """

    def __init__(self, queue: Queue, claim: Claim, stopping: threading.Event) -> None:
        self._queue, self._claim, self._stopping = queue, claim, stopping
        self._ended = threading.Event()

    @property
    def submission(self) -> str:
        """The id of the submission."""
        return self._claim.id

    def status(self) -> LeaseStatus:
        """Return whether the job is still this worker's; its owner may have `cancelled` it, the operator `stopped` us.

        While the database is away the job is held as far as anybody can tell: whatever is written is fenced.
        """
        stopped, held = self._stopping.is_set(), ("running", self._claim.attempt)
        with suppress(Unavailable):
            state, attempt = self._queue.status(self._claim.number)
            if state == "cancelled":
                return "cancelled"
            if (state, attempt) != held:
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
        delay = RENEWAL_SECONDS
        while not self._ended.wait(delay):
            try:
                self._queue.renew(self._claim)
                delay = RENEWAL_SECONDS
            except Unavailable:
                delay = 1.0  # once the database is back, before a reaper trusts its silence


@cache
def _claim_statement(only: WorkerClass | None, *, judged: bool, at_once: int) -> Executable:
    """Return the statement that claims the next job; it is made once, which takes longer than its execution."""
    row, running, owner = SubmissionRow, aliased(SubmissionRow), aliased(AccountRow)
    now = bindparam("now", type_=UTCDateTime())
    of_party = (
        select(func.count())
        .select_from(running)
        .join(owner, col(running.account) == col(owner.name))
        .where(owner.party == AccountRow.party, running.state == "running")
        .scalar_subquery()
    )
    following = (
        select(col(row.number))
        .join(AccountRow, col(AccountRow.name) == col(row.account))
        .where(
            row.state == "queued",
            or_(col(row.not_before).is_(None), col(row.not_before) <= now),
            true() if only is None else _is_of(only, judged=judged),
            of_party < at_once,
            not_(_waits_for_named()),
        )
        .order_by(col(row.fair_round), col(row.number))
        .limit(1)
    )
    return (
        update(row)
        .where(col(row.number) == following.scalar_subquery())
        .values(
            state="running",
            attempt=row.attempt + 1,
            worker=bindparam("by"),
            lease_until=bindparam("until", type_=UTCDateTime()),
            not_before=None,
            started_at=func.coalesce(row.started_at, now),
        )
        .returning(col(row.number), col(row.id), col(row.attempt))
    )


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
