"""The database: one engine, one way to write.

On SQLite a write transaction takes the write lock when it begins (`BEGIN IMMEDIATE`), so two processes on one home wait
for each other instead of failing half-way, and a committed row is on the disk (`synchronous=FULL`). A plain `Session`
reads a snapshot and takes no lock. Errors never show a statement's parameters.

Every constraint gets a name here, because a migration can only change what has one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlmodel import Session, SQLModel

from vault.errors import Malformed, Unavailable

WAIT = 30.0
"""Seconds that a writer waits for another one."""

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF")
_WRITES = "quarterturn_writes"
_writing: ContextVar[frozenset[str]] = ContextVar("writing", default=frozenset())


def open_engine(url: str) -> Engine:
    """Open a database and make sure that it answers.

    A new SQLite file is made with mode 0600.

    Raises:
        Malformed: the address is not one, is not of a file or a server, or the file is not a database.
        Unavailable: it cannot be reached; the message says where and why.
    """
    try:
        address = make_url(url)
        engine = create_engine(address, hide_parameters=True, connect_args=_arguments(address))
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise Malformed(f"The database's address cannot be used: {type(error).__name__}.") from None
    if address.get_backend_name() == "sqlite":
        _private(address)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    _require_answer(engine, address)
    return engine


def with_password(url: str, password: bytes) -> str:
    """Put a password into an address that has none; a line's end behind it is not part of it.

    Raises:
        Malformed: the address is not one, or the password is no text.
    """
    try:
        address, text = make_url(url), password.decode().rstrip("\r\n")
    except (ArgumentError, UnicodeDecodeError) as error:
        raise Malformed(f"The database's address cannot be used: {type(error).__name__}.") from None
    return (address if address.password else address.set(password=text)).render_as_string(hide_password=False)


@contextmanager
def transaction(engine: Engine) -> Iterator[Session]:
    """Write: all of the block is committed, or none of it.

    Raises:
        Unavailable: another process held the database for longer than WAIT seconds.
    """
    name = str(engine.url)
    if name in _writing.get():
        raise RuntimeError("A transaction is open here already and would wait for itself: pass its session on.")
    token = _writing.set(_writing.get() | {name})
    try:
        with Session(engine.execution_options(**{_WRITES: True})) as session, _explained(engine.url), session.begin():
            session.connection()  # takes the lock now, before anything is read
            yield session
    finally:
        _writing.reset(token)


@contextmanager
def joined(engine: Engine, session: Session | None) -> Iterator[Session]:
    """Take part in the caller's transaction where there is one, else make one."""
    if session is not None:
        yield session
        return
    with transaction(engine) as own:
        yield own


def _arguments(address: URL) -> dict[str, Any]:
    return {"timeout": WAIT} if address.get_backend_name() == "sqlite" else {}


def _private(address: URL) -> None:
    """Make the file before SQLite does; its journals take over the mode."""
    if not address.database or address.database == ":memory:" or address.database.startswith("file:"):
        raise Malformed("A database in memory keeps no promise and cannot be shared: name a file, sqlite:///PATH.")
    path = Path(address.database)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise Unavailable(f"The database {path} cannot be opened: {error.strerror}.") from None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions behind our back
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _require_answer(engine: Engine, address: URL) -> None:
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
    except OperationalError as error:
        raise Unavailable(f"{_shown(address)} does not answer: {_first_line(error)}.") from None
    except DBAPIError as error:
        raise Malformed(f"{_shown(address)} is not a database that we can read: {_first_line(error)}.") from None


@contextmanager
def _explained(address: URL) -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if "locked" in str(error.orig):
            raise Unavailable(f"{_shown(address)} was busy for {WAIT:.0f} seconds; try again.") from None
        raise


def _shown(address: URL) -> str:
    return f"The database {address.render_as_string(hide_password=True)}"


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).partition("\n")[0]
