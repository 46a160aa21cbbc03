"""Store of cohorts and their promised order, turns, seen skeletons, and counts of unsettled outcomes.

Rows never leave this module; callers get frozen records. Methods that are part of a larger change take its session, so
that a step of a turn and its leaves are one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Engine, func
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from rotation.calendar import Month
from rotation.errors import NotAllowed, NotFound
from rotation.month.cohort import Candidate
from rotation.month.tables import CohortRow, MemberRow, PageRow, SeenRow, TurnRow, UnsettledRow
from vault.database import transaction


@dataclass(frozen=True, slots=True)
class Cohort:
    """A cohort and its tasks.

    Attributes:
        id: `cohort-YYYY-MM`, after the month at whose turn it retires.
        retires: that month.
        entered: the first month in which it is live.
        state: `promised`, `live`, `retired` or `published`.
        tasks: task ids in the promised order.
    """

    id: str
    retires: Month
    entered: Month
    state: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """The progress of a month's turn.

    Attributes:
        month: the month that it ends.
        started_at: when its first step began; every date in what it publishes is this one.
        finished: whether all steps are done.
        done: the names of the steps that are done.
        facts: values that the steps fixed for good, such as the canary.
    """

    month: Month
    started_at: datetime
    finished: bool
    done: tuple[str, ...]
    facts: Mapping[str, str]


JUDGE = "judge"
"""The fact of a turn that holds the digest of the claim judge that the set names (`rotation.month.judge`)."""

REVIEWED_FROM = 2
"""In how many runs of one submitter a kind of unsettled outcome must occur before it opens a review."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Unsettled outcomes in several runs of one submitter, for a maintainer to review; they change no score.

    Attributes:
        submitter: the runs' submitter.
        kind: the kind of outcome in each of them, `unknown` or `unclear`.
        runs: the runs' numbers.
    """

    submitter: str
    kind: str
    runs: tuple[int, ...]


class MonthStore:
    """Store of cohorts, turns, seen skeletons and unsettled outcomes."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._engine, self._clock = engine, clock

    def transaction(self) -> AbstractContextManager[Session]:
        """Begin a write transaction, in which all stores of this database, the vault and the ledger can take part."""
        return transaction(self._engine)

    # -- cohorts ------------------------------------------------------------------------------------------------------

    def promise(self, session: Session, month: Month, retires: Month, tasks: Sequence[Candidate]) -> None:
        """Record a cohort that enters with `month`, its tasks in promised order; the order never changes."""
        session.add(CohortRow(id=retires.cohort, retires=str(retires), entered=str(month), state="promised"))
        session.flush()
        for position, task in enumerate(tasks):
            member = MemberRow(task_id=task.id, cohort_id=retires.cohort, position=position, skeleton_tag=task.skeleton)
            session.add(member)

    def cohorts(self, *states: str, at: int | None = None) -> list[Cohort]:
        """List the cohorts in these states (all, if none is named), the next to retire first.

        With `at`, their tasks are those of the time just before that leaf of the log; otherwise the present ones.
        """
        with Session(self._engine) as session:
            rows = session.exec(select(CohortRow).order_by(col(CohortRow.retires))).all()
            return [self._cohort(session, row, at) for row in rows if not states or row.state in states]

    def first(self) -> Month | None:
        """Return the month with which the first cohorts entered, or None before there is any."""
        with Session(self._engine) as session:
            entered = session.exec(select(func.min(CohortRow.entered))).one()
        return Month.parse(entered) if entered else None

    def sunset(self, month: Month) -> str:
        """Name the cohort that is the next to retire in a month: with its turn, or with a later one."""
        query = select(func.min(CohortRow.retires)).where(CohortRow.retires >= str(month))
        with Session(self._engine) as session:
            retires = session.exec(query).one()
        return (Month.parse(retires) if retires else month).cohort

    def cohort_retiring(self, month: Month) -> Cohort | None:
        """Return the cohort that this month's turn retires, or None if there is none."""
        return next((c for c in self.cohorts() if c.retires == month), None)

    def move(self, session: Session, cohort: str, state: str) -> None:
        """Set a cohort's state."""
        session.exec(select(CohortRow).where(CohortRow.id == cohort)).one().state = state

    def promised_size(self, cohort: str) -> int:
        """Count the tasks that a cohort had when it was promised, whatever was withdrawn since."""
        query = select(func.count()).where(MemberRow.cohort_id == cohort, MemberRow.since_leaf == 0)
        with Session(self._engine) as session:
            return session.exec(query).one()

    def home_of(self, task_id: str) -> str | None:
        """Name the cohort that a task belongs to, or None."""
        with Session(self._engine) as session:
            row = session.get(MemberRow, task_id)
            return row.cohort_id if row else None

    def replace(self, session: Session, withdrawn: str, leaf: int, refill: tuple[str, str] | None) -> None:
        """Remove a task from its cohort as of a leaf; its place goes to `refill` (task id, skeleton tag), if any."""
        row = session.get_one(MemberRow, withdrawn)
        row.until_leaf = leaf
        if refill is not None:
            task, tag = refill
            home, place = row.cohort_id, row.position
            session.add(
                MemberRow(task_id=task, cohort_id=home, position=place, skeleton_tag=tag, since_leaf=leaf),
            )

    def refills(self) -> dict[str, int]:
        """Map each task that replaced another one to the `withdraw` leaf that gave it the place."""
        with Session(self._engine) as session:
            rows = session.exec(select(MemberRow).where(MemberRow.since_leaf > 0)).all()
            return {row.task_id: row.since_leaf for row in rows}

    def everybody(self) -> list[tuple[str, str, int]]:
        """List (task, cohort, leaf from which it is a member) of all tasks, including withdrawn ones."""
        with Session(self._engine) as session:
            rows = session.exec(select(MemberRow).order_by(col(MemberRow.task_id))).all()
            return [(row.task_id, row.cohort_id, row.since_leaf) for row in rows]

    def taken(self) -> dict[str, str]:
        """Map the tag of every skeleton in an unpublished cohort to that cohort."""
        open_ones = {c.id for c in self.cohorts("promised", "live", "retired")}
        with Session(self._engine) as session:
            rows = session.exec(select(MemberRow)).all()
            return {row.skeleton_tag: row.cohort_id for row in rows if row.cohort_id in open_ones}

    @staticmethod
    def _cohort(session: Session, row: CohortRow, at: int | None) -> Cohort:
        of_it = select(MemberRow).where(MemberRow.cohort_id == row.id)
        query = of_it.where(col(MemberRow.until_leaf).is_(None))
        if at is not None:
            since, until = col(MemberRow.since_leaf), col(MemberRow.until_leaf)
            query = of_it.where(since < at, until.is_(None) | (until > at))
        members = session.exec(query.order_by(col(MemberRow.position))).all()
        return Cohort(
            id=row.id,
            retires=Month.parse(row.retires),
            entered=Month.parse(row.entered),
            state=row.state,
            tasks=tuple(member.task_id for member in members),
        )

    # -- turns --------------------------------------------------------------------------------------------------------

    def begin_turn(self, month: Month, facts: Mapping[str, str]) -> Turn:
        """Start the turn of `month`, or give it if any process has started it already."""
        now = self._clock()
        with suppress(IntegrityError), transaction(self._engine) as session:  # another machine was faster
            if session.get(TurnRow, str(month)) is None:
                session.add(TurnRow(month=str(month), started_at=now, facts=dict(facts)))
        return self.turn(month)

    def turn(self, month: Month) -> Turn:
        """Return a turn.

        Raises:
            NotFound: it was never started.
        """
        with Session(self._engine) as session:
            row = session.get(TurnRow, str(month))
            if row is None:
                raise NotFound(f"the turn of {month} was never started; `quarterturn turn run` starts what is due")
            return _turn(row)

    def turns(self) -> list[Turn]:
        """List all turns in order."""
        with Session(self._engine) as session:
            return [_turn(row) for row in session.exec(select(TurnRow).order_by(col(TurnRow.month))).all()]

    def live_month(self) -> Month:
        """Return the month whose set is live.

        Raises:
            NotAllowed: nothing is live yet, or a turn is under way.
        """
        turns = self.turns()
        if not turns:
            raise NotAllowed("no set is live yet: run the first turn with `quarterturn turn run`")
        if not turns[-1].finished:
            raise NotAllowed(f"the turn of {turns[-1].month} is under way: finish it with `quarterturn turn run`")
        return turns[-1].month.plus(1)

    def judge(self) -> str | None:
        """Return the digest of the claim judge that the live set names; None if it names none, or nothing is live."""
        finished = [turn for turn in self.turns() if turn.finished]
        return finished[-1].facts.get(JUDGE) if finished else None

    def names_judge(self) -> bool:
        """Return whether the live set names a claim judge."""
        return self.judge() is not None

    def next_turn(self, first: Month) -> Month:
        """Return the month whose turn comes next; before `first` there is only the turn that opens it."""
        turns = self.turns()
        if not turns:
            return first.plus(-1)
        return turns[-1].month.plus(1) if turns[-1].finished else turns[-1].month

    def step_done(self, session: Session, month: Month, step: str, facts: Mapping[str, str]) -> None:
        """Record that a step is done, with what it fixed.

        Raises:
            NotAllowed: another process has done it meanwhile; the caller's transaction must not be committed.
        """
        row = session.exec(select(TurnRow).where(TurnRow.month == str(month)).with_for_update()).one()
        if step in row.done:
            raise NotAllowed(f"the turn of {month} is run by another process, which has done '{step}' already")
        row.done = [*row.done, step]
        row.facts = {**row.facts, **facts}

    def note_step(self, month: Month, step: str) -> None:
        """Record that a step is done, which fixed nothing; see `step_done`."""
        with self.transaction() as session:
            self.step_done(session, month, step, {})

    def keep_page(self, page: str) -> str:
        """Store the verification page of a release, and give its SHA-256 (hex), which identifies it."""
        digest = sha256(page.encode()).hexdigest()
        with suppress(IntegrityError), transaction(self._engine) as session:  # another machine was faster
            if session.get(PageRow, digest) is None:
                session.add(PageRow(sha256=digest, body=page))
        return digest

    def page(self, digest: str) -> str:
        """Return a stored page by its hash.

        Raises:
            NotFound: none has this hash.
        """
        with Session(self._engine) as session:
            row = session.get(PageRow, digest)
            if row is None:
                raise NotFound(f"the page {digest} of a turn is not in this database: restore a newer one")
            return row.body

    def finish_turn(self, session: Session, month: Month) -> None:
        """Close the turn."""
        session.exec(select(TurnRow).where(TurnRow.month == str(month))).one().finished_at = self._clock()

    # -- seen ---------------------------------------------------------------------------------------------------------

    def mark_seen(self, session: Session, cohort: str, why: str, month: Month) -> None:
        """Mark the skeletons of a cohort as seen."""
        rows = session.exec(select(MemberRow).where(MemberRow.cohort_id == cohort)).all()
        self.see(session, [row.skeleton_tag for row in rows], why, month)

    def see(self, session: Session, skeletons: Iterable[str], why: str, month: Month) -> None:
        """Mark skeletons as seen; the first reason is kept."""
        for tag in skeletons:
            if session.get(SeenRow, tag) is None:
                session.add(SeenRow(skeleton_tag=tag, why=why, month=str(month)))
                session.flush()

    def seen(self) -> set[str]:
        """Return the tags of all seen skeletons."""
        with Session(self._engine) as session:
            return set(session.exec(select(SeenRow.skeleton_tag)).all())

    def seen_since(self) -> dict[str, Month]:
        """Map the tag of each seen skeleton to the month in which it was seen first."""
        with Session(self._engine) as session:
            return {row.skeleton_tag: Month.parse(row.month) for row in session.exec(select(SeenRow)).all()}

    # -- unsettled outcomes -------------------------------------------------------------------------------------------

    def unsettle(self, session: Session, run: int, submitter: str, kind: str) -> None:
        """Count one more outcome of a kind in a run."""
        query = select(UnsettledRow).where(UnsettledRow.run == run, UnsettledRow.kind == kind)
        row = session.exec(query).one_or_none() or UnsettledRow(run=run, submitter=submitter, kind=kind)
        row.times += 1
        session.add(row)

    def unsettled(self) -> list[Unsettled]:
        """List what should be reviewed: each kind that occurred in several runs of one submitter."""
        runs: dict[tuple[str, str], list[int]] = {}
        with Session(self._engine) as session:
            for row in session.exec(select(UnsettledRow).order_by(col(UnsettledRow.run))).all():
                runs.setdefault((row.submitter, row.kind), []).append(row.run)
        unsettled = [Unsettled(*key, tuple(numbers)) for key, numbers in runs.items()]
        return sorted((r for r in unsettled if len(r.runs) >= REVIEWED_FROM), key=lambda r: (r.submitter, r.kind))


def _turn(row: TurnRow) -> Turn:
    return Turn(
        month=Month.parse(row.month),
        started_at=row.started_at,
        finished=row.finished_at is not None,
        done=tuple(row.done),
        facts=dict(row.facts),
    )
