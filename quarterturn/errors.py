"""Errors of the hall, in the same form as every other room's."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class HallError(Exception):
    """Anything that went wrong in the hall."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(HallError):
    """A setting, an option or a file given on the command line cannot be understood."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(HallError):
    """The home, or something named on the command line, is not there."""

    kind: ClassVar[Kind] = "not-found"


class Unavailable(HallError):
    """The machine lacks something; the message says what to install."""

    kind: ClassVar[Kind] = "unavailable"


class UpstreamDown(Unavailable):
    """The upstream of a model answers nobody: what was not served yet waits until it does."""


class Refused(HallError):
    """Doing it would overwrite or break something: nothing was done."""

    kind: ClassVar[Kind] = "refused"


class NotAllowed(HallError):
    """It is not open to whoever asked, or not now."""

    kind: ClassVar[Kind] = "not-allowed"


class Unapproved(NotAllowed):
    """It takes two maintainers, and they have not signed yet; its words are ids and counts, and may be told."""


class OverQuota(HallError):
    """A quota is used up; the message says which, and when there is more."""

    kind: ClassVar[Kind] = "quota"


def where(error: BaseException) -> str:
    """Say where an error comes from, and nothing of its words, which may quote a task."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{place}"
