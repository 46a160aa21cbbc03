"""Errors of the rotation package; each message names the thing, the reason and the next step.

The command line maps `kind` to an exit code; nothing below the command line prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class RotationError(Exception):
    """Base class of the errors of the rotation package."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(RotationError):
    """A month or another input that cannot be parsed."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(RotationError):
    """No month, cohort or run of that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(RotationError):
    """The caller may not take this step, or not now."""

    kind: ClassVar[Kind] = "not-allowed"


class Refused(RotationError):
    """The step would break a promise or a rule; nothing was done."""

    kind: ClassVar[Kind] = "refused"
