"""Exception classes of the verifiers: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class VerifierError(Exception):
    """Base class of all errors of the verifiers."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(VerifierError):
    """A predicate or a state is malformed; the message says where."""

    kind: ClassVar[Kind] = "malformed"


class StateUnavailable(VerifierError):
    """A state was not handed over, or a probe cannot be made, for a reason of ours: the verdict is unknown."""

    kind: ClassVar[Kind] = "unavailable"


class CorruptState(VerifierError):
    """The state is corrupt (a broken database or repository) or too costly to read: it counts against the agent."""

    kind: ClassVar[Kind] = "no"


class TargetMissing(VerifierError):
    """What the predicate asks about does not exist (no such file, no such table): the predicate is false."""

    kind: ClassVar[Kind] = "no"
