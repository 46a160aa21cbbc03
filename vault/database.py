"""Database access on SQLite or PostgreSQL: one engine, one write transaction, the same guarantees on both.

1. A write transaction takes the lock of all writers when it begins (`BEGIN IMMEDIATE`; on PostgreSQL an advisory lock),
   so two processes wait for each other instead of failing half-way, and what was read inside of it stays true until
   its end: a row that was checked to be absent can be inserted without a conflict.
2. A plain `Session` reads one snapshot and takes no lock.
3. A committed row is on the disk.
4. A database that is busy, gone or unreachable, or whose disk is full or fails, raises `Unavailable`; a value that no
   column can hold raises `Malformed`. No error shows a statement's parameters or a password.
5. A process that is cut off while it holds the lock loses it: the server ends sessions that idle in a transaction.

Every constraint gets a name here, because a migration can only change what has one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlmodel import Session, SQLModel

from vault.errors import Malformed, Unavailable, VaultError, reason_and_step

WAIT = 30.0
"""Seconds that a writer waits for another one."""
IDLE = 15
"""Seconds after which PostgreSQL ends a transaction in which nothing is asked."""

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF", "secure_delete=ON")
_AGAIN = 0.02  # seconds until the next attempt to switch to the write-ahead log
_WRITES = "quarterturn_writes"
_writing: ContextVar[frozenset[str]] = ContextVar("writing", default=frozenset())
_gates: WeakKeyDictionary[Engine, threading.Lock] = WeakKeyDictionary()

_DISK = {
    sqlite3.SQLITE_FULL: "has no room left on its disk: make some, and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written: its disk is full or broken; look at it, then try again",
    sqlite3.SQLITE_READONLY: "lies where nothing can be written: look at its mode and its disk",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: look at its folder and its disk",
}

_FORMS = "write it as sqlite:///PATH or postgresql://HOST/NAME"
_LOCK = 0x7175617274657274  # "quartert": what all writers of a PostgreSQL database wait for
_LOCK_TIMEOUT = "55P03"
_ON_POSTGRES: dict[str, Any] = {
    "isolation_level": "REPEATABLE READ",  # one snapshot for one reader; writers have the lock instead
    "pool_pre_ping": True,
    "pool_size": 5,
    "max_overflow": 45,
    "pool_timeout": WAIT,
    "connect_args": {
        "client_encoding": "utf8",
        "connect_timeout": 10,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
        "fallback_application_name": "quarterturn",
    },
}


def open_engine(url: str) -> Engine:
    """Open a database and make sure that it answers.

    A new SQLite file is made with mode 0600.

    Raises:
        Malformed: the address is not one, is not of a file or a server, or what is there is not a database for us.
        Unavailable: it cannot be reached, or the driver of PostgreSQL is missing; the message says where and why.
    """
    try:
        address = make_url(url)
        address.get_dialect()
    except SQLAlchemyError as error:
        raise Malformed(f"The database's address cannot be used ({type(error).__name__}): {_FORMS}.") from None
    if address.drivername == "sqlite":
        engine = _sqlite(address)
    elif address.drivername in {"postgresql", "postgresql+psycopg"}:
        engine = _postgres(address.set(drivername="postgresql+psycopg"))
    else:
        raise Malformed(f"The database's address cannot be used: {_FORMS}.")
    event.listen(engine, "handle_error", lambda context: _explain(address, context))
    try:
        _require_answer(engine, address)
    except VaultError:
        engine.dispose()
        raise
    return engine


def with_password(url: str, password: bytes) -> str:
    """Put a password into an address that has none; line breaks at the end of the password are dropped.

    Raises:
        Malformed: the address is not one, or the password is no text.
    """
    try:
        address, text = make_url(url), password.decode().rstrip("\r\n")
    except (ArgumentError, UnicodeDecodeError) as error:
        raise Malformed(f"The database's address cannot be used ({type(error).__name__}): {_FORMS}.") from None
    return (address if address.password else address.set(password=text)).render_as_string(hide_password=False)


def driver_address(engine: Engine) -> tuple[str, dict[str, Any]]:
    """Return what psycopg needs to reach the same PostgreSQL: an address with its password, and options."""
    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return address, dict(_ON_POSTGRES["connect_args"])


@contextmanager
def transaction(engine: Engine) -> Iterator[Session]:
    """Run a write transaction: all of the block is committed, or none of it.

    Raises:
        Unavailable: another process held the database for longer than WAIT seconds.
    """
    name = str(engine.url)
    if name in _writing.get():
        raise RuntimeError("A transaction is open here already and would wait for itself: pass its session on.")
    options: dict[str, Any] = {_WRITES: True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "READ COMMITTED"  # what is read after the lock was taken is the newest
    gate = _gates.setdefault(engine, threading.Lock())  # who waits holds no connection, which the writer may need
    if not gate.acquire(timeout=WAIT):
        raise Unavailable(_busy(engine.url))
    token = _writing.set(_writing.get() | {name})
    try:
        with Session(engine.execution_options(**options)) as session, session.begin():
            session.connection()  # takes the lock now, before anything is read
            yield session
    finally:
        _writing.reset(token)
        gate.release()


@contextmanager
def join_or_begin(engine: Engine, session: Session | None) -> Iterator[Session]:
    """Join the caller's transaction, or begin one where there is none."""
    if session is not None:
        yield session
        return
    with transaction(engine) as own:
        yield own


def _sqlite(address: URL) -> Engine:
    _private(address)
    engine = create_engine(address, hide_parameters=True, connect_args={"timeout": WAIT})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgres(address: URL) -> Engine:
    try:
        engine = create_engine(address, hide_parameters=True, **_ON_POSTGRES)
    except ImportError:
        message = "The database is PostgreSQL and its driver is missing: `./run setup --with postgres` installs it."
        raise Unavailable(message) from None
    event.listen(engine, "connect", _prepare_postgres)
    event.listen(engine, "begin", _begin_postgres)
    return engine


def _private(address: URL) -> None:
    """Make the file before SQLite does; its journals take over the mode."""
    if not address.database or address.database == ":memory:" or address.database.startswith("file:"):
        raise Malformed("An in-memory database is not durable and cannot be shared: name a file, sqlite:///PATH.")
    path = Path(address.database)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise Unavailable(f"The database {path} cannot be opened: {reason_and_step(error)}.") from None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions behind our back
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to the write-ahead log, which the file keeps; wait while another process writes to a new file.

    SQLite itself does not wait here: it has a read lock already, and fails at once rather than risk a deadlock.
    """
    deadline = time.monotonic() + WAIT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgres(connection: Any, _: Any) -> None:
    for name, seconds in (("lock_timeout", WAIT), ("idle_in_transaction_session_timeout", IDLE)):
        connection.execute(f"SET {name} = {int(seconds * 1000)}")
    connection.commit()


def _begin_postgres(connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def _require_answer(engine: Engine, address: URL) -> None:
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
            if engine.dialect.name == "postgresql":
                encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
                if encoding != "UTF8":
                    raise Malformed(f"{_as_text(address)} is encoded in {encoding}: make one with the encoding UTF8.")
    except OperationalError as error:
        raise Unavailable(_no_answer(address, error.orig)) from None
    except DBAPIError as error:
        raise Malformed(f"{_as_text(address)} is not a database that we can read: {_first_line(error.orig)}.") from None


def _explain(address: URL, context: ExceptionContext) -> None:
    """Say in our words what is nobody's mistake; SQLAlchemy raises everything else as it is (promise 4)."""
    error, driver = context.original_exception, context.dialect.loaded_dbapi
    if context.is_pre_ping:  # the pool connects anew
        return
    if isinstance(error, UnicodeEncodeError | OverflowError):  # a driver's own word for half a character, or too long
        raise Malformed(
            f"{_as_text(address)} cannot store a text or a number that was given: it is no UTF-8, or too large."
        ) from None
    if context.dialect.name == "sqlite":
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits say what exactly
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise Unavailable(_busy(address)) from None
        if code in _DISK:
            raise Unavailable(f"{_as_text(address)} {_DISK[code]}.") from None
    elif getattr(error, "sqlstate", None) == _LOCK_TIMEOUT:
        raise Unavailable(_busy(address)) from None
    elif context.is_disconnect or isinstance(error, driver.OperationalError):
        raise Unavailable(_no_answer(address, error)) from None
    elif isinstance(error, driver.DataError):
        raise Malformed(f"{_as_text(address)} holds no text that is so long, or has such a character.") from None
    for exception in (error, context.sqlalchemy_exception):  # behind the first line PostgreSQL quotes rows
        if exception is not None and exception.args:
            exception.args = (_first_line(exception.args[0]), *exception.args[1:])


def _no_answer(address: URL, error: BaseException | None) -> str:
    return f"{_as_text(address)} does not answer: {_first_line(error)}. Start it, or correct its address."


def _busy(address: URL) -> str:
    return f"{_as_text(address)} was busy for {WAIT:.0f} seconds; try again."


def _as_text(address: URL) -> str:
    return f"The database {address.render_as_string(hide_password=True)}"


def _first_line(error: object) -> str:
    return str(error).partition("\n")[0]
