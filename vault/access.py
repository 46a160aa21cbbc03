"""The access log: who opened what, when and why, each entry chained to the one before.

    digest = SHA-256(JCS(number, at, who, what, why, previous digest)), the first `previous` being 64 zeros

The chain shows an edit, a gap and a changed order. It cannot show that its newest entries were cut off, nor that
somebody with write access made the whole chain anew: for that, keep a digest somewhere else and hand it to `verify`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from sqlmodel import Session, col, select

from vault.canonical import canonical
from vault.errors import Broken, NotAllowed
from vault.tables import AccessRow

START = "0" * 64
_LIMITS = {"who": 200, "what": 300, "why": 500}


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One opening.

    Attributes:
        number: counts from 1, without gaps.
        at: when, in UTC.
        who: the person or the part of the system that asked.
        what: `task/<id>`, `blob/<name>`, `blobs/<beginning>* (<how many>)`, or `text/<sha256>` of a traced text.
        why: the reason that was given.
        previous: the digest of the entry before.
        digest: this entry's own.
    """

    number: int
    at: datetime
    who: str
    what: str
    why: str
    previous: str
    digest: str


def append(session: Session, at: datetime, *, who: str, what: str, why: str) -> None:
    """Add an entry in the caller's transaction.

    Raises:
        NotAllowed: it does not say who, what and why.
    """
    for name, text in (("who", who), ("what", what), ("why", why)):
        if not text.strip() or len(text) > _LIMITS[name] or not text.isprintable():
            limit = _LIMITS[name]
            raise NotAllowed(f"An opening must say {name}, in 1 to {limit} printable characters; nothing was opened.")
    last = session.exec(select(AccessRow).order_by(col(AccessRow.number).desc()).limit(1)).first()
    number, previous = (last.number + 1, last.digest) if last else (1, START)
    entry = AccessEntry(number, at, who, what, why, previous, digest="")
    session.add(AccessRow(**asdict(replace(entry, digest=_digest(entry)))))
    session.flush()


def entries(session: Session) -> list[AccessEntry]:
    """List the whole log in order."""
    rows = session.exec(select(AccessRow).order_by(col(AccessRow.number))).all()
    return [AccessEntry(**row.model_dump()) for row in rows]


def verify(log: Sequence[AccessEntry], known: str | None = None) -> None:
    """Check the chain.

    Args:
        log: all entries.
        known: a digest that was kept elsewhere and must still stand in the log.

    Raises:
        Broken: the message names the first entry that does not fit.
    """
    previous = START
    for expected, entry in enumerate(log, start=1):
        if entry.number != expected:
            raise Broken(f"The access log has no entry {expected}: after it comes {entry.number}.")
        if entry.previous != previous:
            raise Broken(f"Entry {expected} of the access log does not follow the entry before it.")
        if entry.digest != _digest(entry):
            raise Broken(f"Entry {expected} of the access log was changed after it was written.")
        previous = entry.digest
    if known not in {None, START, *(entry.digest for entry in log)}:
        raise Broken(f"The access log no longer holds the entry with digest {known}: it was cut off or made anew.")


def _digest(entry: AccessEntry) -> str:
    bound = asdict(entry) | {"at": entry.at.astimezone(UTC).isoformat(timespec="microseconds")}
    del bound["digest"]
    return hashlib.sha256(canonical(bound)).hexdigest()
