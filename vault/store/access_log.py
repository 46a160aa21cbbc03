"""Hash-chained access log: who opened what, when and why.

    digest = SHA-256(JCS(number, at, who, what, why, previous digest)), the first `previous` being 64 zeros

The chain reveals an edit, a gap and a changed order. It cannot reveal that its newest entries were cut off, nor that
somebody with write access rebuilt the whole chain: for that, a digest is kept somewhere else and passed to `verify`.
Each month's `set` statement in the public log commits to one (`rotation.turn.access_log_head`).
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from sqlmodel import Session, col, select

from vault.canonical import digest
from vault.errors import Broken, NotAllowed
from vault.store.tables import OF_RULES, RULES, AccessRow

START = "0" * 64
_AT_ONCE = 1000  # entries that are read at a time
_LIMITS = {"who": 200, "what": 300, "why": 500}


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One entry of the access log: an opening, or another event that has its place in that order.

    Attributes:
        number: counts from 1, without gaps.
        at: when, in UTC.
        who: the person or the part of the system that asked.
        what: `task/<id>`, `blob/<name>`, `blobs/<beginning>* (<how many>)`, or `text/<sha256>` of a traced text;
            `ring/…`, `approval/…`, `rules/…` and `log/…` have their place in the order and open nothing.
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


@dataclass(frozen=True, slots=True)
class Head:
    """Head of the access log at some moment, as a source outside the log states it.

    Attributes:
        entries: how many there were.
        digest: of the last, START where there were none.
        where: what says so.
    """

    entries: int
    digest: str
    where: str


def append(session: Session, at: datetime, *, who: str, what: str, why: str) -> AccessEntry:
    """Add an entry in the caller's transaction, and give it.

    Raises:
        NotAllowed: it does not say who, what and why.
    """
    for name, text in (("who", who), ("what", what), ("why", why)):
        if not text.strip() or len(text) > _LIMITS[name] or not text.isprintable():
            limit = _LIMITS[name]
            raise NotAllowed(f"An opening must say {name}, in 1 to {limit} printable characters; nothing was opened.")
    number, previous = head(session)
    entry = AccessEntry(number + 1, at, who, what, why, previous, digest="")
    entry = replace(entry, digest=_digest(entry))
    session.add(AccessRow(**asdict(entry)))
    session.flush()
    return entry


def entries(
    session: Session,
    *,
    task: str | None = None,
    who: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> Generator[AccessEntry]:
    """Yield the log in order, a few entries at a time.

    Args:
        session: stays open until this is closed.
        task: only what opened something of this task; its id.
        who: only what this person or part of the system opened.
        since: only from this moment on.
        limit: only the newest so many of these.
    """
    query = select(*(col(getattr(AccessRow, name)) for name in AccessEntry.__dataclass_fields__))
    if task is not None:
        query = query.where(col(AccessRow.what).contains(task, autoescape=True))
    if who is not None:
        query = query.where(AccessRow.who == who)
    if since is not None:
        query = query.where(AccessRow.at >= since)
    if limit is not None:
        newest = query.with_only_columns(col(AccessRow.number)).order_by(col(AccessRow.number).desc()).limit(limit)
        query = query.where(col(AccessRow.number).in_(newest))
    query = query.order_by(col(AccessRow.number)).execution_options(yield_per=_AT_ONCE)
    with session.exec(query) as rows:
        for row in rows:
            yield AccessEntry(*row)


def head(session: Session) -> tuple[int, str]:
    """Return how many entries there are and the digest of the last; START where there are none."""
    query = select(AccessRow.number, AccessRow.digest).order_by(col(AccessRow.number).desc()).limit(1)
    return session.exec(query).first() or (0, START)


def rules(session: Session) -> int:
    """Return the number of the newest rules that came into force, or 0; an index answers, however long the log is."""
    query = select(AccessRow.what).where(OF_RULES).order_by(col(AccessRow.number).desc()).limit(1)
    return int((session.exec(query).first() or "0").removeprefix(RULES))


def of_rules(number: int) -> str:
    """Return the text under which the log records rules that came into force."""
    return f"{RULES}{number}"


def verify(log: Iterable[AccessEntry], known: str | None = None, heads: Collection[Head] = ()) -> int:
    """Check the chain, and give how many entries it has.

    Args:
        log: all entries.
        known: a digest that was kept elsewhere and must still stand in the log.
        heads: what was committed to elsewhere and must still stand at its place.

    Raises:
        Broken: the message names the first entry that does not fit.
    """
    committed = sorted(heads, key=lambda head: head.entries, reverse=True)
    previous, count = START, 0
    _require(committed, 0, START)
    for entry in log:
        count += 1
        if entry.number != count:
            raise Broken(
                f"The access log has no entry {count}: after it comes {entry.number}.",
                where=f"entry {count}",
                expected=count,
                found=entry.number,
            )
        if entry.previous != previous:
            raise Broken(
                f"Entry {count} of the access log does not follow the entry before it.",
                where=f"entry {count}: previous",
                expected=previous,
                found=entry.previous,
            )
        if entry.digest != _digest(entry):
            raise Broken(
                f"Entry {count} of the access log was changed after it was written.",
                where=f"entry {count}: digest",
                expected=_digest(entry),
                found=entry.digest,
            )
        _require(committed, count, entry.digest)
        previous = entry.digest
        known = None if known == previous else known
    if committed:
        last = committed[0]
        raise Broken(
            f"The access log has {count} entries; {last.where} commits to {last.entries}: its end was cut off.",
            where="the number of entries",
            expected=last.entries,
            found=count,
        )
    if known not in {None, START}:
        raise Broken(
            f"The access log no longer holds the entry with digest {known}: it was cut off or made anew.",
            where="the digests of all entries",
            expected=known,
        )
    return count


def _require(committed: list[Head], count: int, digest: str) -> None:
    """Compare the commitments that were made at `count` entries, and drop them from the list."""
    while committed and committed[-1].entries == count:
        head = committed.pop()
        if head.digest != digest:
            raise Broken(
                f"Entry {count} of the access log is not the one that {head.where} commits to.",
                where=f"entry {count}: digest",
                expected=head.digest,
                found=digest,
            )


def _digest(entry: AccessEntry) -> str:
    bound = asdict(entry) | {"at": entry.at.astimezone(UTC).isoformat(timespec="microseconds")}
    del bound["digest"]
    return digest(bound)
