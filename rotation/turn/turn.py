"""The monthly turn: retires and publishes the oldest cohort and activates the next one, in nine idempotent steps.

A turn is a row with a unique month. Each step is one transaction that ends by recording the step as done, or writes
only files that it would write again with the same bytes; so a turn that was killed anywhere is completed by running
it again, and no step takes effect twice.

    1. stop      no run of this month can be opened any more: openings after the last score could be selective
    2. close     runs that are still open are ended with a public leaf, so that no bad run can be hidden
    3. check     the results that the month's seed chooses are judged again, now that none can be added
    4. retire    the manifest of everything that will be published is fixed in a `retire` leaf, before it is readable
    5. publish   the release is written atomically, next to the log that proves it
    6. commit    the entering tasks are chosen in the order of their commitments, recorded, and committed to
    7. set       the `set` statement promises what retires when, and in which order; its checkpoint is published
    8. sign      the head over that statement is signed and attested for people who do not run this software
    9. activate  from here on the new tasks may be served

The first turn of a benchmark has nothing to retire and fills all four cohorts; it is named by the month before the
benchmark's first month.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from rotation.calendar import Month
from rotation.errors import NotAllowed, NotFound
from rotation.month.cohort import Allocation, Candidate, allocate
from rotation.month.sets import COHORTS, SetSpec, Stratum
from rotation.month.store import Cohort, Turn
from rotation.runs import withdrawal
from rotation.runs.books import Books
from rotation.runs.official import OfficialRuns
from rotation.turn import promise, publish, spot_check
from rotation.turn.attestation import Attester
from rotation.turn.spot_check import Rejudge
from vault.database import transaction
from vault.ledger import browser
from vault.store.tasks import TaskRecord
from vault.task.lifecycle import TaskState

STEPS = ("stop", "close", "check", "retire", "publish", "commit", "set", "sign", "activate")


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a turn: what it would retire and activate.

    Attributes:
        month: the month that it ends.
        retire: the cohort that retires, or None at the first turn.
        enter: the tasks of each entering cohort by the month in which it retires, in promised order.
    """

    month: Month
    retire: Cohort | None
    enter: Mapping[Month, tuple[Candidate, ...]]


class Rotation:
    """Plans and runs monthly turns.

    Args:
        books: the stores and services of the home.
        spec: the set, with the mix of each cohort.
        releases: the folder of the published releases.
        attester: signs each month.
        again: opens the judge of the spot check, as a context manager.
        agreed: is called with the plan before its first step, and again before the choice is recorded (step 6), since
            more tasks may have been reviewed meanwhile; raises if the plan may not be carried out yet.
    """

    def __init__(
        self,
        books: Books,
        spec: SetSpec,
        releases: Path,
        attester: Attester,
        *,
        again: Callable[[], AbstractContextManager[Rejudge]],
        agreed: Callable[[Plan], None] = lambda _: None,
    ) -> None:
        self._books, self._spec, self._releases, self._attester = books, spec, releases, attester
        self._again, self._agreed = again, agreed

    def plan(self, month: Month) -> Plan:
        """Give the plan of the turn of `month`; changes nothing."""
        months = self._entering(month)
        return self._planned(month, months, self._allocate(months))

    def _planned(self, month: Month, months: list[Month], allocation: Allocation) -> Plan:
        retiring = self._books.months.cohort_retiring(month)
        return Plan(month, retiring, {m: allocation.cohorts[m.cohort] for m in months})

    def run(self, month: Month, on_step: Callable[[str], None] = lambda _: None) -> Turn:
        """Run the turn of `month`, or complete it if it was begun.

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

    def republish(self, month: Month) -> tuple[Path | None, Path | None]:
        """Give the folders of a month's release and attestation, or None each; missing ones are written again.

        Raises:
            NotFound: the month's turn was never started, or has published nothing yet.
        """
        turn, release, signed = self._books.months.turn(month), None, None
        cohort = self._books.months.cohort_retiring(month)
        if cohort is not None and "publish" in turn.done:
            release = publish.write(self._books, self._releases, publish.content(self._books, turn, cohort))
        if "sign" in turn.done:
            signed = self._attester.attest(self._books, turn)
        if release is signed is None:
            raise NotFound(f"the turn of {month} has published nothing; `quarterturn turn status` says how far it is")
        return release, signed

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
            self._agreed(self.plan(month))  # both refuse before anything is stopped
        canary = uuid.UUID(bytes=self._books.entropy(16), version=4)
        page = self._books.months.keep_page(browser.page().decode())  # a later version's is another one
        return self._books.months.begin_turn(month, self._books.clock(), {"canary": str(canary), "page": page})

    def _entering(self, month: Month) -> list[Month]:
        """Give the months at whose turns the entering cohorts will retire."""
        if self._books.months.cohorts():
            return [month.plus(COHORTS)]
        return [month.plus(i + 1) for i in range(COHORTS)]

    def _allocate(self, months: list[Month]) -> Allocation:
        with closing(self._books.vault.by_commitment(TaskState.REVIEWED)) as reviewed:
            return allocate(
                map(candidate, reviewed),
                self._spec,
                [month.cohort for month in months],
                taken=self._books.months.taken(),
                seen=self._books.months.seen(),
            )

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _stop(self, turn: Turn) -> None:
        # 1. The turn's row itself blocks new runs and withdrawals, which check for it; begun withdrawals are finished.
        withdrawal.settle(self._books)
        self._note(turn, "stop")

    def _close(self, turn: Turn) -> None:
        # 2. The unfinished tasks of an open run are failed; a run that was served nothing is aborted.
        OfficialRuns(self._books).end_open(turn.month, "turn")
        self._note(turn, "close")

    def _check(self, turn: Turn) -> None:
        # 3. Each chosen result is judged again once, even if the process is killed between two of them.
        if "check" in self._books.months.turn(turn.month).done:
            raise NotAllowed(f"the turn of {turn.month} is run by another process, which has done 'check' already")
        self._books.ledger.publish()  # the last results of the month decide what is chosen
        with self._again() as again:
            check = spot_check.judge(self._books, turn.month, again)
        spot_check.drop_states(self._books, check)
        with transaction(self._books.engine) as session:
            facts = spot_check.conclude(session, self._books, check) if check else {}
            self._books.months.step_done(session, turn.month, "check", facts)

    def _retire(self, turn: Turn) -> None:
        # 4. The leaf binds the manifest before any of it is readable.
        cohort = self._books.months.cohort_retiring(turn.month)
        if cohort is None:
            return self._note(turn, "retire")
        content = publish.content(self._books, turn, cohort)
        with transaction(self._books.engine) as session:
            publish.record_retirement(session, self._books, content, spot_check.opened(turn))
            for task_id in cohort.tasks:
                self._books.vault.advance(task_id, "retire", session=session)
            self._books.months.move(session, cohort.id, "retired")
            self._books.months.step_done(session, turn.month, "retire", {})
        return None

    def _publish(self, turn: Turn) -> None:
        # 5. The checkpoint covers the leaf, then the release is written whole, then the tasks count as published.
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
        # 6. The choice and its commit leaves are one transaction, so it cannot be made twice.
        months = self._entering(turn.month)
        allocation = self._allocate(months)
        self._agreed(self._planned(turn.month, months, allocation))
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
        # 7. The statement says what is live and what retires when; then its checkpoint is published.
        with transaction(self._books.engine) as session:
            facts = promise.record_set(session, self._books, turn.month.plus(1), self._attester.named)
            self._books.months.step_done(session, turn.month, "set", facts)
        self._books.ledger.publish()

    def _sign(self, turn: Turn) -> None:
        # 8. Publishing again is harmless, and needed if step 7 was killed after its transaction.
        self._books.ledger.publish()
        self._attester.attest(self._books, turn)
        self._note(turn, "sign")

    def _activate(self, turn: Turn) -> None:
        # 9. As in step 8: nothing is served before a published checkpoint covers it.
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
    """Give the allocation's candidate for a task."""
    return Candidate(
        id=record.id,
        stratum=Stratum.of(record),
        skeleton=record.skeleton_tag,
        commitment=record.commitment,
    )
