"""Vault service: stores tasks and other secrets sealed, and logs who opened them.

1. What is private is sealed before it meets the database; what must be compared is a tag under a sealed key.
2. A task is committed to when it is added, and an opening recomputes the commitment.
3. Whatever stands beside a sealed task and must not change (author, mix, tags, commitments) is bound into the seal.
4. An opening is written to the access log and committed there first: one that cannot be logged does not open.
5. A task with enough free parameters is bound to the SHA-256 of its variant key when it is added
   (`vault.task.variant`).
6. A task's state changes only along the table in `vault.task.lifecycle`, by compare-and-swap.

Methods that take a `session` take part in the caller's transaction. `open` and `open_blob` take none, because the log
entry must outlive a caller's rollback; call them before a transaction or after it, not inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, and_, delete, func, update
from sqlmodel import Session, col, select

from vault.commitment import new_salt
from vault.database import join_or_begin, transaction
from vault.errors import Broken, NotAllowed, NotFound, Refused
from vault.keys.ring import KeyRing
from vault.keys.seal import seal, unseal
from vault.store import access_log, blobs
from vault.store.access_log import AccessEntry, Head
from vault.store.blobs import BlindIndex, OwnKey
from vault.store.opened_task import OpenedTask
from vault.store.tables import SHREDDED, BlobRow, LeafRow, TaskRow
from vault.store.task_record import TaskRecord
from vault.task import variant
from vault.task.document import Task
from vault.task.lifecycle import FIRST, TaskEvent, TaskState, advance

__all__ = ["AccessEntry", "OpenedTask", "TaskRecord", "Vault", "from_public_grammars", "in_use"]

_AT_ONCE = 500  # rows


class Vault:
    """The sealed store of one home: tasks, blobs and the access log.

    Args:
        engine: from `vault.database.open_engine`.
        ring: what wraps the data keys.
        clock: the present moment, with its time zone.
        entropy: random bytes.
        seen: is told each task whose words are given out, so that what this process writes can be kept free of them.
    """

    def __init__(
        self,
        engine: Engine,
        ring: KeyRing,
        clock: Callable[[], datetime],
        entropy: Callable[[int], bytes] = os.urandom,
        seen: Callable[[Task], None] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._ring = ring
        self._clock = clock
        self._entropy = entropy
        self._seen = seen
        self._index = BlindIndex(engine, ring)
        self._variants = OwnKey("variant-master", engine, ring)

    # -- tasks --------------------------------------------------------------------------------------------------------

    def add(
        self,
        task: Task,
        provenance: Mapping[str, Any],
        *,
        author: str,
        public_grammar: bool,
        skeleton: str,
        template: str,
        drawn_for: str = "",
        session: Session | None = None,
    ) -> TaskRecord:
        """Commit to a task and its provenance, and keep both sealed, as a draft.

        The other arguments are fields of its record (`vault.store.task_record`).

        Raises:
            Refused: there is a task with this id.
            Malformed: the provenance has no canonical form, or the task names a variant key already.
        """
        with join_or_begin(self._engine, session) as own:
            if task.variant_key is not None or variant.traceable(task.free):
                task = task.keyed(variant.digest(self.variant_key(task.id, own)))
            opened = OpenedTask(task, new_salt(self._entropy), dict(provenance), new_salt(self._entropy))
            if own.get(TaskRow, task.id) is not None:
                raise Refused(f"There is a task {task.id} already; it was left as it is.")
            record = TaskRecord(
                id=task.id,
                state=FIRST,
                server=task.server,
                category=task.category,
                difficulty=task.difficulty,
                skeleton_tag=self.tag("skeleton", skeleton, session=own),
                template_tag=self.tag("template", template, session=own),
                author=author,
                public_grammar=public_grammar,
                traceable=task.variant_key is not None,
                drawn_for=drawn_for,
                commitment=opened.commitment,
                provenance_commitment=opened.provenance_commitment,
                created_at=self._now(),
            )
            own.add(record.row(seal(opened.pack(), record.context(), self._ring, self._entropy)))
            own.flush()
        return record

    def record(self, task_id: str) -> TaskRecord:
        """Return the metadata of a task that is readable without opening it.

        Raises:
            NotFound: there is none.
        """
        with Session(self._engine) as session:
            return TaskRecord.of(_row_of(session, task_id))

    def has(self, task_id: str) -> bool:
        """Say whether there is a task of this id."""
        with Session(self._engine) as session:
            return session.exec(select(TaskRow.id).where(TaskRow.id == task_id)).first() is not None

    def records(self, state: TaskState | str | None = None) -> list[TaskRecord]:
        """List the tasks in a state, or all, in the order in which they were added."""
        with Session(self._engine) as session:
            return list(_records(session, state, TaskRow.created_at, TaskRow.id))

    def by_commitment(self, state: TaskState, *, leaf: str | None = None) -> Generator[TaskRecord]:
        """Yield the tasks in a state in the order of their commitments; close it.

        They are read a few at a time, and with `leaf` no more of them than have one, however many stand there.

        Args:
            state: where they stand.
            leaf: only those with a leaf in the log whose key is this and then their id.
        """
        with Session(self._engine) as session:
            if leaf is None:
                yield from _records(session, state, TaskRow.commitment)
            else:
                yield from sorted(_with_leaf(session, state, leaf), key=lambda task: task.commitment)

    def open(self, task_id: str, *, who: str, why: str) -> OpenedTask:
        """Open a task, after logging who opens it and why.

        Raises:
            NotFound: there is none, or it was shredded.
            NotAllowed: it was not said who or why.
            Locked: the ring does not hold the key.
            Broken: the row was changed, or the task is not the one that was promised.
        """
        with transaction(self._engine) as session:
            row = _row_of(session, task_id)
            if row.key_id == SHREDDED:
                raise NotFound(f"Task {task_id} was shredded: of what it said, nothing is kept.")
            record, sealed = TaskRecord.of(row), row.sealed()
            access_log.append(session, self._now(), who=who, what=f"task/{task_id}", why=why)
        data = unseal(sealed, record.context(), self._ring)
        opened = OpenedTask.unpack(data, record.commitment, record.provenance_commitment)
        self._seen(opened.task)
        return opened

    def variant_key(self, task_id: str, session: Session | None = None) -> bytes:
        """Return the key that says which variant of a task each submitter is served; secret until it is published."""
        master = self._variants.get(self._now(), self._entropy, session)
        return variant.task_key(master, task_id)

    def served(self, task: Task, submitter: str, month: str) -> Task:
        """Return what a submitter is served of a task that was opened: their variant, or the base if all get that.

        Raises:
            Broken: the key is not the one that the task was bound to.
        """
        if task.variant_key is None:
            return task.base()
        key = self.variant_key(task.id)
        if variant.digest(key) != task.variant_key:
            raise Broken(f"The variant key of task {task.id} is not the one that was committed to.")
        filled = task.filled(variant.assigned(key, submitter, month, task.free))
        self._seen(filled)
        return filled

    def advance(self, task_id: str, event: TaskEvent | str, session: Session | None = None) -> TaskRecord:
        """Apply an event to a task and move it to the next state.

        Raises:
            NotFound: there is none.
            NotAllowed: the event is not open from its state, or somebody else moved it at the same moment.
        """
        with join_or_begin(self._engine, session) as own:
            row = _row_of(own, task_id)
            before = TaskRecord.of(row).state
            try:
                after = advance(before, event)
            except NotAllowed as error:
                raise NotAllowed(f"Task {task_id}: {error}") from None
            change = update(TaskRow).where(col(TaskRow.id) == task_id, col(TaskRow.state) == before.value)
            if own.exec(change.values(state=after.value)).rowcount != 1:
                raise NotAllowed(f"Task {task_id} is no longer {before.value}: reload it and try again.")
            own.refresh(row)
            return TaskRecord.of(row)

    def tag(self, label: str, value: str, session: Session | None = None) -> str:
        """Return the keyed tag of a value: equal values have equal tags, and without the key a tag says nothing."""
        return self._index.tag(label, value, self._now(), self._entropy, session)

    # -- blobs --------------------------------------------------------------------------------------------------------

    def seal_blob(self, name: str, data: bytes, session: Session | None = None) -> None:
        """Keep bytes sealed under a name, once and for all.

        Raises:
            Refused: the name is taken, or is one of the vault's own.
        """
        blobs.require_free(name)
        with join_or_begin(self._engine, session) as own:
            blobs.put(own, name, data, ring=self._ring, now=self._now(), entropy=self._entropy)

    def open_blob(self, name: str, *, who: str, why: str) -> bytes:
        """Open what `seal_blob` kept, after logging who opens it and why.

        Raises:
            NotFound: nothing is kept under that name.
            NotAllowed: it was not said who or why.
            Locked: the ring does not hold the key.
            Broken: the row was changed.
        """
        blobs.require_free(name)
        with transaction(self._engine) as session:
            row = session.get(BlobRow, name)
            if row is None:
                raise NotFound(f"Nothing is sealed under the name {name!r}.")
            access_log.append(session, self._now(), who=who, what=f"blob/{name}", why=why)
            sealed, context = row.sealed(), blobs.context(row.name, row.created_at)
        return unseal(sealed, context, self._ring)

    def open_blobs(self, prefix: str, *, who: str, why: str, only: Collection[str] | None = None) -> dict[str, bytes]:
        """Open all that is kept under names that begin with `prefix`, by the rest of their names; one entry in the log.

        Args:
            prefix: the beginning of the names.
            who: who opens them, for the access log.
            why: the reason, for the access log.
            only: the rests of the names that are wanted; all that there are by default.

        Raises:
            NotAllowed, Locked, Broken: as for `open_blob`.
        """
        blobs.require_free(prefix)
        query = select(BlobRow).where(self._begins(prefix))
        if only is not None:
            query = query.where(col(BlobRow.name).in_([prefix + name for name in only]))
        with transaction(self._engine) as session:
            rows = session.exec(query).all()
            access_log.append(session, self._now(), who=who, what=f"blobs/{prefix}* ({len(rows)})", why=why)
            sealed = [(row.name, row.sealed(), blobs.context(row.name, row.created_at)) for row in rows]
        return {name.removeprefix(prefix): unseal(data, context, self._ring) for name, data, context in sealed}

    def blob_names(self, prefix: str) -> list[str]:
        """List the names that begin with `prefix`, in order; nothing is opened."""
        query = select(BlobRow.name).where(self._begins(prefix))
        with Session(self._engine) as session:
            return sorted(session.exec(query).all())

    def blob_bytes(self, prefix: str, session: Session) -> int:
        """Count the sealed bytes that are kept under names that begin with `prefix`; nothing is opened."""
        return session.exec(select(func.sum(func.length(BlobRow.ciphertext))).where(self._begins(prefix))).one() or 0

    def drop_blobs(self, prefix: str, session: Session | None = None) -> None:
        """Take out what is kept under names that begin with `prefix`; nothing is opened. A backup may still have it."""
        blobs.require_free(prefix)
        with join_or_begin(self._engine, session) as own:
            own.exec(delete(BlobRow).where(self._begins(prefix)))

    def has_blob(self, name: str, session: Session | None = None) -> bool:
        """Say whether something is kept under a name; nothing is opened."""
        if session is not None:
            return session.get(BlobRow, name) is not None
        with Session(self._engine) as own:
            return own.get(BlobRow, name) is not None

    # -- the access log -----------------------------------------------------------------------------------------------

    def access_log(self) -> list[AccessEntry]:
        """List every opening, the oldest first."""
        with self.accesses() as entries:
            return list(entries)

    @contextmanager
    def accesses(
        self,
        *,
        task: str | None = None,
        who: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[Iterator[AccessEntry]]:
        """Read the openings of a task, of somebody, since a moment, or the newest, in order and a few at a time."""
        with (
            Session(self._engine) as session,
            closing(access_log.entries(session, task=task, who=who, since=since, limit=limit)) as entries,
        ):
            yield entries

    def access_head(self, session: Session) -> tuple[int, str]:
        """Return how many openings there are and the digest of the last."""
        return access_log.head(session)

    def note(self, *, who: str, what: str, why: str, session: Session | None = None) -> AccessEntry:
        """Add an entry to the access log that opens nothing but must have its place in that order.

        Raises:
            NotAllowed: it was not said who, what or why.
        """
        with join_or_begin(self._engine, session) as own:
            return access_log.append(own, self._now(), who=who, what=what, why=why)

    def verify_access_log(self, known: str | None = None, heads: Collection[Head] = ()) -> int:
        """Check the chain of openings, and that what was committed to is still in it; gives how many there are.

        Args:
            known: the digest of an entry, kept elsewhere.
            heads: what was committed to, with its place.

        Raises:
            Broken: an entry was changed, left out, moved or cut off.
        """
        with self.accesses() as entries:
            return access_log.verify(entries, known, heads)

    def _begins(self, prefix: str) -> ColumnElement[bool]:
        """Ask for names that begin so; SQLite looks for a pattern in every row, and for a range in the index."""
        begins = col(BlobRow.name).startswith(prefix, autoescape=True)
        if not prefix or self._engine.dialect.name != "sqlite":
            return begins
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return and_(begins, col(BlobRow.name) >= prefix, col(BlobRow.name) < after)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def from_public_grammars(engine: Engine) -> set[str]:
    """Return the ids of the tasks that were drawn from public grammars; this needs no key."""
    with Session(engine) as session:
        return set(session.exec(select(TaskRow.id).where(col(TaskRow.public_grammar).is_(True))).all())


def served_plain(engine: Engine) -> set[str]:
    """Return the ids of the tasks that everybody is served alike, whose leaks cannot be traced; needs no key."""
    with Session(engine) as session:
        return set(session.exec(select(TaskRow.id).where(col(TaskRow.traceable).is_(False))).all())


def in_use(engine: Engine) -> bool:
    """Say whether anything was ever sealed, or recorded for the public log, in this database."""
    with Session(engine) as session:
        sealed, promised = session.exec(select(BlobRow.name)).first(), session.exec(select(LeafRow.number)).first()
    return sealed is not None or promised is not None


def _records(session: Session, state: TaskState | str | None, *order: Any) -> Iterator[TaskRecord]:
    query = _known().order_by(*map(col, order)).execution_options(yield_per=_AT_ONCE)
    if state is not None:
        query = query.where(TaskRow.state == TaskState(state).value)
    with session.exec(query) as rows:
        yield from map(TaskRecord.of, rows)


def _with_leaf(session: Session, state: TaskState, leaf: str) -> Iterator[TaskRecord]:
    """Begin with the leaves: asked about the tasks, a database looks at all of them."""
    keys = session.exec(select(LeafRow.key).where(col(LeafRow.key).startswith(leaf, autoescape=True))).all()
    for first in range(0, len(keys), _AT_ONCE):
        tasks = [key.removeprefix(leaf) for key in keys[first : first + _AT_ONCE]]
        rows = session.exec(_known().where(col(TaskRow.id).in_(tasks)))
        yield from (TaskRecord.of(row) for row in rows if row.state == state.value)


def _known() -> Any:
    """Ask for what may be known about tasks; what is sealed stays in the database."""
    return select(*(col(getattr(TaskRow, name)) for name in TaskRecord.__dataclass_fields__))


def _row_of(session: Session, task_id: str) -> TaskRow:
    row = session.get(TaskRow, task_id)
    if row is None:
        raise NotFound(f"There is no task {task_id}; `quarterturn task list` lists them.")
    return row
