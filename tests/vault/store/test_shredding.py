"""Tests of shredding: only what was never promised can be destroyed, and it is in no file afterwards."""

import base64
from datetime import UTC, datetime

import pytest
from sqlmodel import Session, select

from vault.database import transaction
from vault.errors import NotAllowed, NotFound, Refused
from vault.store.rewrap import Rewrapping, WrappedCounts
from vault.store.shredding import erase, require_shreddable, shred
from vault.store.tables import LeafRow, TaskRow
from vault.task.lifecycle import TaskState

from ..conftest import NoFiles

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def wrapped(engine, task_id):
    with Session(engine) as session:
        return session.get(TaskRow, task_id).wrapped_key


def shredded(engine, task_id, *beside, who="ada"):
    with transaction(engine) as session:
        return shred(session, task_id, beside, at=NOW, who=who)


def in_state(vault, task_id, state):
    paths = {
        TaskState.DRAFT: [],
        TaskState.ADMITTED: ["admit"],
        TaskState.REJECTED: ["admit", "reject"],
        TaskState.REVIEWED: ["admit", "approve"],
        TaskState.LIVE: ["admit", "approve", "activate"],
        TaskState.WITHDRAWN: ["admit", "approve", "activate", "withdraw"],
        TaskState.RETIRED: ["admit", "approve", "activate", "retire"],
        TaskState.PUBLISHED: ["admit", "approve", "activate", "retire", "publish"],
    }
    for event in paths[state]:
        vault.advance(task_id, event)


@pytest.mark.both_databases
@pytest.mark.parametrize("state", [TaskState.DRAFT, TaskState.REJECTED])
def test_a_shredded_task_does_not_open_and_its_row_stays(vault, engine, add, ring, state):
    record = add(0)
    in_state(vault, record.id, state)
    vault.seal_blob(f"admission/{record.id}", b"evidence")
    assert shredded(engine, record.id, f"admission/{record.id}") == {ring.key_id}
    with pytest.raises(NotFound, match=f"Task {record.id} was shredded"):
        vault.open(record.id, who="ada", why="look")
    assert not vault.has_blob(f"admission/{record.id}")
    left = vault.record(record.id)
    assert left.state == TaskState.REJECTED
    assert (left.commitment, left.skeleton_tag) == (record.commitment, record.skeleton_tag)


def test_the_access_log_keeps_it_as_the_operators_word_with_the_keys_that_copies_open_with(vault, engine, add, ring):
    record = add(0)
    shredded(engine, record.id)
    assert shredded(engine, record.id) == frozenset(), "it is done once"
    (entry,) = vault.access_log()
    assert (entry.who, entry.what) == ("ada", f"task/{record.id}")
    assert entry.why.startswith("task shred: the operator's word; copies and backups of before still open it with")
    assert entry.why.endswith(ring.key_id)
    vault.verify_access_log()


def test_without_a_name_nothing_is_shredded(vault, engine, add):
    record = add(0)
    with pytest.raises(NotAllowed):
        shredded(engine, record.id, who=" ")
    assert vault.open(record.id, who="ada", why="look").task.id == record.id


@pytest.mark.parametrize("state", [state for state in TaskState if state not in {TaskState.DRAFT, TaskState.REJECTED}])
def test_waiting_and_promised_tasks_are_refused(vault, engine, add, state):
    record = add(0)
    in_state(vault, record.id, state)
    with pytest.raises(Refused, match=f"Task {record.id} is {state.value} and is not shredded: "):
        shredded(engine, record.id)
    assert vault.open(record.id, who="ada", why="look").task.id == record.id


def test_a_promise_that_is_only_recorded_is_enough_to_refuse(vault, engine, add):
    record = add(0)
    with transaction(engine) as session:
        session.add(LeafRow(number=0, key=f"commit/{record.id}", leaf=b"x", recorded_at=NOW))
    with pytest.raises(Refused, match="promised in the public log"):
        shredded(engine, record.id)
    with Session(engine) as session, pytest.raises(NotFound, match=r"There is no task t-\."):
        require_shreddable(session, "t-.")


def test_the_old_bytes_are_in_no_file_of_the_database(vault, engine, add, tmp_path):
    """Rows of many sizes are wrapped again in between, so that they move within their pages."""
    ids = [add(number, author="a" * (number * 40 % 200 + 1)).id for number in range(40)]
    for number, task_id in enumerate(ids):
        vault.seal_blob(f"admission/{task_id}", b"canary" * (97 * number))
    gone, keys = ids[::3], []
    with Session(engine) as session:
        for row in session.exec(select(TaskRow).where(TaskRow.id.in_(gone))).all():
            keys += [row.wrapped_key, row.ciphertext]
    files = list(tmp_path.glob("quarterturn.db*"))
    assert any(keys[0] in path.read_bytes() for path in files), "else this looks in the wrong place"
    del keys[1::2]  # the ciphertext stays, and opens with nothing
    for task_id in gone:
        shredded(engine, task_id, f"admission/{task_id}")
    assert erase(engine)
    held = b"".join(path.read_bytes() for path in files)
    for key in keys:
        for form in (key, key.hex().encode(), base64.b64encode(key)):
            assert form not in held
    assert (tmp_path / "quarterturn.db-wal").stat().st_size == 0
    assert wrapped(engine, ids[1]) in held


def test_a_concurrent_reader_keeps_the_write_ahead_log_and_it_is_reported(vault, engine, add):
    record = add(0)
    with engine.connect() as raw:
        raw.connection.driver_connection.execute("PRAGMA busy_timeout=1")
    with Session(engine) as reader:
        assert reader.get(TaskRow, record.id) is not None
        shredded(engine, record.id)
        assert erase(engine) is False
    assert erase(engine) is True


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_postgresql_promises_nothing_about_old_versions_of_a_row(vault, engine, add):
    shredded(engine, add(0).id)
    assert erase(engine) is None


def test_a_rotation_passes_over_what_was_shredded(vault, engine, add, ring, clock):
    add(0)
    shredded(engine, add(1).id)
    rotation = Rewrapping(engine, ring, NoFiles(), "ada", clock)
    rotation.begin()
    assert rotation.rewrap() == WrappedCounts(1, 1)
    rotation.finish()
