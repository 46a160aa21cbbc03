"""Tests of files and folders that are whole after a crash."""

import errno
import os
from pathlib import Path

import pytest

from vault.files import write_atomically


def test_a_file_is_written_whole_over_the_old_one(tmp_path):
    path = tmp_path / "a/b/c"
    (tmp_path / ".new").write_bytes(b"left by a crash, and longer")
    for data in (b"one", b"", b"two"):
        write_atomically(path, data, tmp_path / ".new")
        assert path.read_bytes() == data
    assert not (tmp_path / ".new").exists()


def test_a_disk_that_is_full_names_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_atomically(tmp_path / "a", b"one", tmp_path / ".new")
    assert error.value.filename == str(tmp_path / "a")


def test_a_file_is_whole_and_forced_to_the_disk_before_it_has_its_name_and_its_name_afterwards(tmp_path, monkeypatch):
    done, real = [], {"write": os.write, "fsync": os.fsync, "rename": Path.rename}

    def fsync(descriptor):
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        done.append(("forced", place.name, place.read_bytes() if place.is_file() else None))
        real["fsync"](descriptor)

    def rename(self, target):
        done.append(("named", target.name))
        return real["rename"](self, target)

    monkeypatch.setattr(
        os, "write", lambda descriptor, data: real["write"](descriptor, data[:3])
    )  # as a full pipe would
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    write_atomically(tmp_path / "tile", b"ten  bytes", tmp_path / ".new")
    assert done == [("forced", ".new", b"ten  bytes"), ("named", "tile"), ("forced", tmp_path.name, None)]


def test_a_scratch_file_that_leads_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "head").write_text("signed")
    (tmp_path / ".new").symlink_to(tmp_path / "head")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "tile", b"other bytes", tmp_path / ".new")
    assert (tmp_path / "head").read_text() == "signed"
