"""Tests of changing the ring's key: beside writers, interrupted anywhere, and nothing stays under a removed key."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlmodel import Session, select

from vault.database import transaction
from vault.errors import Locked, NotAllowed, Refused
from vault.keys.ring import FileKeyRing
from vault.keys.seal import unseal
from vault.store import blobs, rewrap
from vault.store.rewrap import Rewrapping, WrappedCounts, protected_by
from vault.store.tables import BlobRow, TaskRow
from vault.store.tasks import Vault

from ...patience import PATIENCE
from ..conftest import NoFiles

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture
def rotation(engine, ring, clock):
    return Rewrapping(engine, ring, NoFiles(), "ada", clock)


@pytest.fixture
def filled(vault, add):
    """Make five tasks with a blob each; with the index key there are six blobs."""
    for number in range(5):
        add(number)
        vault.seal_blob(f"trace/{number}", b"what happened %d" % number)
    return vault


def rotated(rotation):
    """Change the key, from beginning to end."""
    rotation.begin()
    rotation.rewrap()
    rotation.finish()


def counted(engine, ring):
    with Session(engine) as session:
        return protected_by(session, ring, NoFiles())


def opens(vault):
    """Open everything, or fail."""
    tasks = {record.id: vault.open(record.id, who="ada", why="look").task.goal for record in vault.records()}
    return tasks, vault.open_blobs("trace/", who="ada", why="look"), vault.tag("skeleton", "tidy-up/move")


def rows(engine):
    with Session(engine) as session:
        return {
            getattr(row, "id", None) or row.name: (row.nonce, row.ciphertext, row.key_id, row.wrapped_key)
            for kind in (TaskRow, BlobRow)
            for row in session.exec(select(kind)).all()
        }


@pytest.mark.both_databases
def test_a_rotation_wraps_everything_again_and_touches_no_ciphertext(engine, filled, ring, rotation, monkeypatch):
    monkeypatch.setattr(rewrap, "PART_ROWS", 2)
    old, before, said = ring.key_id, rows(engine), opens(filled)
    advanced: list[int] = []
    assert rotation.begin()
    assert counted(engine, ring) == {old: WrappedCounts(5, 6), ring.key_id: WrappedCounts()}
    assert rotation.left() == 11
    assert rotation.rewrap(advanced.append) == WrappedCounts(5, 6)
    assert sum(advanced) == 11
    assert max(advanced) == 2
    assert rotation.left() == 0
    assert rotation.finish() == (old,)
    after = rows(engine)
    assert {name: row[:2] for name, row in after.items()} == {name: row[:2] for name, row in before.items()}
    assert {row[2] for row in after.values()} == {ring.key_id}
    assert not {row[3] for row in after.values()} & {row[3] for row in before.values()}
    assert opens(filled) == said
    assert ring.key_ids == (ring.key_id,)
    assert counted(engine, ring) == {ring.key_id: WrappedCounts(5, 6)}


def test_a_part_is_small_in_bytes_too(filled, rotation, monkeypatch):
    monkeypatch.setattr(rewrap, "PART_BYTES", 1)
    advanced: list[int] = []
    rotation.begin()
    rotation.rewrap(advanced.append)
    assert [steps for steps in advanced if steps] == [1] * 11


def test_the_access_log_names_the_actor_and_the_key(filled, ring, rotation):
    old = ring.key_id
    rotated(rotation)
    entries = [(entry.who, entry.what, entry.why) for entry in filled.access_log()]
    assert entries == [
        ("ada", f"ring/{old}", "keys rotate: a new key takes its place"),
        (
            "ada",
            f"ring/{old}",
            f"keys rotate: dropped; 5 tasks, 6 other sealed rows and 0 key files are under {ring.key_id}",
        ),
    ]
    filled.verify_access_log()


def test_without_a_name_nothing_is_changed(engine, ring, clock, filled):
    with pytest.raises(NotAllowed):
        Rewrapping(engine, ring, NoFiles(), " ", clock).begin()
    assert len(ring.key_ids) == 1


def test_a_rotation_that_is_under_way_gets_no_third_key(filled, ring, rotation):
    assert rotation.begin()
    keys = ring.key_ids
    assert not rotation.begin()
    rotation.rewrap()
    assert not rotation.begin(), "all is wrapped again and the old key is there still"
    assert ring.key_ids == keys
    rotation.finish()
    assert rotation.begin()


@pytest.mark.both_databases
def test_a_key_stays_while_a_row_needs_it(engine, filled, ring, rotation):
    old = ring.key_id
    rotation.begin()
    with pytest.raises(Refused, match=rf"{old} is kept, because 5 tasks, 6 other sealed rows and 0 key files"):
        rotation.finish()
    with transaction(engine) as session:
        whole = session.get(BlobRow, "trace/3").wrapped_key
        session.exec(update(BlobRow).where(BlobRow.name == "trace/3").values(wrapped_key=whole[:-1] + b"?"))
    assert rotation.rewrap() == WrappedCounts(5, 5), "the others are not held up by it"
    with pytest.raises(Refused, match=r"1 other sealed rows.*vault_blob trace/3: A data key does not unwrap"):
        rotation.finish()
    assert old in ring.key_ids
    with transaction(engine) as session:
        session.exec(update(BlobRow).where(BlobRow.name == "trace/3").values(wrapped_key=whole))
    assert rotation.rewrap() == WrappedCounts(0, 1)
    assert rotation.finish() == (old,)
    opens(filled)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_row_that_changes_meanwhile_is_not_written_over(engine, filled, rotation, monkeypatch):
    """Our writers hold the lock; a foreign writer without it loses nothing either."""
    real, changed = rewrap.rewrap, update(BlobRow).where(BlobRow.name == "trace/1").values(wrapped_key=b"another's")

    def meanwhile(*arguments):
        with engine.begin() as another:
            another.execute(changed)
        return real(*arguments)

    rotation.begin()
    monkeypatch.setattr(rewrap, "rewrap", meanwhile)
    rotation.rewrap()
    assert rows(engine)["trace/1"][3] == b"another's"


def test_a_service_that_runs_follows_without_being_asked(filled, ring, rotation, engine, clock):
    service = Vault(engine, FileKeyRing.open(ring.path, None), clock)
    rotation.begin()
    service.seal_blob("trace/new", b"new")
    assert rows(engine)["trace/new"][2] == ring.key_id
    rotation.rewrap()
    rotation.finish()
    assert opens(service) == opens(filled)
    service.seal_blob("trace/newer", b"newer")
    assert filled.open_blob("trace/newer", who="ada", why="look") == b"newer"


def test_a_row_read_just_before_it_was_rewrapped_opens(engine, filled, ring, rotation):
    service = FileKeyRing.open(ring.path, None)
    with Session(engine) as session:
        row = session.get(BlobRow, "trace/1")
    rotated(rotation)
    service.wrap(b"k" * 32, b"somebody else's, in another thread")
    context = blobs.context(row.name, row.created_at)
    assert unseal(row.sealed(), context, service) == b"what happened 1"
    with pytest.raises(Locked, match="does not hold"):
        unseal(row.sealed(), context, FileKeyRing.open(ring.path, None))


OPEN = """
import json, os, signal, sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from sqlalchemy import event
from sqlmodel import Session
from tests.vault.conftest import NoFiles
from vault import database
from vault.store import rewrap
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.store.rewrap import Rewrapping
from vault.store.tasks import Vault

url, path = sys.argv[1], Path(sys.argv[2])
clock = lambda: datetime.now(UTC)
database.WAIT, rewrap.PART_ROWS = 300.0, 50

def opened():
    engine, ring = open_engine(url), FileKeyRing.open(path, None)
    return engine, ring, Vault(engine, ring, clock), Rewrapping(engine, ring, NoFiles(), "ada", clock)

def rotate(rotation):
    begun = rotation.begin()
    rotation.rewrap()
    return begun, rotation.finish()
"""


@pytest.fixture
def start(url, ring):
    """Start a program in a process of its own, which ends with the test."""
    running = []

    def started(code):
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN + code, url, ring.path],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        running.append(process)
        return process

    yield started
    for process in running:
        process.kill()
        process.communicate()


def finished(process):
    out, err = process.communicate("", timeout=PATIENCE)
    assert process.returncode == 0, err
    return json.loads(out)


# Forks once for each call to the disk and each commit of a rotation, and is killed just before that one.
KILLED_AT_EACH_STEP = """
real = {name: getattr(os, name) for name in ("fsync", "rename", "unlink")}

rewrap.PART_ROWS = 8

def child(limit):
    engine, ring, vault, rotation = opened()
    done = 0
    def step(name):
        nonlocal done
        done += 1
        if done == limit:
            os.write(report, f"{name} ".encode())
            os.kill(os.getpid(), signal.SIGKILL)
    def counted(name):
        def call(*args, **kwargs):
            step(name)
            return real[name](*args, **kwargs)
        return call
    for name in real:
        setattr(os, name, counted(name))
    event.listen(engine, "commit", lambda _: step("commit"))
    rotate(rotation)

def kept():
    engine, ring, vault, rotation = opened()
    vault.open(vault.records()[limit % 5].id, who="ada", why="look")
    assert vault.open_blobs("trace/", who="ada", why="look") == blobs
    keys = ring.key_ids
    assert len(keys) <= 2, keys
    begun, _ = rotate(rotation)
    assert begun == (len(keys) == 1), "a rotation that was under way goes on, and gets no further key"
    assert ring.key_ids == ((keys[-1],) if not begun else (ring.key_id,))
    with Session(engine) as session:
        assert rewrap.protected_by(session, ring, NoFiles()) == {ring.key_id: rewrap.WrappedCounts(5, 6)}
    vault.verify_access_log()
    engine.dispose()
    return len(keys)

blobs = {str(number): b"what happened %d" % number for number in range(5)}
reading, report = os.pipe()
found, limit = Counter(), 0
while True:
    limit += 1
    pid = os.fork()
    if not pid:
        try:
            child(limit)
        finally:
            os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    found[kept()] += killed
    if not killed:
        break
os.close(report)
print(json.dumps({"steps": Counter(os.read(reading, 4096).decode().split()), "keys": found}))
"""


@pytest.mark.both_databases
def test_a_rotation_that_is_killed_at_any_step_goes_on_from_there(engine, filled, start):
    """Nothing has begun before the first key is in place, and nothing is left after the last is dropped."""
    engine.dispose()
    result = finished(start(KILLED_AT_EACH_STEP))
    assert result["steps"]["fsync"] >= 4, "the ring's file and its folder, when a key is made and when it is dropped"
    assert result["steps"]["rename"] >= 2
    assert result["steps"]["commit"] >= 6
    assert set(result["keys"]) == {"1", "2"}


# Says how many it sealed, once there is nothing more to read.
WRITER = """
import threading
engine, ring, vault, rotation = opened()
name, told, number = os.getpid(), threading.Event(), 0
threading.Thread(target=lambda: (sys.stdin.read(), told.set())).start()
while not told.wait(0.01):
    vault.seal_blob(f"trace/{name}-{number}", b"%d" % number)
    assert vault.open_blob(f"trace/{name}-{number // 2}", who="bea", why="look") == b"%d" % (number // 2)
    vault.tag("skeleton", "tidy-up/move")
    number += 1
    if number == 5:
        print("busy", file=sys.stderr, flush=True)
print(json.dumps(number))
"""

TURNER = """
engine, ring, vault, rotation = opened()
from vault.errors import Refused
turned = 0
while turned < 2:
    try:
        turned += len(rotate(rotation)[1])
    except Refused as error:  # the other one has begun the next rotation meanwhile
        assert "run it again" in str(error)
print(json.dumps(turned))
"""


@pytest.mark.full
@pytest.mark.both_databases
def test_nothing_is_lost_while_two_write_and_two_change_the_key(engine, filled, ring, rotation, start):
    writers = [start(WRITER) for _ in range(2)]
    for writer in writers:
        assert (line := writer.stderr.readline()) == "busy\n", line + writer.stderr.read()
    turned = sum(finished(turner) for turner in [start(TURNER) for _ in range(2)])
    assert turned >= 4
    sealed = sum(finished(writer) for writer in writers)
    rotated(rotation)
    assert counted(engine, ring) == {ring.key_id: WrappedCounts(5, 6 + sealed)}
    assert len(opens(filled)[1]) == 5 + sealed
