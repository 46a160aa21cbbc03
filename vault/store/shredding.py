"""Crypto-shredding of a task that was never promised: deletes its data key, so its ciphertext cannot be opened.

1. Only a draft or a rejected task is shredded, and only while the public log holds no promise of it, published or not.
   Whatever was promised is opened with its cohort, a withdrawn task too: an audit would have a hole otherwise.
2. The wrapped data key and what was sealed beside the task go in one transaction with the entry in the access log. That
   entry is the operator's word and names what may speak against it: copies of the rows that were made before, and the
   ring's keys that open those.
3. The row stays, with its mix, its tags and its commitments: they are history, and without the sealed salts they say
   nothing. A draft is rejected by it, so that it cannot go on.
4. `erase` empties SQLite's write-ahead log; what a file of SQLite frees is overwritten (`secure_delete` in
   `vault.database`). PostgreSQL keeps old versions of rows until they are vacuumed, and longer in its own log: nothing
   is promised there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Engine, delete
from sqlmodel import Session, col, select

from vault.errors import NotFound, Refused
from vault.store import access_log
from vault.store.tables import SHREDDED, BlobRow, LeafRow, TaskRow
from vault.task.lifecycle import TaskEvent, TaskState, advance

_NOTHING = b"\0"
_WHY_NOT: Mapping[str, str] = {
    TaskState.ADMITTED: "it waits for a review; reject it first",
    TaskState.REVIEWED: "it may stand in a promised reserve, which it leaves by a withdrawal",
    TaskState.LIVE: "it is promised, and opened once its cohort retires",
    TaskState.RETIRED: "it is promised, and about to be published",
    TaskState.PUBLISHED: "everybody has it",
    TaskState.WITHDRAWN: "it is opened with its cohort, or an audit would have a hole",
}


def require_shreddable(session: Session, task_id: str) -> TaskRow:
    """Refuse a task that must not be shredded (rule 1).

    Raises:
        NotFound: there is none.
        Refused: the message says why.
    """
    row = session.get(TaskRow, task_id)
    if row is None:
        raise NotFound(f"There is no task {task_id}; `quarterturn task list` lists them.")
    if row.state in _WHY_NOT:
        raise Refused(f"Task {task_id} is {row.state} and is not shredded: {_WHY_NOT[row.state]}.")
    if session.exec(select(LeafRow.number).where(LeafRow.key == f"commit/{task_id}")).first() is not None:
        raise Refused(f"Task {task_id} is promised in the public log and is not shredded: it has to be opened.")
    return row


def shred(session: Session, task_id: str, beside: Sequence[str], *, at: datetime, who: str) -> frozenset[str]:
    """Shred a task in the caller's transaction, and give the ring's keys that it was under; none if it is done already.

    Args:
        session: the transaction.
        task_id: the task.
        beside: the names of what was sealed about it.
        at: the present moment, with its time zone.
        who: who does it.

    Raises:
        NotFound, Refused: as for `require_shreddable`.
        NotAllowed: it was not said who.
    """
    row = require_shreddable(session, task_id)
    if row.key_id == SHREDDED:
        return frozenset()
    others = col(BlobRow.name).in_(beside)
    keys = frozenset({row.key_id, *session.exec(select(BlobRow.key_id).where(others)).all()})
    if row.state == TaskState.DRAFT:
        row.state = advance(TaskState.DRAFT, TaskEvent.REJECT).value
    row.key_id, row.wrapped_key = SHREDDED, _NOTHING
    session.add(row)
    session.exec(delete(BlobRow).where(others))
    why = f"task shred: the operator's word; copies and backups of before still open it with {', '.join(sorted(keys))}"
    access_log.append(session, at, who=who, what=f"task/{task_id}", why=why)
    return keys


def erase(engine: Engine) -> bool | None:
    """Empty SQLite's write-ahead log, outside of any transaction; None where the database promises nothing (rule 4).

    Returns:
        False while somebody reads what is in it.
    """
    if engine.dialect.name != "sqlite":
        return None
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - what the dialect is
        return bool(raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
