"""Errors of this room: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, runtime_checkable

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


@runtime_checkable
class OfAKind(Protocol):
    """What the root error of every room is: an exception with a kind."""

    kind: ClassVar[Kind]


def kind_of(error: BaseException) -> Kind | None:
    """Give the kind of one of our own errors, of whichever room; None for any other."""
    return error.kind if isinstance(error, OfAKind) else None


class VaultError(Exception):
    """Anything that went wrong in this room."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(VaultError):
    """A document or file that cannot be understood; the message says where."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(VaultError):
    """Nothing is stored under that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(VaultError):
    """This step is not open to whoever asked, or not from this state."""

    kind: ClassVar[Kind] = "not-allowed"


class Locked(VaultError):
    """A key is missing, locked, or opened with the wrong passphrase."""

    kind: ClassVar[Kind] = "locked"


class Refused(VaultError):
    """A promise would be broken: nothing was done."""

    kind: ClassVar[Kind] = "refused"


class Broken(VaultError):
    """A check of signatures, hashes or chains came out wrong."""

    kind: ClassVar[Kind] = "no"


class Unavailable(VaultError):
    """The database cannot be reached, or was busy for too long."""

    kind: ClassVar[Kind] = "unavailable"
