"""Exception classes of the vault: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, runtime_checkable

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]


@runtime_checkable
class ErrorWithKind(Protocol):
    """Protocol of each package's root error: an exception with a `kind`."""

    kind: ClassVar[Kind]


def kind_of(error: BaseException) -> Kind | None:
    """Give the `kind` of one of our own errors, whichever package raised it; None for any other exception."""
    return error.kind if isinstance(error, ErrorWithKind) else None


class VaultError(Exception):
    """Base class of all errors of the vault."""

    kind: ClassVar[Kind] = "malformed"


class Malformed(VaultError):
    """A document or file that cannot be understood; the message says where."""

    kind: ClassVar[Kind] = "malformed"


class NotFound(VaultError):
    """Nothing is stored under that name."""

    kind: ClassVar[Kind] = "not-found"


class NotAllowed(VaultError):
    """The caller may not take this step, or not in the current state."""

    kind: ClassVar[Kind] = "not-allowed"


class Locked(VaultError):
    """A key is missing, locked, or opened with the wrong passphrase."""

    kind: ClassVar[Kind] = "locked"


class Refused(VaultError):
    """The step would break a rule or a promise, or overwrite something that exists; nothing was done."""

    kind: ClassVar[Kind] = "refused"


class Broken(VaultError):
    """A signature, hash or chain does not verify."""

    kind: ClassVar[Kind] = "no"


class Unavailable(VaultError):
    """The database cannot be reached, or was busy for too long."""

    kind: ClassVar[Kind] = "unavailable"
