"""Automatic monthly turn: once a minute, looks up in the rows what is due, and does it.

1. A turn is due from the moment that the settings name. Months that were missed are turned in their order.
2. One process at a time turns a home (`MonthlyTurns.alone`), and reads the rows again once it holds the lock; the
   others look again in a minute. The rows decide after that: a month's row is unique, and no step is done twice.
3. What a turn lacks is checked before its first step, and notified. Nothing is stopped: runs go on in the old month.
4. An error that interrupts a turn is reported by its kind, never by its text; a begun turn is resumed at each look. A
   turn that needs two signatures asks for them when it is due, and is made at the first look after both are there.
5. Notices follow from the rows, so none is lost to a crash, and a turn made by hand is notified too.
6. Once a month is live, the frozen agents of the settings are submitted for it.
7. Stopping the clock stops it between two steps of a turn; the next start finishes the turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta

from quarterturn.errors import Unapproved, Unavailable, where
from quarterturn.month.monthly_turn import MonthlyTurns
from quarterturn.month.turn_calendar import TurnCalendar
from quarterturn.month.turn_preview import NextTurn
from quarterturn.notices import contents
from quarterturn.notices.outbox import Outbox
from rotation.calendar import Month
from rotation.runs.withdrawal import Withdrawn
from rotation.turn.periodic_job import PeriodicJob
from vault.errors import kind_of

TOLD = timedelta(days=7)  # how long a turn that was made is news

WHY: Mapping[str, str] = {
    "locked": "The key ring or a signing key cannot be used: check its file and the passphrase.",
    "unavailable": "A disk, the database or another part of this machine does not answer.",
    "refused": "It stopped, because it would have broken a promise: `quarterturn turn run` says which.",
}
BROKE = "The turn was interrupted ({}): `quarterturn turn run` resumes it, and says more."

log = logging.getLogger("quarterturn.wall_clock")


class Stopped(Exception):
    """The clock was stopped between two steps of a turn."""


class MonthlyClock:
    """Turns the months of one home.

    What needs the key ring is asked for at each look, since the ring may be locked.

    Args:
        calendar: which turn comes next, and when.
        turns: makes it.
        outbox: takes the notices.
        preview: describes the next turn, and what it lacks.
        withdrawn: lists the withdrawals that a published checkpoint covers.
        frozen_agents: submits those that the month lacks, and gives notices of those that have no run.
    """

    def __init__(
        self,
        calendar: TurnCalendar,
        turns: MonthlyTurns,
        outbox: Outbox,
        *,
        preview: Callable[[], NextTurn],
        withdrawn: Callable[[], list[Withdrawn]],
        frozen_agents: Callable[[], list[contents.Notice]],
    ) -> None:
        self._calendar, self._turns, self._outbox = calendar, turns, outbox
        self._preview, self._withdrawn, self._frozen_agents = preview, withdrawn, frozen_agents
        self._stopping = threading.Event()
        self._alarm = PeriodicJob(self.look)

    def start(self) -> None:
        """Begin to look."""
        self._stopping.clear()
        self._alarm.start()

    def stop(self) -> None:
        """Look no more; a turn that is under way is left after its present step."""
        self._stopping.set()
        self._alarm.stop()

    def look(self) -> None:
        """Make the turns that are due and send their notices; raises nothing."""
        try:
            for notice in self._look():
                self._outbox.add(notice)
            self._outbox.deliver()
        except Exception as error:  # an alarm that ends would be noticed a month later
            log.error("the check for due turns failed: %s", where(error))  # noqa: TRY400 - its words may quote a task

    def coming(self) -> NextTurn:
        """Say what the next turn lacks; where the check itself fails, its error is what is lacking."""
        month, due = self._calendar.next()
        try:
            return self._preview()
        except Exception as error:
            return NextTurn(month, due, begun=False, lacks=(_why(error),))

    def _look(self) -> list[contents.Notice]:
        notices = self._turn()
        made = self._calendar.made()
        notices += [contents.done(turn) for turn in made if turn.started_at > self._calendar.now() - TOLD]
        return [*notices, *(self._gone(made[-1].month.plus(1)) if made else ()), *self._submit_frozen_agents()]

    def _gone(self, month: Month) -> list[contents.Notice]:
        """Tell of what was withdrawn this month; where the log cannot be opened, all else is told."""
        try:
            return [contents.withdrawn(entry) for entry in self._withdrawn() if entry.month == month]
        except Exception as error:
            log.error("withdrawals could not be looked for: %s", where(error))  # noqa: TRY400 - likewise
            return []

    def _submit_frozen_agents(self) -> list[contents.Notice]:
        """Submit the frozen agents, and tell of those that have no run; an error stops nothing else."""
        try:
            return self._frozen_agents()
        except Exception as error:
            log.error("frozen agents could not be submitted: %s", where(error))  # noqa: TRY400 - likewise
            return []

    def _turn(self) -> list[contents.Notice]:
        """Turn month after month while one is due (rule 1)."""
        while not self._stopping.is_set():
            if not self._calendar.is_due():
                return [contents.coming(self.coming())] if self._calendar.is_near() else []
            try:
                with self._turns.alone():
                    problem = self._one()
            except (Unavailable, Stopped):
                return []
            if problem is not None:
                return [problem]
        return []

    def _one(self) -> contents.Notice | None:
        """Make the turn that is due, or say what it lacks (rules 2 to 4)."""
        (month, due), now = self._calendar.next(), self._calendar.now()
        if now < due:
            return None
        try:
            upcoming_turn = self._preview()
            if upcoming_turn.lacks:
                return contents.overdue(upcoming_turn, now.date(), upcoming_turn.lacks)
            log.info("the turn of %s begins", month)
            self._turns.make(month, self._step)
        except Stopped:
            raise
        except Unapproved as error:
            log.info("the turn of %s waits for maintainers to sign", month)
            return contents.overdue(NextTurn(month, due, begun=True), now.date(), [_why(error)])
        except Exception as error:
            log.error("the turn of %s broke off: %s", month, where(error))  # noqa: TRY400 - likewise
            return contents.overdue(NextTurn(month, due, begun=True), now.date(), [_why(error)])
        return None

    def _step(self, step: str) -> None:
        log.info("step %s is done", step)
        if self._stopping.is_set() and step != "activate":
            raise Stopped


def _why(error: Exception) -> str:
    if isinstance(error, Unapproved):
        return f"The turn waits for signatures: {error}."
    return WHY.get(str(kind_of(error)), BROKE.format(type(error).__name__))
