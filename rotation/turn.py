"""The turn of a month, as numbered steps that can be repeated.

A turn is a row with a unique month. Each step is one transaction whose last act is to note that it is done, or changes
only files that it would write again in the same way; so a turn that was killed anywhere is finished, once, by running
it again.

    1. stop      nobody opens a run of this month any more: an opening after the last score could choose what it saw
    2. close     runs that were left open are aborted in public: silence about a bad run is not an option
    3. retire    the manifest of everything that will be opened is fixed in a `retire` leaf, before anybody can read it
    4. publish   the release is written whole, next to the log that proves it
    5. commit    who enters is decided by the order of the commitments, written down, and committed to
    6. set       the `set` statement promises what retires when, and in which order; its checkpoint is published
    7. activate  only now may the new tasks be served

The first turn of a benchmark has nothing to retire and fills all four cohorts; it is named by the month before the
first.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rotation import promise, publish
from rotation.books import Books
from rotation.calendar import Month
from rotation.cohort import Allocation, Candidate, allocate
from rotation.errors import NotAllowed, NotFound
from rotation.official import Official
from rotation.sets import COHORTS, SetSpec, Stratum
from rotation.store import Cohort, Turn
from vault.db import transaction
from vault.ledger import browser
from vault.lifecycle import State
from vault.store import TaskRecord

STEPS = ("stop", "close", "retire", "publish", "commit", "set", "activate")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a turn would do.

    Attributes:
        month: the month that it ends.
        retire: the cohort that leaves, or None at the first turn.
        enter: the tasks of each cohort that enters, in promised order.
    """

    month: Month
    retire: Cohort | None
    enter: Mapping[Month, tuple[Candidate, ...]]


class Rotation:
    """Plans turns and runs them."""

    def __init__(self, books: Books, spec: SetSpec, releases: Path) -> None:
        self._books, self._spec, self._releases = books, spec, releases

    def plan(self, month: Month) -> Plan:
        """Say what the turn of `month` would do; changes nothing."""
        retiring = self._books.months.cohort_retiring(month)
        months = self._entering(month)
        allocation = self._allocate(months)
        return Plan(month, retiring, {m: allocation.cohorts[m.cohort] for m in months})

    def run(self, month: Month, on_step: Callable[[str], None] = lambda _: None) -> Turn:
        """Run the turn of `month`, or finish it if it was begun.

        Raises:
            NotAllowed: an earlier turn is unfinished, or a later one is done.
            Refused: too few tasks are ready to enter; nothing was done.
        """
        self._refuse_out_of_order(month)
        turn = self._begin(month)
        for step in STEPS:
            if step not in turn.done:
                getattr(self, f"_{step}")(turn)
                turn = self._books.months.turn(month)
            on_step(step)
        return turn

    def republish(self, month: Month) -> Path:
        """Give the folder of a published month, writing it again if it is missing.

        Raises:
            NotFound: the month's turn retired nothing, or was never made.
        """
        turn = self._books.months.turn(month)
        cohort = self._books.months.cohort_retiring(month)
        if cohort is None or "publish" not in turn.done:
            raise NotFound(f"the turn of {month} has published nothing; `quarterturn turn status` says how far it is")
        return publish.write(self._books, self._releases, publish.content(self._books, turn, cohort))

    # -- before the first step ----------------------------------------------------------------------------------------

    def _refuse_out_of_order(self, month: Month) -> None:
        for turn in self._books.months.turns():
            if not turn.finished and turn.month != month:
                raise NotAllowed(f"the turn of {turn.month} is unfinished: run it first")
            if turn.finished and turn.month >= month:
                raise NotAllowed(f"the turn of {turn.month} is done; the next one is {turn.month.plus(1)}")
            if turn.finished and turn == self._books.months.turns()[-1] and turn.month.plus(1) != month:
                raise NotAllowed(f"the next turn is {turn.month.plus(1)}, not {month}: months are turned in order")

    def _begin(self, month: Month) -> Turn:
        if all(turn.month != month for turn in self._books.months.turns()):
            self.plan(month)  # refuses before anything is stopped
        canary = uuid.UUID(bytes=self._books.entropy(16), version=4)
        page = self._books.months.keep_page(browser.page().decode())  # a later version's is another one
        return self._books.months.begin_turn(month, self._books.clock(), {"canary": str(canary), "page": page})

    def _entering(self, month: Month) -> list[Month]:
        """Name the months at whose turns the entering cohorts will retire."""
        if self._books.months.cohorts():
            return [month.plus(COHORTS)]
        return [month.plus(i + 1) for i in range(COHORTS)]

    def _allocate(self, months: list[Month]) -> Allocation:
        reviewed = self._books.vault.records(State.REVIEWED)
        return allocate(
            map(candidate, reviewed),
            self._spec,
            [month.cohort for month in months],
            taken=self._books.months.taken(),
            seen=self._books.months.seen(),
        )

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _stop(self, turn: Turn) -> None:
        # 1. The row of the turn itself stops new runs (`Official.open` asks for it); what is left is to say so.
        self._note(turn, "stop")

    def _close(self, turn: Turn) -> None:
        # 2. A run that is still open is aborted with a public leaf.
        Official(self._books).abort_open(turn.month, "turn")
        self._note(turn, "close")

    def _retire(self, turn: Turn) -> None:
        # 3. The leaf binds the manifest before a byte of it is readable.
        cohort = self._books.months.cohort_retiring(turn.month)
        if cohort is None:
            return self._note(turn, "retire")
        content = publish.content(self._books, turn, cohort)
        with transaction(self._books.engine) as session:
            publish.record_retirement(session, self._books, content)
            for task_id in cohort.tasks:
                self._books.vault.advance(task_id, "retire", session=session)
            self._books.months.move(session, cohort.id, "retired")
            self._books.months.step_done(session, turn.month, "retire", {})
        return None

    def _publish(self, turn: Turn) -> None:
        # 4. The checkpoint covers the leaf, then the release is written whole, then the tasks count as published.
        cohort = self._books.months.cohort_retiring(turn.month)
        if cohort is None:
            return self._note(turn, "publish")
        self._books.ledger.publish()
        content = publish.content(self._books, turn, cohort)
        publish.write(self._books, self._releases, content)
        with transaction(self._books.engine) as session:
            for task_id in cohort.tasks:
                self._books.vault.advance(task_id, "publish", session=session)
            self._books.months.mark_seen(session, cohort.id, "published", turn.month)
            self._books.months.move(session, cohort.id, "published")
            self._books.months.step_done(session, turn.month, "publish", {})
        return None

    def _commit(self, turn: Turn) -> None:
        # 5. The choice and its commit leaves are one transaction: it cannot be made twice.
        months = self._entering(turn.month)
        allocation = self._allocate(months)
        with transaction(self._books.engine) as session:
            for retires in months:
                tasks = allocation.cohorts[retires.cohort]
                self._books.months.promise(session, turn.month.plus(1), retires, tasks)
                for task in tasks:
                    promise.record_commit(session, self._books, task.id)
            for spare in (c for rest in allocation.reserve.values() for c in rest):
                promise.record_commit(session, self._books, spare.id)
            self._books.months.step_done(session, turn.month, "commit", {})

    def _set(self, turn: Turn) -> None:
        # 6. What is live, what retires when and in which order, under a published checkpoint.
        with transaction(self._books.engine) as session:
            facts = promise.record_set(session, self._books, turn.month.plus(1))
            self._books.months.step_done(session, turn.month, "set", facts)
        self._books.ledger.publish()

    def _activate(self, turn: Turn) -> None:
        # 7. Publishing again is harmless, and needed if step 6 was killed after its transaction.
        self._books.ledger.publish()
        with transaction(self._books.engine) as session:
            for cohort in self._books.months.cohorts("promised"):
                for task_id in cohort.tasks:
                    self._books.vault.advance(task_id, "activate", session=session)
                self._books.months.move(session, cohort.id, "live")
            self._books.months.step_done(session, turn.month, "activate", {})
            self._books.months.finish_turn(session, turn.month, self._books.clock())

    def _note(self, turn: Turn, step: str) -> None:
        with transaction(self._books.engine) as session:
            self._books.months.step_done(session, turn.month, step, {})


def candidate(record: TaskRecord) -> Candidate:
    """Give what the allocation needs to know of a task."""
    return Candidate(
        id=record.id,
        stratum=Stratum(record.server, record.category, record.difficulty),
        skeleton=record.skeleton_tag,
        commitment=record.commitment,
    )
