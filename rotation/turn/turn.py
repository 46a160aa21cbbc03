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

Steps 1 to 3 are in `rotation.turn.closing_steps`, 4 and 5 in `release_steps`, 6 to 9 in `activation_steps`.

The first turn of a benchmark has nothing to retire and fills all cohorts; it is named by the month before the
benchmark's first month. Where a set's cohorts retire every third month, the other two turns retire and activate none:
they end the month, and begin the next one with the same cohorts.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

from rotation.calendar import Month
from rotation.errors import NotAllowed, NotFound
from rotation.month.store import MonthStore, Turn
from rotation.turn.activation_steps import ActivationSteps
from rotation.turn.closing_steps import ClosingSteps
from rotation.turn.plan import Planner
from rotation.turn.release_steps import ReleaseSteps
from rotation.turn.turn_facts import STEPS
from vault.ledger import browser


class Rotation:
    """Plans and runs monthly turns."""

    def __init__(
        self,
        months: MonthStore,
        planner: Planner,
        closing: ClosingSteps,
        release: ReleaseSteps,
        activation: ActivationSteps,
        *,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._months, self._planner, self._entropy = months, planner, entropy
        self._release, self._activation = release, activation
        self._steps: dict[str, Callable[[Turn], None]] = {
            "stop": closing.stop,
            "close": closing.close,
            "check": closing.check,
            "retire": release.retire,
            "publish": release.publish,
            "commit": activation.commit,
            "set": activation.set,
            "sign": activation.sign,
            "activate": activation.activate,
        }

    def run(self, month: Month, on_step: Callable[[str], None] = lambda _: None) -> Turn:
        """Run the turn of `month`, or complete it if it was begun.

        Raises:
            NotAllowed: an earlier turn is unfinished, or a later one is done.
            Refused: too few tasks are ready to enter; nothing was done.
        """
        self._refuse_out_of_order(month)
        turn = self._begin(month)
        try:
            for step in STEPS:
                if step not in turn.done:
                    self._steps[step](turn)
                    turn = self._months.turn(month)
                on_step(step)
        finally:
            self._release.forget()
        return turn

    def republish(self, month: Month) -> tuple[Path | None, Path | None]:
        """Return the folders of a month's release and attestation, or None each; missing ones are written again.

        Raises:
            NotFound: the month's turn was never started, or has published nothing yet.
        """
        turn = self._months.turn(month)
        release, signed = self._release.written(turn), self._activation.written(turn)
        if release is signed is None:
            raise NotFound(f"the turn of {month} has published nothing; `quarterturn turn status` says how far it is")
        return release, signed

    def _refuse_out_of_order(self, month: Month) -> None:
        for turn in self._months.turns():
            if not turn.finished and turn.month != month:
                raise NotAllowed(f"the turn of {turn.month} is unfinished: run it first")
            if turn.finished and turn.month >= month:
                raise NotAllowed(f"the turn of {turn.month} is done; the next one is {turn.month.plus(1)}")
            if turn.finished and turn == self._months.turns()[-1] and turn.month.plus(1) != month:
                raise NotAllowed(f"the next turn is {turn.month.plus(1)}, not {month}: months are turned in order")

    def _begin(self, month: Month) -> Turn:
        if all(turn.month != month for turn in self._months.turns()):
            self._planner.approved(month)  # both refuse before anything is stopped
        canary = uuid.UUID(bytes=self._entropy(16), version=4)
        page = self._months.keep_page(browser.page().decode())  # a later version's is another one
        return self._months.begin_turn(month, {"canary": str(canary), "page": page})
