"""The month turns by itself: each minute the rows are asked what is due, and that is done.

1. A turn is due from the moment that the settings name. Months that were missed are turned in their order.
2. Who turns is alone on the home (`quarterturn.month.monthly_turn.alone`), and asks the rows again once it is; whoever
   is not looks again in a minute. The rows decide after that: a month's row is unique, and no step is done twice.
3. What a turn lacks is looked at before its first step, and told. Nothing is stopped: runs go on in the old month.
4. What breaks a turn off is told by its kind, never by its words; a begun turn is gone on with at each look. A turn
   that two maintainers have to sign for asks them when it is due, and is made at the first look after they have.
5. What is told follows from the rows, so nothing is lost to a crash, and a turn made by hand is told too.
6. Who stops the clock stops it between two steps of a turn; whoever starts next finishes that.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta

from quarterturn.clock import next_turn
from quarterturn.composition.wiring import House
from quarterturn.errors import Unapproved, Unavailable, where
from quarterturn.month import monthly_turn
from quarterturn.month.monthly_turn import Coming
from quarterturn.notices import channels, contents
from quarterturn.notices.outbox import Outbox
from rotation.calendar import Month
from rotation.runs import withdrawal
from rotation.turn.alarm import PAUSE, Alarm
from vault.errors import kind_of

TOLD = timedelta(days=7)  # how long a turn that was made is news

WHY: Mapping[str, str] = {
    "locked": "The key ring or a signing key cannot be used: is its file there, and the passphrase right?",
    "unavailable": "A disk, the database or another part of this machine does not answer.",
    "refused": "A promise would have been broken, so it was not gone on with: `quarterturn turn run` says which.",
}
BROKE = "It broke off ({}): `quarterturn turn run` goes on with it, and says more."

log = logging.getLogger("quarterturn.clock")


class Stopped(Exception):
    """The clock was stopped between two steps of a turn."""


class Clock:
    """Turns the months of one home.

    Args:
        house: the home, open and unlocked.
        seconds: how long it sleeps between looks.
    """

    def __init__(self, house: House, seconds: float = PAUSE) -> None:
        self._house, self._stopping = house, threading.Event()
        self._alarm = Alarm(self.look, seconds)

    def start(self) -> None:
        """Begin to look."""
        self._stopping.clear()
        self._alarm.start()

    def stop(self) -> None:
        """Look no more; a turn that is under way is left after its present step."""
        self._stopping.set()
        self._alarm.stop()

    def look(self) -> None:
        """Do what is due, and tell what is to be told; raises nothing."""
        try:
            box = outbox(self._house)
            for notice in self._look():
                box.add(notice)
            box.deliver()
        except Exception as error:  # an alarm that ends would be noticed a month later
            log.error("a look at the clock broke off: %s", where(error))  # noqa: TRY400 - its words may quote a task

    def _look(self) -> list[contents.Notice]:
        told = self._turn()
        made = [turn for turn in self._house.months.turns() if turn.finished]
        told += [contents.done(turn) for turn in made if turn.started_at > self._house.now() - TOLD]
        return [*told, *(self._gone(made[-1].month.plus(1)) if made else ())]

    def _gone(self, month: Month) -> list[contents.Notice]:
        """Tell of what was withdrawn this month; where the log cannot be opened, all else is told."""
        try:
            return [contents.withdrawn(one) for one in withdrawal.listed(self._house.books) if one.month == month]
        except Exception as error:
            log.error("withdrawals could not be looked for: %s", where(error))  # noqa: TRY400 - likewise
            return []

    def _turn(self) -> list[contents.Notice]:
        """Turn month after month while one is due (rule 1)."""
        while not self._stopping.is_set():
            _, due = self._next()
            if self._house.now() < due:
                return self._remind()
            try:
                with monthly_turn.alone(self._house):
                    problem = self._one()
            except (Unavailable, Stopped):
                return []
            if problem is not None:
                return [problem]
        return []

    def _one(self) -> contents.Notice | None:
        """Make the turn that is due, or say what it lacks (rules 2 to 4)."""
        month, due = self._next()
        if (now := self._house.now()) < due:
            return None
        try:
            found = monthly_turn.coming(self._house)
            if found.lacks:
                return contents.overdue(found, now.date(), found.lacks)
            log.info("the turn of %s begins", month)
            monthly_turn.make(self._house, month, self._step)
        except Stopped:
            raise
        except Unapproved as error:
            log.info("the turn of %s waits for maintainers to sign", month)
            return contents.overdue(Coming(month, due, begun=True), now.date(), [_why(error)])
        except Exception as error:
            log.error("the turn of %s broke off: %s", month, where(error))  # noqa: TRY400 - likewise
            return contents.overdue(Coming(month, due, begun=True), now.date(), [_why(error)])
        return None

    def _step(self, step: str) -> None:
        log.info("step %s is done", step)
        if self._stopping.is_set() and step != "activate":
            raise Stopped

    def _remind(self) -> list[contents.Notice]:
        month, due = self._next()
        if self._house.now() < due - timedelta(days=self._house.settings.clock.remind_days):
            return []
        return [contents.coming(coming(self._house, month, due))]

    def _next(self) -> tuple[Month, datetime]:
        return next_turn(self._house.months, self._house.settings)


def coming(house: House, month: Month, due: datetime) -> Coming:
    """Say what the next turn lacks; where that cannot be looked at, it lacks just that."""
    try:
        return monthly_turn.coming(house)
    except Exception as error:
        return Coming(month, due, begun=False, lacks=(_why(error),))


def _why(error: Exception) -> str:
    if isinstance(error, Unapproved):
        return f"It waits: {error}."
    return WHY.get(str(kind_of(error)), BROKE.format(type(error).__name__))


def outbox(house: House) -> Outbox:
    """Give a home's outbox."""
    origin = house.settings.benchmark.origin
    return Outbox(house.engine, channels.of(house.settings.notify, house.home, origin, house.now), origin, house.now)
