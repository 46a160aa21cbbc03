"""What a submitter is told of a submission that came to nothing: one code of this table, and what to do about it.

Why exactly it failed is never said: the words of an error may quote a task, and who could choose the error could ask
questions with it. What is *ours* costs its owner nothing, as long as no private task was served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vault.errors import kind_of


@dataclass(frozen=True, slots=True)
class Code:
    """One way to come to nothing.

    Attributes:
        ours: whether it is refunded, as long as no private task was served.
        hint: what its owner can do.
    """

    ours: bool
    hint: str


CODES: Mapping[str, Code] = {
    "cancelled": Code(ours=False, hint="You cancelled it."),
    "not-runnable": Code(ours=False, hint="It cannot be run as it was named: look at the image or the URL."),
    "not-found": Code(ours=False, hint="The image, the model or the address is not there: push or name it again."),
    "refused": Code(ours=False, hint="It may not be run: see what an image or an endpoint must not do."),
    "not-now": Code(ours=True, hint="Nothing was live to run it on: submit it again after the turn."),
    "turn": Code(ours=True, hint="The month turned before it was served a task: submit it again."),
    "machine": Code(ours=True, hint="Our machine could not run it. Tell us its id before the month turns."),
    "interrupted": Code(ours=True, hint="It was cut short several times. Tell us its id before the month turns."),
    "mistake": Code(ours=True, hint="A mistake of ours ended it. Tell us its id before the month turns."),
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
    """Give the code of what ended a submission."""
    return _KINDS.get(str(kind_of(error)), "mistake")


def charged(state: str, code: str | None, *, served: bool, started: bool = False) -> bool:
    """Say whether a submission counts against a quota: what waits or runs does, and what came to something.

    A run that was served a private task is never refunded, whatever ended it.

    Args:
        state: where it stands.
        code: of one that came to nothing.
        served: whether its run was served a private task.
        started: whether it began to be played on public tasks.
    """
    if state in ("queued", "running", "done") or served:
        return True
    return started and not (code is not None and CODES[code].ours)
