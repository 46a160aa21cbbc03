"""The turn of a month, as numbered steps that can be repeated.

A turn is a row with a unique month. Each step is one transaction whose last act is to note that it is done, or changes
only files that it would write again in the same way; so a turn that was killed anywhere is finished, once, by running
it again.

    1. stop      nobody opens a run of this month any more: an opening after the last score could choose what it saw
    2. close     runs that were left open are ended in public: silence about a bad run is not an option
    3. check     what the month's seed chooses of its results is judged again, now that nobody can add one
    4. retire    the manifest of everything that will be opened is fixed in a `retire` leaf, before anybody can read it
    5. publish   the release is written whole, next to the log that proves it
    6. commit    who enters is decided by the order of the commitments, written down, and committed to
    7. set       the `set` statement promises what retires when, and in which order; its checkpoint is published
    8. sign      the head over that statement is signed and attested for people who run nothing of ours
    9. activate  only now may the new tasks be served

The first turn of a benchmark has nothing to retire and fills all four cohorts; it is named by the month before the
first.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from rotation.calendar import Month
from rotation.errors import NotAllowed, NotFound
from rotation.month.cohort import Allocation, Candidate, allocate_first
from rotation.month.sets import COHORTS, SetSpec, Stratum
from rotation.month.store import Cohort, Turn
from rotation.runs import withdrawal
from rotation.runs.books import Books
from rotation.runs.official import Official
from rotation.turn import promise, publish, spot_check
from rotation.turn.attestation import Attester
from rotation.turn.spot_check import Again
from vault.database import transaction
from vault.ledger import browser
from vault.store.tasks import TaskRecord
from vault.task.lifecycle import State

STEPS = ("stop", "close", "check", "retire", "publish", "commit", "set", "sign", "activate")


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
    """Plans turns and runs them.

    Args:
        books: what the month is written in.
        spec: what each cohort is composed of.
        releases: the folder of the published months.
        attester: who signs a month.
        again: gives who judges states again, for as long as one spot check takes.
        agreed: is told a plan before its first step, and again before its choice is written down (step 6), since more
            may have been reviewed meanwhile; raises where it may not be carried out yet.
    """

    def __init__(
        self,
        books: Books,
        spec: SetSpec,
        releases: Path,
        attester: Attester,
        *,
        again: Callable[[], AbstractContextManager[Again]],
        agreed: Callable[[Plan], None] = lambda _: None,
    ) -> None:
        self._books, self._spec, self._releases, self._attester = books, spec, releases, attester
        self._again, self._agreed = again, agreed

    def plan(self, month: Month) -> Plan:
        """Say what the turn of `month` would do; changes nothing."""
        months = self._entering(month)
        return self._planned(month, months, self._allocate(months))

    def _planned(self, month: Month, months: list[Month], allocation: Allocation) -> Plan:
        retiring = self._books.months.cohort_retiring(month)
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

    def republish(self, month: Month) -> tuple[Path | None, Path | None]:
        """Give the folders of a month's release and of what was signed, writing again what is missing; None: not there.

        Raises:
            NotFound: the month's turn was never made, or has published nothing yet.
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
        """Name the months at whose turns the entering cohorts will retire."""
        if self._books.months.cohorts():
            return [month.plus(COHORTS)]
        return [month.plus(i + 1) for i in range(COHORTS)]

    def _allocate(self, months: list[Month]) -> Allocation:
        with closing(self._books.vault.by_commitment(State.REVIEWED)) as reviewed:
            return allocate_first(
                map(candidate, reviewed),
                self._spec,
                [month.cohort for month in months],
                taken=self._books.months.taken(),
                seen=self._books.months.seen(),
            )

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _stop(self, turn: Turn) -> None:
        # 1. The row of the turn itself stops new runs and withdrawals, which ask for it; those begun are finished.
        withdrawal.settle(self._books)
        self._note(turn, "stop")

    def _close(self, turn: Turn) -> None:
        # 2. What a run that is still open did not finish is failed; one that was served nothing is aborted.
        Official(self._books).end_open(turn.month, "turn")
        self._note(turn, "close")

    def _check(self, turn: Turn) -> None:
        # 3. Each result is judged again once, whoever is killed between two of them.
        if "check" in self._books.months.turn(turn.month).done:
            raise NotAllowed(f"the turn of {turn.month} is run by another process, which has done 'check' already")
        self._books.ledger.publish()  # the last results of the month decide what is chosen
        with self._again() as again:
            found = spot_check.judge(self._books, turn.month, again)
        spot_check.drop_states(self._books, found)
        with transaction(self._books.engine) as session:
            facts = spot_check.conclude(session, self._books, found) if found else {}
            self._books.months.step_done(session, turn.month, "check", facts)

    def _retire(self, turn: Turn) -> None:
        # 4. The leaf binds the manifest before a byte of it is readable.
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
        # 6. The choice and its commit leaves are one transaction: it cannot be made twice.
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
        # 7. What is live, what retires when and in which order, under a published checkpoint.
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
        # 9. Likewise: nothing is served that no head covers.
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
        stratum=Stratum.of(record),
        skeleton=record.skeleton_tag,
        commitment=record.commitment,
    )
