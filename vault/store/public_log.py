"""Database rows of the public log: leaves are recorded in a transaction first, then signed and published.

A leaf is a row first, in the same transaction as the data it promises; its index is the row's number, contiguous from
0, and never changes. `publish` hands the rows that the log does not have yet to its writer, which writes tiles, signs
the head and publishes it. Killed anywhere in between, the next `publish` finishes the same job.

When it is opened, the rows are compared with the signed head: a database that was put back from a backup, or in which a
leaf was edited, is refused before anything is added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from sqlalchemy import Engine, func
from sqlmodel import Session, col, select

from vault.database import join_or_begin
from vault.errors import Broken, Malformed, NotFound, Refused
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.statements.statement import LoggedStatement, Statement
from vault.ledger.tree.merkle import leaf_hash
from vault.ledger.tree.tiles import MAX_LEAF, WIDTH, Frontier
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.log_files import LogFiles
from vault.ledger.write.log_guard import LogGuard
from vault.store.tables import LeafRow

_MAX_KEY = 300


class PublicLog:
    """The public log of one home.

    Args:
        engine: from `vault.database.open_engine`.
        writer: the log's files, with who appends to them.
        clock: the present moment, with its time zone.
        witnesses: who has to cosign a head before it counts, or None.
        guard: refuses leaves that contradict the log, or None.

    Raises:
        Refused: the rows are not what the last signed head was signed over.
    """

    def __init__(
        self,
        engine: Engine,
        writer: LogFiles,
        clock: Callable[[], datetime],
        witnesses: Witnesses | None = None,
        guard: LogGuard | None = None,
    ) -> None:
        self._engine = engine
        self._guard = guard
        self._witnesses = witnesses
        self._writer = writer
        self._clock = clock
        self._require_rows_under(writer.recover())

    @property
    def origin(self) -> str:
        """The log's origin line."""
        return self._writer.origin

    @property
    def folder(self) -> Path:
        """The folder of the log's public files."""
        return self._writer.folder

    @property
    def size(self) -> int:
        """How many leaves are recorded, published or not."""
        with Session(self._engine) as session:
            return _size(session)

    @property
    def published(self) -> Checkpoint:
        """The last signed head; where there are witnesses, the last that their quorum cosigned."""
        return self._witnesses.head() if self._witnesses else self._writer.checkpoint()

    def record(self, key: str, leaf: bytes, session: Session | None = None) -> int:
        """Record a leaf and give its index; recording it again under the same key gives the same index.

        Args:
            key: what the leaf is about, once and for all (`commit/<task>`, `score/<run>`).
            leaf: the statement's bytes.
            session: the caller's transaction, which also holds what the leaf promises.

        Raises:
            Refused: other bytes are recorded under this key, or an audit would refuse the leaf after those before it.
            Malformed: the key or the leaf is too long for the log.
        """
        if not 0 < len(key) <= _MAX_KEY or not 0 < len(leaf) <= MAX_LEAF:
            raise Malformed(f"Leaf {key[:40]!r} has {len(leaf)} bytes; 1 to {MAX_LEAF} fit, under a key of {_MAX_KEY}.")
        with join_or_begin(self._engine, session) as own:
            known = own.exec(select(LeafRow).where(LeafRow.key == key)).one_or_none()
            if known is None:
                if self._guard:
                    self._guard.require(leaf, _size(own), lambda start, end: list(_leaves(own, start, end)))
                known = LeafRow(number=_size(own), key=key, leaf=leaf, recorded_at=self._clock().astimezone(UTC))
                own.add(known)
                own.flush()
            elif known.leaf != leaf:
                raise Refused(f"Leaf {known.number}, {key!r}, is recorded already with other content.")
            return known.number

    def withdrawal_keys(self, task: str) -> list[str]:
        """Return the verifier keys of which one must sign the withdrawal of a task now, if there are any."""
        if self._guard is None:
            return []
        with Session(self._engine) as session:
            size = _size(session)
            return self._guard.withdrawal_keys(task, size, lambda start, end: list(_leaves(session, start, end)))

    def record_next(self, key: str, leaf_at: Callable[[int], bytes]) -> int:
        """Record a leaf that states its own index, and give that index; no other leaf is recorded in between.

        Args:
            key: what the leaf is about; one that is recorded already is left as it is.
            leaf_at: makes its bytes from its index.
        """
        with join_or_begin(self._engine, None) as own:
            known = own.exec(select(LeafRow.number).where(LeafRow.key == key)).one_or_none()
            return self.record(key, leaf_at(_size(own)), own) if known is None else known

    def publish(self) -> Checkpoint:
        """Put every recorded leaf under a signed, published and cosigned head, and give that head.

        Raises:
            Refused: the rows contradict what was signed; nothing was signed.
            Unavailable: the disk failed, another process is writing, or too few witnesses cosigned; call again.
        """
        start = self._writer.size
        head = self._writer.append(list(self._rows(start, self.size)), start)
        if self._guard:
            self._guard.settle(head.size, lambda start, end: list(self._rows(start, end)))
        return self._witnesses.require() if self._witnesses else head

    def leaf(self, index: int) -> bytes:
        """Return a leaf's bytes.

        Raises:
            NotFound: no leaf has this index.
        """
        with Session(self._engine) as session:
            row = session.get(LeafRow, index)
            if row is None:
                raise NotFound(f"The log has no leaf {index}; {_size(session)} are recorded.")
            return row.leaf

    def leaves(self) -> Generator[bytes]:
        """Return every leaf under the last signed head, in order and a few at a time."""
        return self._rows(0, self._writer.size)

    def find(self, key: str) -> int | None:
        """Return the index of the leaf that was recorded under `key`, or None."""
        with Session(self._engine) as session:
            return session.exec(select(LeafRow.number).where(LeafRow.key == key)).one_or_none()

    def keys(self, prefix: str, start: int, end: int) -> list[str]:
        """List the keys that begin with `prefix` of the leaves `[start, end)`, in the order of the log."""
        within = (LeafRow.number >= start, LeafRow.number < end, col(LeafRow.key).startswith(prefix, autoescape=True))
        with Session(self._engine) as session:
            return list(session.exec(select(LeafRow.key).where(*within).order_by(col(LeafRow.number))).all())

    def index_of(self, key: str) -> int:
        """Return the index of the leaf that was recorded under `key`.

        Raises:
            NotFound: nothing was recorded under `key`.
        """
        index = self.find(key)
        if index is None:
            raise NotFound(f"the ledger has no leaf '{key}'; the step that records it was never run")
        return index

    def statement(self, key: str) -> LoggedStatement:
        """Return the statement that was recorded under `key`, with its index.

        Raises:
            NotFound: nothing was recorded under `key`.
        """
        index = self.index_of(key)
        return LoggedStatement(index, Statement.parse(self.leaf(index)))

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves, which are under the last signed head."""
        return self._writer.root(size)

    def covering(self, leaf: int) -> str:
        """Return the first published head that covers a leaf, with the log's signature alone: always the same bytes.

        Raises:
            Refused: none was.
        """
        return self._writer.covering(leaf)

    def verify(self) -> None:
        """Read the whole log again: rows against the head, and every published file against its hashes.

        Raises:
            Refused: a row is not what was signed.
            Broken: a published file is not what was signed; the message names the first.
        """
        self._require_rows_under(self._writer.recover())
        if problems := self._writer.fsck():
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise Broken(f"The public log is damaged: {problems[0]}{more}.")

    def _require_rows_under(self, head: Checkpoint) -> None:
        if self.size < head.size:
            raise Refused(
                f"The database holds {self.size} leaves, but the log was signed over {head.size}: it was put back "
                "from a backup. Use the newest database; nothing can be promised from an older one."
            )
        frontier, rows = Frontier(), self._rows(0, head.size)
        while hashes := [leaf_hash(leaf) for leaf in islice(rows, WIDTH)]:
            for _ in frontier.extend(hashes):
                pass  # the tiles are the writer's to keep
        if frontier.root() != head.root:
            with closing(self._rows(0, head.size)) as again:
                place = next((place for place, leaf in enumerate(again) if leaf != self._writer.leaf(place)), 0)
            raise Refused(f"Leaf {place} in the database is not the leaf that was signed: restore the database.")

    def _rows(self, start: int, end: int) -> Generator[bytes]:
        """Yield the recorded leaves `[start, end)`, without a gap and a few at a time."""
        with Session(self._engine) as session:
            yield from _leaves(session, start, end)


def _leaves(session: Session, start: int, end: int) -> Generator[bytes]:
    within = (LeafRow.number >= start, LeafRow.number < end)
    query = select(LeafRow.number, LeafRow.leaf).where(*within).order_by(col(LeafRow.number))
    with session.exec(query.execution_options(yield_per=WIDTH)) as rows:
        for expected, (number, leaf) in enumerate(rows, start):
            if number != expected:
                raise Refused(f"The database has no leaf {expected}: after it comes {number}. Restore the database.")
            yield leaf


def _size(session: Session) -> int:
    last = session.exec(select(func.max(LeafRow.number))).one()
    return 0 if last is None else last + 1
