"""Preview of the next turn: what it would do, what it lacks, and who has to sign for it; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from quarterturn.month.turn_calendar import TurnCalendar
from rotation.calendar import Month
from rotation.errors import Refused
from rotation.month.store import Turn
from rotation.turn.plan import Plan, Planner
from sandbox.runs.store import Runs, RunState
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState


@dataclass(frozen=True, slots=True)
class NextTurn:
    """The next turn.

    Attributes:
        month: the month that it ends.
        due: from when on.
        begun: whether its first step is done; it lacks nothing then.
        lacks: what must be there before it can be made, in sentences.
        notes: what it will do that somebody may want to know before.
    """

    month: Month
    due: datetime
    begun: bool
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """What the next turn would do.

    Attributes:
        month: the month that it ends.
        begun: the turn as far as it was made, or None.
        plan: what it would retire and activate, or None for one that was begun.
        notes: who has to sign for it yet, in sentences.
    """

    month: Month
    begun: Turn | None
    plan: Plan | None
    notes: tuple[str, ...]


class TurnPreview:
    """The next turn of one home.

    Args:
        calendar: which turn comes next.
        planner: plans it.
        vault: the tasks that wait for a review.
        runs: the runs that it would end.
        unsigned: says which signatures a plan still needs, or None.
    """

    def __init__(
        self,
        calendar: TurnCalendar,
        planner: Planner,
        vault: Vault,
        runs: Runs,
        unsigned: Callable[[Plan], str | None],
    ) -> None:
        self._calendar, self._planner, self._vault, self._runs = calendar, planner, vault, runs
        self._unsigned = unsigned

    def next(self) -> NextTurn:
        """Describe the next turn, and what it lacks."""
        month, due = self._calendar.next()
        if self._calendar.begun(month):
            return NextTurn(month, due, begun=True, notes=tuple(self._signatures(month)))
        states = (RunState.QUEUED, RunState.RUNNING)
        running = sum(len(self._runs.list(month=str(month), state=state)) for state in states)
        notes = (f"{running} runs are open; tasks not finished by the turn count as failed.",) if running else ()
        lacks = tuple(self._lacking(month))
        return NextTurn(month, due, begun=False, lacks=lacks, notes=(*notes, *self._signatures(month)))

    def plan(self) -> PlannedTurn:
        """Return what the next turn would do, or the one that was begun."""
        month, _ = self._calendar.next()
        begun = self._calendar.begun(month)
        plan = None if begun else self._planner.plan(month)
        return PlannedTurn(month, begun, plan, tuple(self._signatures(month)))

    def _lacking(self, month: Month) -> Iterator[str]:
        try:
            self._planner.plan(month)
        except Refused as refused:  # its words are strata and counts
            yield _sentence(str(refused))
            if waiting := sum(record.may_enter(str(month)) for record in self._vault.records(TaskState.ADMITTED)):
                yield f"{waiting} admitted tasks wait for a reviewer: `quarterturn task review`."

    def _signatures(self, month: Month) -> Iterator[str]:
        """Say who has to sign for the turn yet; once its choice is written down, nobody has to."""
        begun = self._calendar.begun(month)
        if begun and "commit" in begun.done:
            return
        with suppress(Refused):  # what it lacks is said elsewhere
            if words := self._unsigned(self._planner.plan(month)):
                yield _sentence(words)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
