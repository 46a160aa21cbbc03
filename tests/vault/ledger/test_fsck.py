"""Tests of re-hashing a log: every change in it is found."""

import pytest

from vault.errors import Broken, Malformed
from vault.ledger.write.append import LogWriter
from vault.ledger.write.fsck import fsck

from ..builders import ORIGIN, signer, turned


@pytest.fixture
def log(tmp_path):
    writer = LogWriter(tmp_path / "log", tmp_path / "head", signer(), ORIGIN)
    for size in (3, 200, 300, 600):
        writer.append([b"leaf %d" % n for n in range(size)], 0)
    return writer


@pytest.fixture
def keys():
    return [signer().verifier]


@pytest.mark.parametrize(
    "name",
    [
        "tile/0/000", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/000", "tile/entries/002.p/88",
        "tile/0/000.p/3", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000.p/200", "checkpoints/300",
    ],
)  # fmt: skip
def test_a_flipped_bit_in_any_file_is_found(log, keys, name):
    path = log.folder / name
    data = path.read_bytes()
    path.write_bytes(turned(data, 8 * (len(data) // 2) + 2))
    _, problems = fsck(log.folder, keys)
    assert problems
    assert all(isinstance(item, str) for item in problems)


@pytest.mark.parametrize("name", ["tile/0/001", "tile/1/000.p/2", "tile/entries/001"])
def test_a_missing_file_is_found(log, keys, name):
    (log.folder / name).unlink()
    _, problems = fsck(log.folder, keys)
    assert any(name in item for item in problems)


def test_foreign_files_among_the_tiles_are_named(log, keys):
    (log.folder / "tile/0/x000.p").mkdir()
    (log.folder / "tile/0/x000.p/notes").write_text("x")
    assert fsck(log.folder, keys)[1] == ["'tile/0/x000.p/notes' is no file of a log"]


def test_without_a_signed_head_there_is_nothing_to_compare_with(log, keys):
    (log.folder / "checkpoint").write_text("nonsense")
    with pytest.raises(Malformed):
        fsck(log.folder, keys)
    (log.folder / "checkpoint").unlink()
    with pytest.raises(Broken):
        fsck(log.folder, keys)


def test_files_that_a_crash_left_beyond_the_head_are_ignored(log, keys):
    (log.folder / "tile/0/002.p/99").write_bytes(bytes(99 * 32))
    assert fsck(log.folder, keys)[1] == []
    log.append([b"leaf 600"], 600)
    assert not (log.folder / "tile/0/002.p/99").exists()
