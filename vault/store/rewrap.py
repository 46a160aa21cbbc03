"""Key rotation: wraps every data key again under a fresh ring key, then drops the older ring keys.

Only data keys are unwrapped and wrapped again; no ciphertext is read or written.

    1. A fresh key is made, and is the ring's primary from then on. A ring that holds an older key beside it has a
       rotation under way: it gets no further key, and a call goes on from here.
    2. Whatever is under an older key is wrapped again: rows in the order of their primary keys, some hundred in each
       transaction, then the sealed files.
    3. Each older key that nothing is under any more is dropped from the ring.

Nothing is ever left under a key that was dropped, even if any number of processes seal at the same time:

    a. A writer that seals a row holds the lock of all writers (`vault.database.transaction`) until it commits; a writer
       that seals a file holds the lock of the ring's folder (`vault.keys.private_files.exclusive_lock`) until the file
       has its name. The ring reads its own file again before it wraps.
    b. Step 1 holds both locks. So it never happens in the middle of a sealing, and every later sealing uses the new
       key: from then on the counts under older keys only fall.
    c. Step 3 counts after step 1, under the lock of all writers: a count of zero stays zero.

Killed at any point, every row and file is under one key that the ring holds, and the same call goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Protocol

from sqlalchemy import Engine, Update, bindparam, func, update
from sqlalchemy.orm import defer
from sqlmodel import Session, col, select

from vault.database import transaction
from vault.errors import Refused, VaultError
from vault.keys.ring import KeyRing
from vault.keys.seal import rewrap
from vault.store import access_log, blobs
from vault.store.tables import SHREDDED, BlobRow, TaskRow
from vault.store.task_record import TaskRecord

PART_ROWS, PART_BYTES = 500, 8 << 20
"""How much one transaction wraps again: SQLite writes a row's ciphertext anew with it, though nobody reads it."""


class RotatableRing(KeyRing, Protocol):
    """Protocol of a key ring whose key can be rotated."""

    @property
    def key_ids(self) -> Sequence[str]:
        """The names of its keys, the oldest first."""
        ...

    def add_key(self, at: datetime) -> None:
        """Make a fresh key the primary one."""
        ...

    def drop_key(self, key_id: str) -> None:
        """Forget a key that is not the primary one."""
        ...


class SealedFiles(Protocol):
    """Protocol of the sealed files, as far as key rotation needs it."""

    def under(self) -> Mapping[str, int]:
        """Count the files under each key."""
        ...

    def rewrap(self) -> int:
        """Wrap what is under an older key again, and say how many files that were."""
        ...


@dataclass(frozen=True, slots=True)
class WrappedCounts:
    """Numbers of sealed items under one key."""

    tasks: int = 0
    blobs: int = 0
    files: int = 0

    @property
    def total(self) -> int:
        """The sum of all of them."""
        return self.tasks + self.blobs + self.files

    def __str__(self) -> str:
        return f"{self.tasks} tasks, {self.blobs} other sealed rows and {self.files} key files"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A table with sealed rows.

    Attributes:
        row: its class.
        key: the name of its primary key.
        context: what a row's content is bound to.
    """

    row: type[TaskRow | BlobRow]
    key: str
    context: Callable[[Any], bytes]

    @property
    def column(self) -> Any:
        """The primary key's column."""
        return col(getattr(self.row, self.key))


_KINDS = (
    _Kind(TaskRow, "id", lambda row: TaskRecord.of(row).context()),
    _Kind(BlobRow, "name", lambda row: blobs.context(row.name, row.created_at)),
)


class Rewrapping:
    """Rotation of one ring's key, in resumable steps.

    Args:
        engine: from `vault.database.open_engine`.
        ring: the ring.
        files: what is sealed in files.
        who: who does it, for the access log.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, engine: Engine, ring: RotatableRing, files: SealedFiles, who: str, clock: Callable[[], datetime]
    ) -> None:
        self._engine, self._ring, self._files = engine, ring, files
        self._who, self._clock = who, clock
        self._failed = ""

    def begin(self) -> bool:
        """Make a fresh key (step 1), or say that a rotation is under way.

        Raises:
            NotAllowed: it was not said who does it.
        """
        with transaction(self._engine) as session:
            fresh = len(self._ring.key_ids) == 1
            self._note(session, self._ring.key_ids[0], "a new key takes its place" if fresh else "going on")
            if fresh:
                self._ring.add_key(self._now())
        return fresh

    def left(self) -> int:
        """Count what is under older keys."""
        with Session(self._engine) as session:
            return sum(counts.total for counts in self._older(session, empty=False).values())

    def rewrap(self, advance: Callable[[int], None] = lambda _: None) -> WrappedCounts:
        """Wrap again whatever is under an older key (step 2), and say how much that was.

        What does not open is left as it is; `finish` says what that is.

        Args:
            advance: is told how many more are done.
        """
        tasks, others = (sum(self._parts(kind, advance)) for kind in _KINDS)
        files = self._files.rewrap()
        advance(files)
        return WrappedCounts(tasks, others, files)

    def finish(self) -> tuple[str, ...]:
        """Drop the older keys that nothing needs (step 3), and give their names.

        Raises:
            Refused: something is under one of them still; that one is kept.
        """
        with transaction(self._engine) as session:  # logged before it is done, as an opening is
            protects, primary = protected_by(session, self._ring, self._files), self._ring.key_id
            for key_id in self._older(session, empty=True):
                self._note(session, key_id, f"dropped; {protects[primary]} are under {primary}")
        with transaction(self._engine) as session:
            dropped = self._older(session, empty=True)
            for key_id in dropped:
                self._ring.drop_key(key_id)
            older = self._older(session, empty=False)
        if older:
            key_id, counts = next(iter(older.items()))
            raise Refused(f"{key_id} is kept, because {counts} are under it: run it again. {self._failed}".rstrip())
        return tuple(dropped)

    def _parts(self, kind: _Kind, advance: Callable[[int], None]) -> Iterator[int]:
        after: str | None = ""
        while after is not None:
            after, wrapped = self._part(kind, after)
            advance(wrapped)
            yield wrapped

    def _part(self, kind: _Kind, after: str) -> tuple[str | None, int]:
        """Wrap the next rows again; give the last one's primary key, or None behind the end, and how many there were.

        Rows are read in the order of their primary keys and never twice, so the cost of a row does not grow with their
        number; an index on the key's name would make each part skip the old entries again.
        """
        ciphertext: Any = col(kind.row.ciphertext)
        older = (kind.column > after, col(kind.row.key_id).not_in([self._ring.key_id, SHREDDED]))
        sizes = select(kind.column, func.length(ciphertext)).where(*older).order_by(kind.column).limit(PART_ROWS)
        rows = select(kind.row).options(defer(ciphertext, raiseload=True)).where(*older)
        with transaction(self._engine) as session:
            last = _last(session.exec(sizes).all())
            batch = session.exec(rows.where(kind.column <= last)).all() if last is not None else []
            changes = [change for row in batch for change in self._change(kind, row)]
            return last, session.connection().execute(_swap(kind), changes).rowcount if changes else 0

    def _change(self, kind: _Kind, row: Any) -> list[dict[str, Any]]:
        name = getattr(row, kind.key)
        try:
            key_id, wrapped = rewrap(row.wrapped_key, kind.context(row), self._ring)
        except VaultError as error:
            self._failed = self._failed or f"{kind.row.__tablename__} {name}: {error}"
            return []
        return [{"of": name, "old": row.wrapped_key, "now": key_id, "new": wrapped}]

    def _older(self, session: Session, *, empty: bool) -> dict[str, WrappedCounts]:
        """Return the keys that are not primary any more and protect nothing, or those that do."""
        protects, primary = protected_by(session, self._ring, self._files), self._ring.key_id
        older = {key_id: protects[key_id] for key_id in self._ring.key_ids if key_id != primary}
        return {key_id: counts for key_id, counts in older.items() if (not counts.total) == empty}

    def _note(self, session: Session, key_id: str, what: str) -> None:
        access_log.append(session, self._now(), who=self._who, what=f"ring/{key_id}", why=f"keys rotate: {what}")

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def protected_by(session: Session, ring: RotatableRing, files: SealedFiles) -> dict[str, WrappedCounts]:
    """Count what is under each of a ring's keys, and under others if anything is."""
    tasks, others = (_under(session, kind) for kind in _KINDS)
    held = files.under()
    names = dict.fromkeys([*ring.key_ids, *tasks, *others, *held])
    return {name: WrappedCounts(tasks[name], others[name], held.get(name, 0)) for name in names}


def _last(sizes: Sequence[tuple[str, int]]) -> str | None:
    """Return the last of the rows that fit into one part, by primary keys and sizes; the first one always does."""
    sums = accumulate(size for _, size in sizes)
    fit = [name for (name, _), size in zip(sizes, sums, strict=True) if size <= PART_BYTES]
    return next(reversed(fit or [name for name, _ in sizes[:1]]), None)


def _swap(kind: _Kind) -> Update:
    """Change a row's wrapping, if it is still the one that was read."""
    conditions = (kind.column == bindparam("of"), col(kind.row.wrapped_key) == bindparam("old"))
    return update(kind.row).where(*conditions).values(key_id=bindparam("now"), wrapped_key=bindparam("new"))


def _under(session: Session, kind: _Kind) -> Counter[str]:
    name = col(kind.row.key_id)
    query = select(name, func.count()).where(name != SHREDDED).group_by(name)
    return Counter(dict(session.exec(query).all()))
