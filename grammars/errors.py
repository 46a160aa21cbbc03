"""Errors of the grammars package; each message names the thing, the reason and the next step.

The command line maps `kind` to an exit code; nothing below the command line prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class GrammarError(Exception):
    """Base class of the errors of the grammars package."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(GrammarError):
    """A grammar that cannot be understood; the message names file, template and field."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(GrammarError):
    """No grammar, template or draft of that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(GrammarError):
    """The caller may not take this step, or the task's state does not allow it."""

    kind: ClassVar[Kind] = "not-allowed"


class Exhausted(GrammarError):
    """The grammar has no unseen skeleton left for this stratum."""

    kind: ClassVar[Kind] = "refused"


class Refused(GrammarError):
    """The request would change nothing, or would break a rule."""

    kind: ClassVar[Kind] = "refused"
