"""Tests of key files: a failed write leaves the old file, and the next writer removes a dead writer's leftovers."""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from vault.errors import Locked
from vault.keys import private_files
from vault.keys.private_files import create, exclusive_lock, folder_beside, replace

LEFT = "ab" * 8
KILL = """
import os, signal, sys
from pathlib import Path
from vault.keys.ring import private_files
step, path = sys.argv[1], Path(sys.argv[2])
setattr(os, step, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
private_files.replace(path, b"new", "key")
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "keys" / "log.key"
    create(path, b"old", "key")
    return path


def hidden(folder):
    return sorted(path.name for path in folder.rglob(".*"))


@pytest.fixture
def last_sync_fails(monkeypatch):
    """Let the folder's `fsync` fail after the rename."""

    def failing(folder):
        raise OSError(5, "Input/output error")

    def arm():
        monkeypatch.setattr(private_files, "sync", failing)

    yield arm
    monkeypatch.undo()


def test_a_file_whose_new_name_may_not_be_on_the_disk_is_the_old_one_again(path, last_sync_fails):
    inode = path.stat().st_ino
    last_sync_fails()
    with pytest.raises(Locked, match="Input/output error"):
        replace(path, b"new", "key")
    assert (path.read_bytes(), path.stat().st_ino) == (b"old", inode)
    assert hidden(path.parent) == []


@pytest.mark.parametrize("write", [create, replace])
def test_a_new_file_whose_name_may_not_be_on_the_disk_is_not_there(path, write, last_sync_fails, monkeypatch):
    fresh = path.with_name("fresh.key")
    last_sync_fails()
    with pytest.raises(Locked, match="Input/output error"):
        write(fresh, b"new", "key")
    assert not fresh.exists()
    assert hidden(path.parent) == []
    monkeypatch.undo()
    write(fresh, b"new", "key")
    assert (fresh.read_bytes(), stat.S_IMODE(fresh.stat().st_mode)) == (b"new", 0o600)


@pytest.mark.parametrize("step", ["fsync", "rename", "unlink"])
def test_leftovers_of_a_killed_writer_are_removed_by_the_next_holder_of_the_lock(path, step):
    done = subprocess.run([sys.executable, "-c", KILL, step, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert hidden(path.parent) != []
    models = path.parent / "models"
    models.mkdir()
    (models / f".one.dev.key.{LEFT}").write_bytes(b"")
    with exclusive_lock(path.parent, "key"):
        assert hidden(path.parent) == []


def test_nothing_else_is_swept(path):
    kept = [".hidden", f".log.key.{LEFT}0", f"log.key.{LEFT}", f".log.key.{LEFT.upper()}"]
    for name in kept:
        path.with_name(name).write_bytes(b"a stranger's")
    with exclusive_lock(path.parent, "key"):
        replace(path, b"new", "key")
    assert sorted(one.name for one in path.parent.iterdir()) == sorted([*kept, "log.key"])


def test_a_running_writers_file_is_not_removed(path):
    with folder_beside(path.with_name("copy")) as beside:
        (beside / "half").write_bytes(b"half")
        with exclusive_lock(path.parent, "key"):
            assert (beside / "half").exists()
    assert not beside.exists()


def test_many_writers_of_one_name_and_sweepers_leave_one_whole_file(path):
    def write(number):
        for _ in range(40):
            replace(path, b"%d" % number * 1000, "key")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    assert len(set(path.read_bytes())) == 1
    assert hidden(path.parent) == []


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(Locked, match=r"cannot be changed: No such file"), exclusive_lock(tmp_path / "none", "key"):
        pass
    assert not os.path.lexists(tmp_path / "none")
