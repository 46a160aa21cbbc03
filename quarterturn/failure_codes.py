"""Failure codes of submissions: the code that the submitter sees, its hint, and whether it is refunded.

The exact cause is never disclosed: the text of an error may quote a task, and an agent that can choose its error could
ask questions with it. A failure of *ours* costs its owner nothing, as long as no private task was served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quarterturn.errors import AgentCrashed
from sandbox.results.failure import AGENT_CRASHED
from vault.errors import kind_of


@dataclass(frozen=True, slots=True)
class FailureCode:
    """A failure code.

    Attributes:
        ours: whether it is refunded, as long as no private task was served.
        hint: what its owner can do.
    """

    ours: bool
    hint: str


CODES: Mapping[str, FailureCode] = {
    "cancelled": FailureCode(ours=False, hint="You cancelled it."),
    "not-runnable": FailureCode(ours=False, hint="It cannot be run as given: check the image or the URL."),
    "not-found": FailureCode(
        ours=False, hint="The image, model or address was not found: push it or correct the name."
    ),
    "refused": FailureCode(
        ours=False, hint="It breaks a rule for submissions: see what an image or an endpoint must not do."
    ),
    AGENT_CRASHED: FailureCode(
        ours=False,
        hint="Its program ended with an error, or never asked for a task: a run on the dev set shows what it printed.",
    ),
    "not-now": FailureCode(ours=True, hint="No set was live, or a turn was under way: submit it again after the turn."),
    "turn": FailureCode(ours=True, hint="The month turned before it was served a task. Refunded: submit it again."),
    "machine": FailureCode(ours=True, hint="Our machine could not run it. Tell us its id before the month turns."),
    "interrupted": FailureCode(
        ours=True, hint="It was interrupted several times. Tell us its id before the month turns."
    ),
    "mistake": FailureCode(ours=True, hint="An internal error ended it. Tell us its id before the month turns."),
}

_KINDS: Mapping[str, str] = {
    "malformed": "not-runnable",
    "not-found": "not-found",
    "refused": "refused",
    "not-allowed": "not-now",
    "unavailable": "machine",
    "locked": "machine",
}


def code_of(error: BaseException) -> str:
    """Return the code of what ended a submission."""
    return AGENT_CRASHED if isinstance(error, AgentCrashed) else _KINDS.get(str(kind_of(error)), "mistake")


CHARGED_STATES = ("queued", "running", "done")


def charged(state: str, code: str | None, *, served: bool, started: bool = False) -> bool:
    """Say whether a submission counts against a quota; one that waits, runs or is done does.

    A run that was served a private task is never refunded, whatever ended it.

    Args:
        state: where it stands.
        code: its failure code, if it failed.
        served: whether its run was served a private task.
        started: whether it began to be played on public tasks.
    """
    if state in CHARGED_STATES or served:
        return True
    return started and not (code is not None and CODES[code].ours)
