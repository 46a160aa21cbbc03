"""Notices to maintainers: a turn is due soon, done or overdue, a task was withdrawn, or a frozen agent was not run.

A notice is made from rows alone, and its key identifies its subject for good: making it again gives the same notice. It
holds months, counts and strata, which are public, and no text of an error, which may quote a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

from rotation.month.store import Turn
from rotation.runs.withdrawal import Withdrawn

if TYPE_CHECKING:
    from quarterturn.month.turn_preview import NextTurn

Kind = Literal["turn.coming", "turn.done", "turn.overdue", "task.withdrawn", "agent.missing"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice.

    Attributes:
        key: names it for ever.
        kind: what it is.
        month: whose turn it is about, or in which it happened.
        subject: one sentence.
        lines: what there is to know or to do, in sentences.
    """

    key: str
    kind: Kind
    month: str
    subject: str
    lines: tuple[str, ...] = ()


def coming(turn: NextTurn) -> Notice:
    """Tell of a turn that will be due, once."""
    subject = f"The turn of {turn.month} is due on {turn.due:%Y-%m-%d at %H:%M} UTC."
    lines = turn.lacks or ("Nothing is missing for it.",)
    return Notice(f"turn.coming/{turn.month}", "turn.coming", str(turn.month), subject, (*lines, *turn.notes))


def overdue(turn: NextTurn, today: date, why: Sequence[str]) -> Notice:
    """Tell of a turn that could not be made, once a day."""
    subject = f"The turn of {turn.month} is overdue since {turn.due:%Y-%m-%d at %H:%M} UTC."
    return Notice(f"turn.overdue/{turn.month}/{today}", "turn.overdue", str(turn.month), subject, tuple(why))


def done(turn: Turn) -> Notice:
    """Tell of a turn that was made, once."""
    subject = f"The turn of {turn.month} is done: {turn.month.plus(1)} is live."
    return Notice(f"turn.done/{turn.month}", "turn.done", str(turn.month), subject)


def withdrawn(entry: Withdrawn) -> Notice:
    """Tell of a task that was withdrawn, once."""
    subject = f"Task {entry.task} was withdrawn at leaf {entry.leaf} ({entry.cause}): {entry.reason}"
    took = (
        f"{entry.replacement} took its place."
        if entry.replacement
        else "No reserve was left, so its place stays empty."
    )
    stood = "It was in a reserve." if entry.cohort is None else f"It was in {entry.cohort}. {took}"
    return Notice(f"task.withdrawn/{entry.leaf}", "task.withdrawn", str(entry.month), subject, (stood,))


def agent_missing(name: str, month: str, why: str) -> Notice:
    """Tell of a frozen agent that has no run in a month, once."""
    subject = f"The frozen agent {name} has no run in {month}."
    return Notice(f"agent.missing/{name}/{month}", "agent.missing", month, subject, (why,))
