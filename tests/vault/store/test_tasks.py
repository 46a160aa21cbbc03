"""Tests of stored tasks: sealed and promised, opened only as promised, and moved along the lifecycle table."""

import hashlib
from contextlib import closing, suppress
from datetime import UTC, datetime

import pytest

from vault.canonical import canonical
from vault.commitment import commitment, opens
from vault.database import transaction
from vault.errors import Broken, Locked, NotAllowed, NotFound, Refused
from vault.keys.ring import FileKeyRing
from vault.keys.seal import seal
from vault.store import blobs
from vault.store.tables import BlobRow, LeafRow, TaskRow
from vault.store.tasks import Vault
from vault.task.document import Task
from vault.task.lifecycle import TaskState

from ..builders import sql

pytestmark = pytest.mark.both_databases


def recorded(engine, keys: list[str]) -> None:
    with transaction(engine) as session:
        for number, key in enumerate(keys):
            session.add(LeafRow(number=number, key=key, leaf=b"{}", recorded_at=datetime(2026, 12, 1, tzinfo=UTC)))


def test_a_task_comes_out_as_it_went_in_with_the_openings_of_its_commitments(vault, make_task):
    task, provenance = make_task(0), {"grammar": "filesystem", "solutions": [{"calls": []}], "seed": 1.5}
    record = vault.add(task, provenance, author="ada", public_grammar=True, skeleton="s", template="t")
    opened = vault.open(task.id, who="ada", why="review")
    assert opened.task == task
    assert opened.provenance == provenance
    assert opens("commit", task.canonical(), opened.salt, record.commitment)
    assert opens("provenance", canonical(provenance), opened.provenance_salt, record.provenance_commitment)
    assert opened.salt != opened.provenance_salt
    assert repr(opened) == f"OpenedTask(task={task!r})"


WIDE = {name: {"from": [f"{name}-{n}" for n in range(1024)]} for name in ("who", "where")}


def test_a_task_of_many_variants_is_bound_to_its_key_and_each_submitter_gets_their_own(vault, make_task):
    task = Task.parse(make_task(0).document | {"free": WIDE, "goal": "Write {{who}} in {{where}}."})
    record = vault.add(task, {}, author="ada", public_grammar=False, skeleton="s", template="t")
    opened = vault.open(task.id, who="ada", why="serve")
    assert opened.task.variant_key == hashlib.sha256(vault.variant_key(task.id)).hexdigest()
    assert opens("commit", opened.task.canonical(), opened.salt, record.commitment)
    shown = {(who, month): vault.served(opened.task, who, month) for who in "ab" for month in ("2026-12", "2027-01")}
    assert len({variant.goal for variant in shown.values()}) == 4
    assert vault.served(opened.task, "a", "2026-12") == shown["a", "2026-12"]
    assert not shown["a", "2026-12"].free
    with pytest.raises(Broken, match="not the one that was committed to"):
        vault.served(task.keyed("0" * 64), "a", "2026-12")


def test_a_task_of_few_variants_is_served_plain_to_everybody(vault, make_task):
    task = Task.parse(make_task(0).document | {"free": {"who": {"from": ["ann", "bob"]}}, "goal": "Write {{who}}."})
    vault.add(task, {}, author="ada", public_grammar=False, skeleton="s", template="t")
    opened = vault.open(task.id, who="ada", why="serve").task
    assert opened.variant_key is None
    assert {vault.served(opened, who, "2026-12").goal for who in "abcdef"} == {"Write ann."}


def test_a_record_tells_the_public_mix_and_nothing_else(vault, add, make_task):
    record = add(3, public_grammar=True)
    task = make_task(3)
    assert (record.id, record.state) == (task.id, TaskState.DRAFT)
    assert (record.server, record.category, record.difficulty) == ("filesystem", "composition", "medium")
    assert (record.author, record.public_grammar) == ("ada", True)
    assert len(record.commitment) == len(record.provenance_commitment) == 32
    assert record.created_at.tzinfo is UTC
    assert vault.record(record.id) == record


def test_records_are_listed_by_state_in_the_order_of_adding(vault, add):
    ids = [add(n).id for n in (2, 0, 1)]
    vault.advance(ids[1], "admit")
    assert [record.id for record in vault.records()] == ids
    assert [record.id for record in vault.records(TaskState.DRAFT)] == [ids[0], ids[2]]
    assert [record.id for record in vault.records("admitted")] == [ids[1]]


def test_tasks_of_a_state_come_in_the_order_of_their_commitments(vault, add):
    added = [add(number) for number in range(7)]
    for record in added[:5]:
        vault.advance(record.id, "admit")
    with closing(vault.by_commitment(TaskState.ADMITTED)) as found:
        assert [task.commitment for task in found] == sorted(record.commitment for record in added[:5])


def test_tasks_with_a_leaf_are_those_whose_leaf_it_is(vault, engine, add):
    added = [add(number) for number in range(7)]
    for record in added[:5]:
        vault.advance(record.id, "admit")
    keys = [f"commit/{record.id}" for record in added[3:]]
    recorded(engine, [*keys, "commit/t-nobody", f"withdraw/{added[0].id}", f"COMMIT/{added[1].id}", "commit/"])
    with closing(vault.by_commitment(TaskState.ADMITTED, leaf="commit/")) as found:
        assert [task.id for task in found] == [
            record.id for record in sorted(added[3:5], key=lambda record: record.commitment)
        ]
    with closing(vault.by_commitment(TaskState.ADMITTED, leaf="commit_")) as found:
        assert list(found) == []


def test_two_equal_tasks_have_unequal_promises_and_equal_tags(add):
    one, two = add(0), add(1)
    assert one.commitment != two.commitment
    assert one.provenance_commitment != two.provenance_commitment
    assert (one.skeleton_tag, one.template_tag) == (two.skeleton_tag, two.template_tag)
    assert one.skeleton_tag != one.template_tag


def test_a_task_is_added_once(vault, add):
    before = add(0)
    with pytest.raises(Refused, match="left as it is"):
        add(0, author="eve")
    assert vault.record(before.id) == before


def test_a_task_that_is_not_there_is_not_found(vault):
    for ask in (
        vault.record,
        lambda name: vault.open(name, who="a", why="b"),
        lambda name: vault.advance(name, "admit"),
    ):
        with pytest.raises(NotFound, match="t-nowhere"):
            ask("t-nowhere")
    assert vault.access_log() == []


IMMUTABLE = {
    "author": "'eve'",
    "public_grammar": "NOT public_grammar",
    "traceable": "NOT traceable",
    "server": "'git'",
    "category": "'recovery'",
    "difficulty": "'easy'",
    "skeleton_tag": "template_tag",
    "template_tag": "skeleton_tag",
    "commitment": "substr(provenance_commitment, 2)",
    "provenance_commitment": "substr(commitment, 2)",
    "created_at": "'2026-12-02 09:00:01.000250'",
    "ciphertext": "substr(ciphertext, 2)",
}


@pytest.mark.parametrize("column", IMMUTABLE)
def test_a_row_with_edited_metadata_cannot_be_opened(vault, engine, add, column):
    record = add(0)
    sql(engine, f"UPDATE vault_task SET {column} = {IMMUTABLE[column]} WHERE id = '{record.id}'")
    with pytest.raises(Broken):
        vault.open(record.id, who="ada", why="review")


def test_the_content_of_another_row_does_not_open(vault, engine, add):
    """Author, ring and time are the same; only the row differs."""
    one, two = add(0), add(1)
    for name in ("trace/1", "trace/2"):
        vault.seal_blob(name, b"...")
    with transaction(engine) as session:
        for kind, here, there in ((TaskRow, one.id, two.id), (BlobRow, "trace/1", "trace/2")):
            target = session.get(kind, here)
            for column, value in session.get(kind, there).sealed().columns().items():
                setattr(target, column, value)
    for opening in (
        lambda: vault.open(one.id, who="ada", why="review"),
        lambda: vault.open_blob("trace/1", who="ada", why="review"),
        lambda: vault.open_blobs("trace/", who="ada", why="review"),
    ):
        with pytest.raises(Broken):
            opening()


def test_a_blob_that_stands_where_a_task_stood_does_not_open(vault, engine, ring, add):
    record, moment = add(0), add(1).created_at
    with transaction(engine) as session:
        row = session.get(TaskRow, record.id)
        for name, value in seal(b"...", blobs.context(record.id, moment), ring).columns().items():
            setattr(row, name, value)
    with pytest.raises(Broken):
        vault.open(record.id, who="ada", why="review")


def test_a_state_that_does_not_exist_is_noticed(vault, engine, add):
    record = add(0)
    sql(engine, "UPDATE vault_task SET state = 'golden'")
    with pytest.raises(Broken, match="golden"):
        vault.record(record.id)


def test_another_ring_cannot_open_the_vault(vault, engine, clock, add, tmp_path):
    record = add(0)
    stranger = Vault(engine, FileKeyRing.create(tmp_path / "other", None), clock)
    with pytest.raises(Locked, match="does not hold"):
        stranger.open(record.id, who="eve", why="curious")
    assert [entry.who for entry in stranger.access_log()] == ["eve"]


def test_a_life_goes_along_the_table_and_its_promise_still_opens(vault, add):
    task_id = add(0).id
    for event, state in [("admit", "admitted"), ("approve", "reviewed"), ("activate", "live"), ("retire", "retired")]:
        assert vault.advance(task_id, event).state == state
    assert vault.open(task_id, who="ada", why="publish").task.id == task_id
    assert vault.advance(task_id, "publish").state is TaskState.PUBLISHED


def test_an_event_that_is_not_open_changes_nothing_and_names_the_task(vault, add):
    task_id = add(0).id
    with pytest.raises(NotAllowed, match=f"Task {task_id}: 'activate' is not open to a task that is draft"):
        vault.advance(task_id, "activate")
    assert vault.record(task_id).state is TaskState.DRAFT


def test_a_task_that_moved_meanwhile_is_not_moved_again(vault, engine, add):
    """The session still holds a draft when the row no longer is one."""
    task_id = add(0).id
    with transaction(engine) as session:
        remembered = session.get(TaskRow, task_id)
        session.connection().exec_driver_sql("UPDATE vault_task SET state = 'rejected'")
        with pytest.raises(NotAllowed, match="is no longer draft"):
            vault.advance(task_id, "admit", session=session)
        assert remembered is not None
    assert vault.record(task_id).state is TaskState.REJECTED


def test_work_in_a_callers_transaction_is_rolled_back_with_it(vault, engine, make_task, add):
    kept = add(0)
    with suppress(ZeroDivisionError), transaction(engine) as session:
        vault.add(make_task(1), {}, author="a", public_grammar=False, skeleton="s", template="t", session=session)
        vault.advance(kept.id, "admit", session=session)
        vault.seal_blob("trace", b"x", session=session)
        assert vault.has_blob("trace", session)
        raise ZeroDivisionError
    assert [(record.id, record.state) for record in vault.records()] == [(kept.id, TaskState.DRAFT)]
    assert not vault.has_blob("trace")


# -- tags ----------------------------------------------------------------------------------------------------


def test_a_tag_is_the_same_for_everybody_with_the_ring_and_says_nothing_without(vault, engine, ring, clock, tmp_path):
    tag = vault.tag("skeleton", "tidy-up/move")
    assert Vault(engine, ring, clock).tag("skeleton", "tidy-up/move") == tag
    assert vault.tag("template", "tidy-up/move") != tag
    assert vault.tag("skeleton", "tidy-up/copy") != tag
    assert vault.tag("skel", "eton") != vault.tag("skeleton", "")
    assert len(bytes.fromhex(tag)) == 32
    with pytest.raises(Locked):
        Vault(engine, FileKeyRing.create(tmp_path / "other", None), clock).tag("skeleton", "tidy-up/move")


def test_no_tag_is_made_with_a_key_that_was_rolled_back(vault, engine, ring, clock):
    with suppress(ZeroDivisionError), transaction(engine) as session:
        lost = vault.tag("skeleton", "x", session=session)
        assert vault.tag("skeleton", "x", session=session) == lost
        raise ZeroDivisionError
    kept = vault.tag("skeleton", "x")
    assert kept != lost
    assert Vault(engine, ring, clock).tag("skeleton", "x") == kept


def test_the_key_of_the_index_is_not_handed_out(vault):
    vault.tag("skeleton", "x")
    with pytest.raises(Refused):
        vault.open_blob("vault/index-key", who="eve", why="curious")


# -- blobs ---------------------------------------------------------------------------------------------------


def test_a_blob_comes_out_as_it_went_in_and_the_opening_is_logged(vault):
    vault.seal_blob("run/7/trace", b"\x00\xff" * 1000)
    assert vault.open_blob("run/7/trace", who="ada", why="dispute") == b"\x00\xff" * 1000
    assert [entry.what for entry in vault.access_log()] == ["blob/run/7/trace"]


def test_a_blob_is_written_once(vault):
    vault.seal_blob("salts", b"first")
    with pytest.raises(Refused, match="already"):
        vault.seal_blob("salts", b"second")
    assert vault.open_blob("salts", who="a", why="b") == b"first"


def test_nothing_is_kept_under_another_name(vault, engine):
    vault.seal_blob("one", b"x")
    with pytest.raises(NotFound, match="'two'"):
        vault.open_blob("two", who="a", why="b")
    sql(engine, "UPDATE vault_blob SET name = 'two' WHERE name = 'one'")
    with pytest.raises(Broken):
        vault.open_blob("two", who="a", why="b")


@pytest.mark.parametrize("name", ["", "vault/x", "x" * 291, "a\nb"])
def test_a_name_that_is_none_or_the_vaults_own_is_refused(vault, name):
    with pytest.raises(Refused):
        vault.seal_blob(name, b"x")


def test_randomness_is_an_argument(engine, ring, clock, make_task):
    vault = Vault(engine, ring, clock, entropy=lambda size: b"\x0b" * size)
    record = vault.add(make_task(0), {}, author="a", public_grammar=False, skeleton="s", template="t")
    assert record.commitment == commitment("commit", make_task(0).canonical(), b"\x0b" * 32)


def test_many_blobs_are_opened_under_one_entry_of_the_log(vault):
    for name in ("sketch/a", "sketch/b", "sketches", "other"):
        vault.seal_blob(name, name.encode())
    opened = vault.open_blobs("sketch/", who="ada", why="look for near-duplicates")
    assert opened == {"a": b"sketch/a", "b": b"sketch/b"}
    assert [entry.what for entry in vault.access_log()] == ["blobs/sketch/* (2)"]
    assert vault.open_blobs("nothing/", who="ada", why="look") == {}


def test_names_are_found_by_their_beginnings_and_never_as_patterns(vault):
    names = ["left/1/a", "left/1/b", "left/10/a", "left/1_/a", "left/1%/a", "left/1", "left/2/a"]
    for name in names:
        vault.seal_blob(name, b"x" * 100)
    assert vault.blob_names("left/1/") == ["left/1/a", "left/1/b"]
    assert vault.blob_names("left/1_") == ["left/1_/a"]
    assert vault.blob_names("left/1%/") == ["left/1%/a"]
    assert sorted(vault.blob_names("left/")) == sorted(names)
    with transaction(vault._engine) as session:
        assert 200 <= vault.blob_bytes("left/1/", session) < 300
        assert vault.blob_bytes("right/", session) == 0
    vault.drop_blobs("left/1/")
    assert sorted(vault.blob_names("")) == sorted(names[2:])
