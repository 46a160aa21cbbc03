"""Errors of the `quarterturn` package, in the same form as those of every other package."""

from __future__ import annotations

import traceback
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Literal

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


class ApplicationError(Exception):
    """The base of this package's errors.

    Args:
        message: a sentence for the operator; no API sends it.
        shown: what a problem document says of it (`detail`, `field`, `state`, …), made from what the caller sent or may
            see.
    """

    kind: ClassVar[Kind] = "malformed"
    problem: ClassVar[str] = ""
    """The code of its problem document, where that of its kind says too little."""

    def __init__(self, message: str = "", **shown: Any) -> None:
        super().__init__(message)
        self.shown = shown


class Malformed(ApplicationError):
    """A setting, an option or a file given on the command line cannot be understood."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(ApplicationError):
    """The home, or something named on the command line, is not there."""

    kind: ClassVar[Kind] = "not-found"


class Unavailable(ApplicationError):
    """The machine lacks something; the message says what to install."""

    kind: ClassVar[Kind] = "unavailable"


class UpstreamDown(Unavailable):
    """A language model's upstream does not answer; tasks that were not served yet wait until it does."""


class Refused(ApplicationError):
    """Doing it would overwrite or break something: nothing was done."""

    kind: ClassVar[Kind] = "refused"


class AgentCrashed(Refused):
    """A program never asked for a public task; the message may quote what it printed there."""


class NotAllowed(ApplicationError):
    """The caller may not do this, or not in the present state."""

    kind: ClassVar[Kind] = "not-allowed"


class NotNow(NotAllowed):
    """No private set accepts runs at the moment."""

    problem: ClassVar[str] = "not-now"


class NoModel(NotFound):
    """The settings allow no language model of this name."""

    problem: ClassVar[str] = "invalid"


class ForeignImage(Refused):
    """An image may be somebody else's."""

    problem: ClassVar[str] = "not-yours"


class KeyReused(NotAllowed):
    """An idempotency key was used with a different request."""

    problem: ClassVar[str] = "key-reused"


class MonthTurned(NotAllowed):
    """The month turned before the run of a submission was opened."""


class NameTaken(NotAllowed):
    """A display name is, or looks like, one that somebody has."""


class Unapproved(NotAllowed):
    """Two maintainers must sign first and have not; the message holds only ids and counts, so it may be shown."""


class OverQuota(ApplicationError):
    """A quota is used up; the message says which, and when there is more."""

    kind: ClassVar[Kind] = "quota"


def require_file(path: Path) -> None:
    """Refuse a path with no file behind it.

    Raises:
        NotFound: there is nothing, or a folder.
    """
    if path.is_file():
        return
    if path.is_dir():
        raise NotFound(f"{path} is a folder, and a file is needed: name one in it")
    if path.exists():
        raise NotFound(f"{path} is a device or a pipe: write what it gives into a file, and name that")
    raise NotFound(f"there is no file {path}")


def home_option(home: Path) -> str:
    """Return the option that names a home in a command to be copied into a shell: `--home 'my home'`."""
    return f"--home {quote(str(home))}"


def where(error: BaseException) -> str:
    """Return an error's type and place, without its message, which may quote a task."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{place}"
