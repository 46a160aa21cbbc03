"""Errors of this room: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class VerifierError(Exception):
    """Anything that went wrong in this room."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(VerifierError):
    """A predicate or a state that cannot be understood; the message says where."""

    kind: ClassVar[Kind] = "malformed"


class Unreadable(VerifierError):
    """A probe could not be made for a reason of ours: the verdict is unknown."""

    kind: ClassVar[Kind] = "unavailable"


class Spoiled(VerifierError):
    """The state itself is wreckage (a corrupt database, a broken repository): the probe counts against it."""

    kind: ClassVar[Kind] = "no"


class Lacking(VerifierError):
    """What the predicate asks about is not there (no such file, no such table): the predicate is false."""

    kind: ClassVar[Kind] = "no"
