"""Tests of file locks: exclusive, on a file or a folder, with a timeout that names the holder."""

import subprocess
import sys
from pathlib import Path

import pytest

from vault import file_lock
from vault.errors import Unavailable
from vault.file_lock import locked

HOLD = """
import sys
from pathlib import Path
from vault.file_lock import locked
with locked(Path(sys.argv[1]), 0, "the test", folder=sys.argv[2] == "folder"):
    print("held", flush=True)
    sys.stdin.read()
"""
KINDS = pytest.mark.parametrize("kind", ["file", "folder"])


@pytest.fixture
def place(tmp_path, kind) -> Path:
    path = tmp_path / "place"
    if kind == "folder":
        path.mkdir()
    return path


@pytest.fixture
def holder(place, kind):
    command = [sys.executable, "-c", HOLD, str(place), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@KINDS
def test_a_wait_for_too_long_names_the_holder(place, kind, holder):
    with (
        pytest.raises(Unavailable, match=f"^process {holder.pid} holds {place}, the lock for a change; wait for"),
        locked(place, 0.05, "a change", folder=kind == "folder"),
    ):
        pass


@KINDS
def test_a_waiter_gets_the_lock_when_its_holder_is_killed(place, kind, holder):
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        holder.kill()
        holder.wait()

    with locked(place, 60, "a change", sleep=sleep, folder=kind == "folder"):
        assert len(waited) == 1


@KINDS
def test_another_thread_of_the_same_process_is_named_so(place, kind):
    folder = kind == "folder"
    with (
        locked(place, 0, "a change", folder=folder),
        pytest.raises(Unavailable, match=r"^this process itself holds"),
        locked(place, 0, "a change", folder=folder),
    ):
        pass


@KINDS
def test_if_the_kernel_names_no_holder_it_is_another_process(place, kind, holder, monkeypatch, tmp_path):
    for listed in (tmp_path / "nothing", tmp_path / "others"):
        monkeypatch.setattr(file_lock, "LOCKS", listed)
        with (
            pytest.raises(Unavailable, match=r"^another process holds"),
            locked(place, 0, "a change", folder=kind == "folder"),
        ):
            pass
        (tmp_path / "others").write_text(f"1: POSIX  ADVISORY  READ 7 00:01:{place.stat().st_ino} 0 EOF\n")


def test_a_folder_has_to_be_there_and_none_is_made(tmp_path):
    with pytest.raises(FileNotFoundError), locked(tmp_path / "none", 0, "a change", folder=True):
        pass
    assert list(tmp_path.iterdir()) == []
