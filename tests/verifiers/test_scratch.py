"""The folder in memory: really in memory, ours alone, and gone afterwards."""

import stat
import tempfile
from pathlib import Path

import pytest

from verifiers.errors import Unreadable
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states import scratch
from verifiers.states.git.examples import repository
from verifiers.states.in_process import judge
from verifiers.states.scratch import is_tmpfs, scratch_folder

COMMITS = [("main", "Start", {"a": "x"})]
ASK = parse({"git.branchExists": {"repository": "site", "branch": "main"}})


def test_it_is_on_a_tmpfs_private_and_removed():
    with scratch_folder() as folder:
        assert is_tmpfs(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
    assert not folder.exists()


def test_it_is_removed_after_an_error_too():
    with pytest.raises(ZeroDivisionError), scratch_folder() as folder:
        raise ZeroDivisionError
    assert not folder.exists()


def test_a_folder_on_a_disk_is_refused(tmp_path):
    mounts = tmp_path / "mountinfo"
    device = tmp_path.stat().st_dev
    import os

    number = f"{os.major(device)}:{os.minor(device)}"
    mounts.write_text(f"25 24 {number} / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n")
    assert not is_tmpfs(tmp_path, mounts)
    mounts.write_text(f"25 24 {number} / / rw,relatime - tmpfs tmpfs rw\n")
    assert is_tmpfs(tmp_path, mounts)
    assert not is_tmpfs(tmp_path, tmp_path / "missing")
    assert not is_tmpfs(tmp_path / "missing", mounts)


def test_without_a_tmpfs_there_is_no_scratch_folder_and_no_verdict(monkeypatch, tmp_path):
    with pytest.raises(Unreadable, match="no tmpfs"), scratch_folder([tmp_path / "missing"]):
        pass
    monkeypatch.setattr(scratch, "candidates", lambda: [tmp_path / "missing"])
    evidence = judge(ASK, repository(COMMITS))
    assert evidence.verdict is Verdict.UNKNOWN
    assert "/dev/shm" in evidence.found


def test_an_evaluation_leaves_nothing_behind(monkeypatch):
    shared = next(place for place in scratch.candidates() if is_tmpfs(place))  # with other tests, who also look
    with tempfile.TemporaryDirectory(dir=shared) as name:
        made = []
        monkeypatch.setattr(scratch, "candidates", lambda: made.append(name) or [Path(name)])
        assert judge(ASK, repository(COMMITS)).verdict is Verdict.TRUE
        assert made, "it was never asked for"
        assert list(Path(name).iterdir()) == []
