"""Errors of the sandbox: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class SandboxError(Exception):
    """Base class of the errors of the sandbox."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(SandboxError):
    """A submission, state or stream that cannot be understood."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(SandboxError):
    """No run or server of that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(SandboxError):
    """This step is not open from this state, or not to this attempt."""

    kind: ClassVar[Kind] = "not-allowed"


class Unavailable(SandboxError):
    """A box, an engine or a program is missing; the message says what to install."""

    kind: ClassVar[Kind] = "unavailable"


class Refused(SandboxError):
    """Running this would break a rule of the benchmark: nothing was started."""

    kind: ClassVar[Kind] = "refused"


class Lost(SandboxError):
    """The machinery broke while a run was under way; the facts show how."""

    kind: ClassVar[Kind] = "unavailable"


class Unjudged(Lost):
    """What was left could not be judged, for a reason of ours: the verdict is unknown."""
