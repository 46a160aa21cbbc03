"""Tests of the database layer: writes are atomic, durable and serial, reads take no lock, errors show no parameter."""

import errno
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, select

from vault import database
from vault.database import join_or_begin, open_engine, transaction
from vault.errors import Malformed, Unavailable
from vault.store.tables import LeafRow

from ..patience import PATIENCE


def row(number: int, leaf: bytes = b"x") -> LeafRow:
    return LeafRow(number=number, key=f"key {number}", leaf=leaf, recorded_at=datetime(2026, 12, 1, tzinfo=UTC))


def put(engine, number):
    with transaction(engine) as session:
        session.add(row(number))


def numbers(engine) -> list[int]:
    with Session(engine) as session:
        return list(session.exec(select(LeafRow.number)).all())


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("busy_timeout", 30_000),
        ("trusted_schema", 0),
        ("secure_delete", 1),
    ],
)
def test_every_connection_is_durable_and_strict(engine, pragma, value):
    with engine.connect() as one, engine.connect() as two:
        for connection in (one, two):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


def test_a_new_database_that_another_process_writes_to_is_waited_for(tmp_path, monkeypatch):
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits = []

    def finish(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.execute("COMMIT")

    monkeypatch.setattr("time.sleep", finish)
    engine = open_engine(f"sqlite:///{tmp_path / 'new.db'}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    engine.dispose()
    other.close()
    assert len(waits) == 3


def test_a_new_database_that_stays_busy_is_given_up_after_the_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "WAIT", 0.1)
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="was busy for"):
        open_engine(f"sqlite:///{tmp_path / 'new.db'}")
    other.close()


def test_a_new_database_and_its_journals_belong_to_their_owner(engine, tmp_path):
    put(engine, 0)
    files = list(tmp_path.glob("quarterturn.db*"))
    assert len(files) == 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@pytest.mark.both_databases
def test_a_block_that_fails_leaves_nothing(engine):
    with suppress(ZeroDivisionError), transaction(engine) as session:
        session.add(row(0))
        session.flush()
        session.add(row(1 // 0))
    assert numbers(engine) == []


@pytest.mark.both_databases
def test_two_writers_wait_for_each_other_and_neither_loses(engine, monkeypatch):
    """Both read the highest number first: without an immediate lock both would write the same one."""
    monkeypatch.setattr(database, "WAIT", 300.0)

    def count(_):
        for _ in range(15):
            with transaction(engine) as session:
                taken = session.exec(select(LeafRow.number)).all()
                time.sleep(0.001)
                session.add(row(len(taken)))

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(count, range(3)))
    assert sorted(numbers(engine)) == list(range(45))


@pytest.mark.both_databases
def test_a_reader_sees_a_snapshot_and_is_not_kept_waiting(engine):
    with transaction(engine) as session:
        session.add(row(0))
        session.flush()
        assert numbers(engine) == []
    assert numbers(engine) == [0]


@pytest.mark.both_databases
def test_a_writer_that_waits_too_long_says_what_is_busy(url, engine, monkeypatch):
    monkeypatch.setattr(database, "WAIT", 0.1)
    impatient = open_engine(url)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction(engine):
            held.set()
            assert done.wait(PATIENCE)

    somebody = threading.Thread(target=hold)
    somebody.start()
    assert held.wait(PATIENCE)
    for other in (impatient, engine):  # another process', and this one's
        with pytest.raises(Unavailable, match="was busy for"), transaction(other):
            pass
    done.set()
    somebody.join()
    put(impatient, 0)
    impatient.dispose()


@pytest.mark.both_databases
def test_many_writers_with_a_look_beside_their_transaction_do_not_wait_for_each_others_connections(engine, monkeypatch):
    monkeypatch.setattr(database, "WAIT", 300.0)

    def write(number):
        with transaction(engine) as session:
            assert len(numbers(engine)) < 80
            session.add(row(number))

    with ThreadPoolExecutor(80) as threads:
        list(threads.map(write, range(80)))
    assert sorted(numbers(engine)) == list(range(80))


@pytest.mark.both_databases
def test_one_reader_sees_one_snapshot_although_others_write_meanwhile(engine):
    with Session(engine) as session:
        assert session.exec(select(LeafRow.number)).all() == []
        with transaction(engine) as writer:
            writer.add(row(0))
        assert session.exec(select(LeafRow.number)).all() == []
    assert numbers(engine) == [0]


@pytest.mark.slow
def test_a_client_cut_off_inside_a_transaction_lets_the_others_continue(postgres, monkeypatch):
    def write() -> None:
        other = open_engine(url)
        with transaction(other) as session:
            assert session.connection().exec_driver_sql("SELECT 1").scalar() == 1
        other.dispose()

    def stand_still() -> None:
        with transaction(engine) as session:
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()
            session.connection().exec_driver_sql("SELECT 1")

    with postgres.empty() as url:
        with monkeypatch.context() as patch:
            patch.setattr(database, "IDLE", 1)  # of the connection that it has now, and of no later one
            engine = open_engine(url)
        with pytest.raises(Unavailable, match="does not answer"):
            stand_still()
        write()
        with transaction(engine) as session:
            assert session.connection().exec_driver_sql("SELECT 1").scalar() == 1
        engine.dispose()


@pytest.mark.parametrize("word", ["\x00", "xxxxx"])
def test_a_value_that_no_column_holds_is_malformed_and_no_server_error(postgres, word):
    with postgres.empty() as url:
        engine = open_engine(url)
        with transaction(engine) as session:
            session.connection().exec_driver_sql("CREATE TABLE small (word VARCHAR(4))")
        with engine.connect() as connection, pytest.raises(Malformed, match="holds no text"):
            connection.exec_driver_sql("INSERT INTO small VALUES (%s)", (word,))
        engine.dispose()


@pytest.mark.parametrize("value", ["\udcff", 1 << 70])
def test_half_a_character_and_a_number_without_end_are_malformed_too(tmp_path, value):
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with (
        engine.connect() as connection,
        pytest.raises(Malformed, match="cannot store a text or a number that was given"),
    ):
        connection.exec_driver_sql("SELECT ?", (value,))
    engine.dispose()


def test_a_database_in_another_encoding_is_refused(postgres):
    postgres.execute("CREATE DATABASE ascii ENCODING SQL_ASCII LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0")
    with pytest.raises(Malformed, match="encoded in SQL_ASCII"):
        open_engine(postgres.url("ascii"))


WITHOUT = """
import sys
sys.modules["psycopg"] = None
from quarterturn.cli import main
main()
"""


@pytest.mark.slow
def test_without_the_driver_of_postgresql_a_sentence_says_so(tmp_path):
    environment = {**os.environ, "QUARTERTURN_DATABASE": "postgresql://db/rows"}
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT, "init", "--home", tmp_path / "home"],
        check=False, env=environment, capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert said.returncode == 6
    assert "`./run setup --with postgres` installs it" in said.stderr


@pytest.mark.both_databases
def test_a_nested_transaction_is_an_error_and_not_a_long_wait(engine):
    with transaction(engine) as session:
        with pytest.raises(RuntimeError, match="pass its session on"), transaction(engine):
            pass
        session.add(row(0))
    put(engine, 1)
    assert numbers(engine) == [0, 1]


@pytest.mark.both_databases
def test_a_joined_transaction_shares_its_end(engine):
    with suppress(ZeroDivisionError), transaction(engine) as session:
        with join_or_begin(engine, session) as same:
            same.add(row(0))
        raise ZeroDivisionError
    with join_or_begin(engine, None) as own:
        own.add(row(1))
    assert numbers(engine) == [1]


@pytest.mark.both_databases
def test_a_refused_row_is_not_quoted(engine):
    put(engine, 0)
    with pytest.raises(IntegrityError) as refusal, transaction(engine) as session:
        session.add(row(0, b"a heron by the weir"))
    assert "heron" not in str(refusal.value)


@pytest.mark.parametrize("url", ["", "nonsense", "nosuchdriver://x/y", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_is_none_is_malformed(url):
    with pytest.raises(Malformed, match="sqlite:///PATH"):
        open_engine(url)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Unavailable, match=f"{tmp_path}/none/x.db"):
        open_engine(f"sqlite:///{tmp_path}/none/x.db")


def test_a_disk_that_takes_no_writes_is_named_with_the_next_step(tmp_path, monkeypatch):
    def read_only(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("vault.database.os.open", read_only)
    with pytest.raises(Unavailable, match=r"x\.db cannot be opened: Read-only file system; have it mounted"):
        open_engine(f"sqlite:///{tmp_path}/x.db")


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path):
    path = tmp_path / "x.db"
    path.write_text("a letter to a heron " * 100)
    with pytest.raises(Malformed, match=f"{path} is not a database"):
        open_engine(f"sqlite:///{path}")
    assert path.read_text().startswith("a letter")


def test_a_password_in_an_address_is_not_shown():
    with pytest.raises(Unavailable) as refusal:
        open_engine("postgresql://ada:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(refusal.value)
    assert "127.0.0.1" in str(refusal.value)
