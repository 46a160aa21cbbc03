"""Steps 6 to 9 of a turn: the entering tasks are chosen and promised, the month is signed, and its tasks go live."""

from __future__ import annotations

from pathlib import Path

from rotation.month.store import MonthStore, Turn
from rotation.turn.attestation import Attester
from rotation.turn.plan import Planner
from rotation.turn.promise import Promises
from vault.store.public_log import PublicLog


class ActivationSteps:
    """Activates the cohorts that enter."""

    def __init__(
        self, ledger: PublicLog, months: MonthStore, planner: Planner, promises: Promises, attester: Attester
    ) -> None:
        self._ledger, self._months, self._planner = ledger, months, planner
        self._promises, self._attester = promises, attester

    def commit(self, turn: Turn) -> None:
        """Choose the entering tasks and commit to them (step 6): one transaction, so it cannot be done twice."""
        plan = self._planner.approved(turn.month)
        with self._months.transaction() as session:
            self._promises.promise(session, plan)
            self._months.step_done(session, turn.month, "commit", {})

    def set(self, turn: Turn) -> None:
        """Record what is live and what retires when, and publish it (step 7)."""
        with self._months.transaction() as session:
            facts = self._promises.record_set(session, turn.month.plus(1), self._attester.named)
            self._months.step_done(session, turn.month, "set", facts)
        self._ledger.publish()

    def sign(self, turn: Turn) -> None:
        """Sign the head over the `set` statement (step 8)."""
        self._ledger.publish()  # harmless if it is published, and needed if step 7 was killed after its transaction
        self._attester.attest(turn)
        self._months.note_step(turn.month, "sign")

    def activate(self, turn: Turn) -> None:
        """Make the promised tasks live, and finish the turn (step 9)."""
        self._ledger.publish()  # as in step 8: nothing is served before a published checkpoint covers it
        with self._months.transaction() as session:
            self._promises.activate(session)
            self._months.step_done(session, turn.month, "activate", {})
            self._months.finish_turn(session, turn.month)

    def written(self, turn: Turn) -> Path | None:
        """Return the folder of a turn's attestation, or None if there is none; a missing folder is written again."""
        return self._attester.attest(turn) if "sign" in turn.done else None
