"""Errors of this room: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class GrammarError(Exception):
    """Anything that went wrong in this room."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(GrammarError):
    """A grammar that cannot be understood; the message names file, template and field."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(GrammarError):
    """No grammar, template or draft of that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(GrammarError):
    """This step is not open to whoever asked, or not from this state."""

    kind: ClassVar[Kind] = "not-allowed"


class Exhausted(GrammarError):
    """The grammar has no unseen skeleton left for this stratum."""

    kind: ClassVar[Kind] = "refused"


class Refused(GrammarError):
    """What was asked for would change nothing, or break a rule."""

    kind: ClassVar[Kind] = "refused"
