"""Tests of the public log: it follows the rows, and never contradicts what was signed."""

import shutil
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import SQLModel

from vault.database import open_engine, transaction
from vault.errors import Broken, Malformed, NotFound, Refused, Unavailable
from vault.ledger.tree.merkle import leaf_hash, root
from vault.ledger.write.append import LogWriter
from vault.store.public_log import PublicLog
from vault.store.tables import LeafRow

from ..builders import ORIGIN, signer, sql

pytestmark = pytest.mark.both_databases


@pytest.fixture
def writer(tmp_path):
    return LogWriter(tmp_path / "public" / "log", tmp_path / "head" / "signed", signer(), ORIGIN)


@pytest.fixture
def ledger(engine, writer, clock):
    return PublicLog(engine, writer, clock)


def test_leaves_are_counted_from_zero_and_the_same_key_is_the_same_leaf(ledger):
    assert [ledger.record(key, key.encode()) for key in ("a", "b", "a", "c", "b")] == [0, 1, 0, 2, 1]
    assert ledger.size == 3
    assert (ledger.find("b"), ledger.find("z")) == (1, None)
    assert ledger.leaf(2) == b"c"
    with pytest.raises(NotFound, match="no leaf 3; 3 are recorded"):
        ledger.leaf(3)
    assert ledger.index_of("b") == 1
    for named in (ledger.index_of, ledger.statement):
        with pytest.raises(NotFound, match="no leaf 'z'; the step that records it was never run"):
            named("z")


def test_a_promise_is_not_said_twice_in_different_words(ledger):
    ledger.record("commit/t", b"one")
    with pytest.raises(Refused, match="Leaf 0, 'commit/t', is recorded already"):
        ledger.record("commit/t", b"two")
    assert ledger.leaf(0) == b"one"


@pytest.mark.parametrize(("key", "leaf"), [("", b"x"), ("k" * 301, b"x"), ("k", b""), ("k", b"x" * 65_536)])
def test_a_statement_that_the_log_could_never_take_is_not_recorded(ledger, key, leaf):
    with pytest.raises(Malformed):
        ledger.record(key, leaf)
    assert ledger.size == 0


def test_a_leaf_of_the_largest_size_goes_all_the_way(ledger):
    ledger.record("big", b"x" * 65_535)
    assert ledger.publish().size == 1


def test_a_promise_that_is_rolled_back_was_never_made_and_its_number_is_free(engine, ledger):
    with suppress(ZeroDivisionError), transaction(engine) as session:
        assert ledger.record("a", b"a", session=session) == 0
        assert ledger.record("b", b"b", session=session) == 1
        raise ZeroDivisionError
    assert ledger.size == 0
    assert ledger.record("c", b"c") == 0


def test_nothing_that_is_not_committed_is_published(engine, ledger):
    ledger.record("a", b"a")
    with transaction(engine) as session:
        ledger.record("b", b"b", session=session)
        assert ledger.publish().size == 1
    assert ledger.publish().size == 2


@pytest.mark.slow
def test_publishing_signs_the_rows_and_doing_it_again_changes_nothing(ledger, writer, tmp_path):
    assert ledger.publish().size == 0
    leaves = [f"leaf {n}".encode() for n in range(300)]
    for n, leaf in enumerate(leaves):
        ledger.record(f"k{n}", leaf)
        if n in {0, 7, 256}:
            ledger.publish()
    head = ledger.publish()
    assert (head.size, head.root) == (300, root([leaf_hash(leaf) for leaf in leaves]))
    before = (tmp_path / "public" / "log" / "checkpoint").read_bytes()
    assert ledger.publish() == head == ledger.published
    assert (tmp_path / "public" / "log" / "checkpoint").read_bytes() == before
    ledger.verify()


@pytest.mark.slow
@given(plan=st.text("rrp", max_size=30))
@settings(max_examples=25)
def test_however_recording_and_publishing_alternate_the_log_is_the_rows(tmp_path_factory, plan):
    folder = tmp_path_factory.mktemp("log")
    engine = open_engine(f"sqlite:///{folder}/x.db")
    SQLModel.metadata.create_all(engine, tables=[LeafRow.__table__])
    writer = LogWriter(folder / "log", folder / "head", signer(), ORIGIN)
    ledger = PublicLog(engine, writer, lambda: datetime(2026, 12, 1, tzinfo=UTC))
    for step in plan:
        if step == "p":
            ledger.publish()
        else:
            ledger.record(f"k{ledger.size}", f"leaf {ledger.size}".encode())
    assert ledger.publish().size == plan.count("r")
    ledger.verify()
    engine.dispose()


# -- what was put back or edited --------------------------------------------------------------------------------


@pytest.fixture
def published(ledger):
    for n in range(5):
        ledger.record(f"k{n}", f"leaf {n}".encode())
    ledger.publish()
    return ledger


def test_a_database_that_was_put_back_is_refused_before_anything_is_promised_from_it(engine, writer, clock, published):
    sql(engine, "DELETE FROM vault_ledger_leaf WHERE number > 2")
    with pytest.raises(Refused, match="holds 3 leaves, but the log was signed over 5"):
        PublicLog(engine, writer, clock)


@pytest.mark.parametrize("place", range(5))
def test_an_edited_leaf_is_named(engine, writer, clock, published, place):
    binary = "BLOB" if engine.dialect.name == "sqlite" else "BYTEA"
    sql(engine, f"UPDATE vault_ledger_leaf SET leaf = CAST('kinder' AS {binary}) WHERE number = {place}")
    with pytest.raises(Refused, match=f"Leaf {place} in the database is not the leaf that was signed"):
        PublicLog(engine, writer, clock)
    with pytest.raises(Refused):
        published.verify()


def test_a_gap_in_the_rows_is_named_and_not_published(engine, published):
    published.record("k5", b"5")
    published.record("k6", b"6")
    sql(engine, "DELETE FROM vault_ledger_leaf WHERE number = 5")
    with pytest.raises(Refused, match="no leaf 5: after it comes 6"):
        published.publish()
    assert published.published.size == 5


def test_rows_that_are_not_published_yet_are_no_contradiction(engine, writer, clock, published):
    published.record("k5", b"5")
    again = PublicLog(engine, writer, clock)
    assert (again.size, again.published.size) == (6, 5)
    again.verify()


def test_a_log_without_its_signed_head_is_refused(engine, writer, clock, published, tmp_path):
    (tmp_path / "head" / "signed").unlink()
    with pytest.raises(Refused, match="signed head"):
        PublicLog(engine, writer, clock)


def test_a_damaged_public_file_is_found_by_reading_everything_again(published, tmp_path):
    tile = next((tmp_path / "public" / "log" / "tile" / "entries").rglob("*.p/5"))
    tile.write_bytes(tile.read_bytes().replace(b"leaf 3", b"leaf X"))
    with pytest.raises(Broken, match="The public log is damaged"):
        published.verify()


def test_a_public_folder_that_was_emptied_is_refused(engine, writer, clock, published, tmp_path):
    shutil.rmtree(tmp_path / "public")
    with pytest.raises((Refused, Broken, Malformed, Unavailable)):
        PublicLog(engine, writer, clock)
