"""Export of a home's rows into one SQLite file, and import of that file, for SQLite and PostgreSQL.

The file is the whole database at one moment, taken while others write: from SQLite by its own online backup, from
PostgreSQL in one snapshot (REPEATABLE READ), table after table. So a home can also move from one to the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, func, insert, select, text

from quarterturn import migrations
from quarterturn.errors import Refused, Unavailable
from quarterturn.migrations.scripts.metadata import METADATA
from vault.database import open_engine, transaction

PART = 500  # rows at a time


def take(engine: Engine, file: Path) -> str:
    """Write all rows into a new SQLite file, and give the revision of its tables.

    Raises:
        Unavailable: the file cannot be written.
    """
    file.touch(mode=0o600)
    try:
        _take(engine, file)
        return revision(file)
    except sqlite3.OperationalError as error:
        raise Unavailable(f"the rows cannot be written to {file}: {error}") from None


def _take(engine: Engine, file: Path) -> None:
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, closing(sqlite3.connect(file)) as copy:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - what the dialect is
            raw.backup(copy)
            _make_one_file(copy)
    else:
        with _opened(file) as copy_of, engine.connect() as source:
            source = source.execution_options(isolation_level="REPEATABLE READ")  # noqa: PLW2901 - the same one
            migrations.upgrade(copy_of)
            with transaction(copy_of) as session:
                _copy(source, session.connection())
        with closing(sqlite3.connect(file)) as copy:
            _make_one_file(copy)


def _make_one_file(copy: sqlite3.Connection) -> None:
    """Leave no file beside the rows'; where the disk fails, SQLite may say so only by the mode that it keeps."""
    (mode,) = copy.execute("PRAGMA journal_mode=DELETE").fetchone()
    if mode != "delete":
        raise sqlite3.OperationalError("disk I/O error")


def put(file: Path, engine: Engine) -> None:
    """Copy all rows of a file into an empty database, all or none.

    Raises:
        Refused: there are rows already, or the file's tables are another version's.
    """
    if (at := revision(file)) != migrations.NEWEST:
        raise Refused(f"these rows are of revision {at}, and this version writes {migrations.NEWEST}: use that version")
    migrations.upgrade(engine)
    with _opened(file) as source, source.connect() as rows, transaction(engine) as session:
        target = session.connection()
        if full := next((table.name for table in METADATA.sorted_tables if _count(target, table)), None):
            raise Refused(f"the database has rows already ({full}): name an empty one; nothing was written")
        _copy(rows, target)


def revision(file: Path) -> str:
    """Return the revision of a file's tables."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as rows:
        return str(rows.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _copy(source: Connection, target: Connection) -> None:
    for table in METADATA.sorted_tables:
        result = source.execution_options(yield_per=PART).execute(select(table))
        for part in result.mappings().partitions(PART):
            target.execute(insert(table), [dict(row) for row in part])
        if target.dialect.name == "postgresql":
            _count_on(target, table)


def _count_on(target: Connection, table: Table) -> None:
    """Set the table's sequences behind the numbers that were copied."""
    for key in [column.name for column in table.primary_key if column.type.python_type is int]:
        named = {"table": table.name, "column": key}
        sequence = target.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), named).scalar()
        last = target.execute(select(func.max(table.c[key]))).scalar()
        if sequence is not None and last is not None:
            target.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


def _count(target: Connection, table: Table) -> int:
    return target.execute(select(func.count()).select_from(table)).scalar_one()


@contextmanager
def _opened(file: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{file}")
    try:
        yield engine
    finally:
        engine.dispose()
