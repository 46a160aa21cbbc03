"""Errors of this room: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class RotationError(Exception):
    """Anything that went wrong in this room."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(RotationError):
    """A month or a plan that cannot be understood."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(RotationError):
    """No month, cohort or run of that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(RotationError):
    """This step is not open to whoever asked, or not now."""

    kind: ClassVar[Kind] = "not-allowed"


class Refused(RotationError):
    """A promise would be broken: nothing was done."""

    kind: ClassVar[Kind] = "refused"
