"""Canary tests: words of a private task are found nowhere unsealed."""

import base64
import logging
import traceback

import pytest
from sqlmodel import Session, select

from vault.errors import VaultError
from vault.store.tables import TaskRow
from vault.store.tasks import Vault
from vault.task.document import Task

CANARIES = [
    *("canary-goal-7f3a", "canary-file-91bc", "canary-text-c04d", "canary-error-5e5e", "canary-predicate-b11d"),
    *("canary-skeleton-aa07", "canary-template-d00f", "canary-seed-3c3c", "canary-solution-90f0", "canary-blob-e77e"),
]
GOAL, FILE, TEXT, ERROR, PREDICATE, SKELETON, TEMPLATE, SEED, SOLUTION, BLOB = CANARIES


def forms(canary: str) -> list[bytes]:
    """Return the encodings in which a word could lie on a disk."""
    raw = canary.encode()
    shifted = [base64.b64encode(b"x" * pad + raw)[4:-4] for pad in range(3)]
    return [raw, raw.hex().encode(), canary.encode("utf-16-le"), raw[::-1], *shifted]


@pytest.fixture
def private(document) -> Task:
    document["goal"] = f"Find {GOAL}."
    document["initial_state"]["filesystem"]["files"] = {FILE: TEXT}
    document["faults"] = [{"tool": "git.git_log", "call": 1, "error": ERROR}]
    document["success_predicate"] = {"filesystem.fileExists": {"path": PREDICATE}}
    return Task.parse(document)


@pytest.fixture
def kept(vault: Vault, private: Task) -> Vault:
    provenance = {"seed": SEED, "skeleton": SKELETON, "solutions": [{"calls": [{"tool": SOLUTION}]}]}
    vault.add(private, provenance, author="ada", public_grammar=False, skeleton=SKELETON, template=TEMPLATE)
    vault.seal_blob("trace/1", BLOB.encode() * 50)
    vault.open(private.id, who="ada", why="review")
    vault.open_blob("trace/1", who="ada", why="dispute")
    for event in ("admit", "approve", "activate"):
        vault.advance(private.id, event)
    return vault


def test_a_planted_word_is_found_by_the_search_itself(tmp_path):
    (tmp_path / "x").write_bytes(b"...." + base64.b64encode(b"pad" + GOAL.encode() + b"pad"))
    assert any(form in (tmp_path / "x").read_bytes() for form in forms(GOAL))


@pytest.mark.parametrize("fold", [False, True], ids=["with the write-ahead log", "after folding it in"])
def test_no_word_of_a_private_task_lies_in_any_file_of_the_home(kept, engine, tmp_path, fold):
    if fold:
        engine.dispose()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"quarterturn.db", "ring.json"} <= {path.name for path in files}
    assert ("quarterturn.db-wal" in {path.name for path in files}) != fold
    found = {
        (path.name, canary)
        for path in files
        for canary in CANARIES
        for form in forms(canary)
        if form in path.read_bytes()
    }
    assert found == set()


def test_no_word_of_a_private_task_is_logged_however_much_is(vault, private, engine, caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy").setLevel(logging.DEBUG)
    try:
        vault.add(private, {"seed": SEED}, author="a", public_grammar=False, skeleton=SKELETON, template=TEMPLATE)
        vault.seal_blob("trace/1", BLOB.encode())
        vault.open(private.id, who="ada", why="review")
        vault.open_blob("trace/1", who="ada", why="dispute")
    finally:
        logging.getLogger("sqlalchemy").setLevel(logging.NOTSET)
    assert "INSERT INTO vault_task" in caplog.text
    assert [canary for canary in CANARIES if canary in caplog.text] == []


def test_no_word_of_a_private_task_is_in_a_repr(kept, engine, private):
    opened = kept.open(private.id, who="ada", why="review")
    with Session(engine) as session:
        row = session.exec(select(TaskRow)).one()
    shown = f"{opened!r} {private!r} {private.faults!r} {kept.record(private.id)!r} {row!r} {row.sealed()!r} {kept!r}"
    assert [canary for canary in CANARIES if canary in shown] == []


@pytest.mark.parametrize("spoil", ["author = 'eve'", "nonce = zeroblob(12)"])
def test_no_word_of_a_private_task_is_in_the_account_of_a_failed_opening(kept, engine, private, spoil):
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE vault_task SET {spoil}")
    with pytest.raises(VaultError) as failure:
        kept.open(private.id, who="ada", why="review")
    account = "".join(traceback.format_exception(failure.value))
    assert [canary for canary in CANARIES if canary in account] == []


def test_a_salt_never_stands_in_a_column(kept, engine, private):
    opened = kept.open(private.id, who="ada", why="review")
    with Session(engine) as session:
        row = session.exec(select(TaskRow)).one().model_dump()
    for salt in (opened.salt, opened.provenance_salt):
        assert [name for name, value in row.items() if value in {salt, salt.hex()}] == []
        assert salt not in row["ciphertext"]
