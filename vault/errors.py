"""Exception classes of the vault: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]

_OPENED = "run it as the user who may, or let this one use it"
_ROOM = "make room on its disk, then try again"
_STEPS = {
    errno.EACCES: _OPENED,
    errno.EPERM: _OPENED,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.ENAMETOOLONG: "name a shorter path",
    errno.EROFS: "have it mounted for writing, or name another place",
}
_SHOWN = 200  # characters of a value that a line of text shows


@runtime_checkable
class ErrorWithKind(Protocol):
    """Protocol of each package's root error: an exception with a `kind`."""

    kind: ClassVar[Kind]


def kind_of(error: BaseException) -> Kind | None:
    """Return the `kind` of one of our own errors, whichever package raised it; None for any other exception."""
    return error.kind if isinstance(error, ErrorWithKind) else None


def reason_and_step(error: OSError) -> str:
    """Return why the system refused a file or a folder, and what a person can do about it."""
    step = _STEPS.get(error.errno or 0, "look at its folder and its disk, then try again")
    return f"{error.strerror or error}; {step}"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Evidence of an error: a place, the value that was expected there, and the value that was found.

    Values are JSON values that may hold byte strings; None stands for nothing. Both are whole, however long they are,
    and neither is ever a part of a private task.

    Attributes:
        where: the file, the leaf or the field, from the outside in: `leaf 7: $.predicate.previous`.
        expected: the value that the message calls right; None also where there is nothing to compare with.
        found: the value that stands in its place.
    """

    where: str | None = None
    expected: Any = None
    found: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, whole; byte strings are in lower-case hex."""
        values = {"expected": _as_json(self.expected), "found": _as_json(self.found)}
        return {"where": self.where, **values}

    def lines(self) -> Iterator[str]:
        """Write it as text, line by line; a long value is shortened, and its length is stated."""
        if self.expected is not None or self.found is not None:
            yield f"expected {_as_text(self.expected)}"
            yield f"found {_as_text(self.found)}"
        if self.where is not None:
            yield f"at {_as_text(self.where)}"


class VaultError(Exception):
    """Base class of all errors of the vault.

    Args:
        message: a sentence for people.
        where: see `Disagreement`, as for the next two.
        expected: the value that should stand there.
        found: the value that stands there.
        rule: the name of the rule of the ledger that is broken, where there is one.

    Attributes:
        evidence: what disagrees, or None where the error carries its message alone.
    """

    kind: ClassVar[Kind] = "malformed"

    def __init__(
        self,
        message: str = "",
        *,
        where: str | None = None,
        expected: Any = None,
        found: Any = None,
        rule: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        known = where is not None or expected is not None or found is not None
        self.evidence = Disagreement(where, expected, found) if known else None

    def with_message(self, message: str, where: str | None = None) -> Self:
        """Return an error of the same class and evidence under another message.

        Args:
            message: the new sentence.
            where: the place that surrounds the one that the evidence names, if there is one.
        """
        inner = self.evidence or Disagreement()
        place = ": ".join(place for place in (where, inner.where) if place) or None
        values = {"expected": inner.expected, "found": inner.found}
        return type(self)(message, where=place, rule=self.rule, **values)


@contextmanager
def within(where: str) -> Iterator[None]:
    """Put a place before the message, and before the place of the evidence, of an error of the block."""
    try:
        yield
    except VaultError as error:
        raise error.with_message(f"{where}: {error}", where) from None


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


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=bytes.hex))


def printable(text: str) -> str:
    """Return a text on one line; a release may be hostile, so control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _as_text(value: Any) -> str:
    """Write a value on one line."""
    if value is None:
        return "nothing"
    text = _as_json(value)
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False, sort_keys=True)
    return printable(text[:_SHOWN]) + (f"\u2026 ({len(text)} characters)" if len(text) > _SHOWN else "")
