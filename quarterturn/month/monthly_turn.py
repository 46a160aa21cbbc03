"""Monthly turn: one process at a time makes it, and what comes after it.

A process that turns holds `head/turn.lock`, which the kernel frees when its holder dies. The lock spares two processes
on one home each other's errors; the rows ensure that no turn is made twice
(`rotation.month.store.MonthStore.step_done`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from quarterturn.errors import Unavailable
from quarterturn.month.turn_calendar import TurnCalendar
from quarterturn.progress import Progress
from rotation.calendar import Month
from rotation.month.store import Turn
from rotation.turn.turn import Rotation
from rotation.turn.turn_facts import STEPS
from vault.errors import Unavailable as Held
from vault.file_lock import locked


class MonthlyTurns:
    """The turns of one home.

    Args:
        lock: the file that is locked by a process that turns.
        calendar: which turn comes next.
        rotation: gives what makes a turn; asked for with the lock held, since it opens the key ring.
        after: is called once a turn is made, with what was made.
    """

    def __init__(
        self, lock: Path, calendar: TurnCalendar, rotation: Callable[[], Rotation], after: Callable[[str], None]
    ) -> None:
        self._lock, self._calendar, self._rotation, self._after = lock, calendar, rotation, after

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the home's turn lock, so that no other process turns it.

        Raises:
            Unavailable: somebody else is at it.
        """
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._lock, 0, "turning this home"))
            except Held:
                raise Unavailable("another process is turning this home; try again when it is done") from None
            yield

    def run(self, month: str | None, out: Progress, *, early: bool = False) -> Turn:
        """Run the next turn (or the one that is named), or finish the one that was begun.

        Args:
            month: which turn, or None for the next.
            out: shows its steps.
            early: whether a month that is not over may be turned.

        Raises:
            Unavailable: another process is at it.
            Unapproved: two maintainers have to sign for it first.
            NotAllowed, Refused: the month is not over; and see `rotation.turn.turn.Rotation.run`.
        """
        with self.alone():
            chosen = Month.parse(month) if month else self._calendar.next()[0]
            with out.progress(f"turn of {chosen}", len(STEPS)) as advance:
                return self.make(chosen, lambda _: advance(1), early=early)

    def make(self, month: Month, on_step: Callable[[str], None], *, early: bool = False) -> Turn:
        """Make a turn and what comes after it; the caller holds the home `alone`."""
        if not early:
            self._calendar.require_over(month)
        turn = self._rotation().run(month, on_step)
        self._after(f"turn of {month}")
        return turn
