"""Task lifecycle: one transition table of states and events.

`TRANSITIONS` defines all of it: every state has its row, a row names the events that are allowed in that state, and any
other event is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from vault.errors import Malformed, NotAllowed


class TaskState(StrEnum):
    """A state of a task."""

    DRAFT = "draft"
    ADMITTED = "admitted"
    REVIEWED = "reviewed"
    LIVE = "live"
    RETIRED = "retired"
    PUBLISHED = "published"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class TaskEvent(StrEnum):
    """An event in the life of a task."""

    ADMIT = "admit"  # it passed the admission gates
    APPROVE = "approve"  # a second person reviewed it
    REJECT = "reject"  # a gate or a reviewer said no
    ACTIVATE = "activate"  # its commitment is under a published checkpoint: it may be served
    RETIRE = "retire"  # its cohort left at the turn
    PUBLISH = "publish"  # it is opened to everybody
    WITHDRAW = "withdraw"  # it leaked or is broken; the ledger says why


EVENTS = tuple(TaskEvent)
FIRST = TaskState.DRAFT

TRANSITIONS: Mapping[TaskState, Mapping[TaskEvent, TaskState]] = MappingProxyType(
    {
        TaskState.DRAFT: MappingProxyType({TaskEvent.ADMIT: TaskState.ADMITTED, TaskEvent.REJECT: TaskState.REJECTED}),
        TaskState.ADMITTED: MappingProxyType(
            {TaskEvent.APPROVE: TaskState.REVIEWED, TaskEvent.REJECT: TaskState.REJECTED}
        ),
        # A reviewed task may already stand in a committed reserve, so it leaves by a withdrawal and not by a rejection.
        TaskState.REVIEWED: MappingProxyType(
            {TaskEvent.ACTIVATE: TaskState.LIVE, TaskEvent.WITHDRAW: TaskState.WITHDRAWN}
        ),
        TaskState.LIVE: MappingProxyType(
            {TaskEvent.RETIRE: TaskState.RETIRED, TaskEvent.WITHDRAW: TaskState.WITHDRAWN}
        ),
        TaskState.RETIRED: MappingProxyType({TaskEvent.PUBLISH: TaskState.PUBLISHED}),
        TaskState.PUBLISHED: MappingProxyType({}),
        TaskState.REJECTED: MappingProxyType({}),
        TaskState.WITHDRAWN: MappingProxyType({}),
    }
)


def advance(state: TaskState, event: TaskEvent | str) -> TaskState:
    """Return the state that follows when `event` happens.

    Raises:
        NotAllowed: the event is not open from this state; the message says from which states it is.
        Malformed: there is no such event.
    """
    if event not in set(EVENTS):
        raise Malformed(f"There is no event {event!r} in a task's life; there are {', '.join(EVENTS)}.")
    known = TaskEvent(event)
    if known not in TRANSITIONS[state]:
        origins = " or ".join(origin for origin, row in TRANSITIONS.items() if known in row)
        raise NotAllowed(f"{known.value!r} is not open to a task that is {state.value}, only to one that is {origins}.")
    return TRANSITIONS[state][known]
