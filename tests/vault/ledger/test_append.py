"""Tests of the log's writer: a crash loses nothing, nothing is signed twice, and no second writer enters."""

import errno
import itertools
import os
import shutil
from pathlib import Path

import pytest

from vault.errors import Malformed, Refused, Unavailable
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.tree.merkle import leaf_hash, root, verify_consistency, verify_inclusion
from vault.ledger.write.append import LogWriter
from vault.ledger.write.fsck import fsck

from ..builders import ORIGIN, STRIKES, signer, struck


@pytest.fixture
def new_writer(tmp_path):
    places = tmp_path / "log", tmp_path / "head" / "signed"
    return lambda **other: LogWriter(*places, signer(), ORIGIN, **other)


@pytest.fixture
def five(new_writer):
    """Make a log of five leaves."""
    writer = new_writer()
    writer.append(rows(5), 0)
    return writer


def rows(count):
    return [b"leaf %d" % number for number in range(count)]


def expected(count):
    return root([leaf_hash(row) for row in rows(count)])


def test_leaves_are_appended_in_any_batches_and_give_one_tree(new_writer):
    writer, size = new_writer(), 0
    for batch in (1, 2, 253, 1, 300, 0, 43):
        head = writer.append(rows(size + batch)[size:], size)
        size += batch
        assert (head.size, head.root) == (size, expected(size))
    assert size == 600
    assert writer.fsck() == []
    assert [writer.leaf(place) for place in (0, 255, 256, 599)] == [rows(600)[n] for n in (0, 255, 256, 599)]


def test_the_first_head_over_a_leaf_stays_the_same_bytes_under_witnesses_lines_and_a_later_key(new_writer, tmp_path):
    writer = new_writer()
    for size in (3, 5, 9):
        writer.append(rows(size), 0)
    notes = {int(note.splitlines()[1]): note for note in writer.notes()}
    assert [writer.covering(leaf) for leaf in (0, 2, 3, 4, 8)] == [notes[size] for size in (3, 3, 5, 5, 9)]
    writer.put_under(notes[5], "\u2014 witness.example AAAAAAAAAAAA\n")
    assert writer.covering(4) == notes[5]
    head = tmp_path / "head" / "signed"
    assert (
        LogWriter(
            tmp_path / "log", head, signer(1), ORIGIN, verifiers=[*writer.verifiers, signer(1).verifier]
        ).covering(4)
        == notes[5]
    )
    with pytest.raises(Refused, match="no head over leaf 9 was published"):
        writer.covering(9)


def test_the_files_are_those_of_tlog_tiles(new_writer, tmp_path):
    new_writer().append(rows(600), 0)
    found = {path.relative_to(tmp_path / "log").as_posix() for path in (tmp_path / "log").rglob("*") if path.is_file()}
    assert found == {
        "checkpoint",
        "checkpoints/600",
        *(f"tile/{level}/{number}" for level in ("0", "entries") for number in ("000", "001", "002.p/88")),
        "tile/1/000.p/2",
    }
    assert (tmp_path / "log/tile/0/000").stat().st_size == 256 * 32


def test_proofs_come_from_the_tiles_and_verify(new_writer):
    writer = new_writer()
    writer.append(rows(300), 0)
    old = writer.checkpoint()
    head = writer.append(rows(700), 0)
    for index in (0, 255, 256, 699):
        verify_inclusion(leaf_hash(rows(700)[index]), index, 700, writer.prove_inclusion(index), head.root)
    verify_consistency(300, 700, old.root, head.root, writer.prove_consistency(300))
    verify_inclusion(leaf_hash(b"leaf 7"), 7, 300, writer.prove_inclusion(7, 300), old.root)
    with pytest.raises(Malformed):
        writer.prove_inclusion(0, 701)
    with pytest.raises(Malformed):
        writer.leaf(700)


def test_an_empty_log_is_no_file(new_writer, tmp_path):
    writer = new_writer()
    assert writer.append([], 0).size == 0
    assert writer.note() is None
    assert writer.fsck() == []
    assert not (tmp_path / "log/checkpoint").exists()


def test_the_same_leaves_again_change_nothing(five, tmp_path):
    before = (tmp_path / "log/checkpoint").read_bytes()
    five.append(rows(5), 0)
    five.append(rows(5)[3:], 3)
    assert (tmp_path / "log/checkpoint").read_bytes() == before


def test_rows_that_were_changed_or_put_back_are_refused(five):
    with pytest.raises(Refused, match="leaf 3"):
        five.append([*rows(3), b"another", b"row"], 0)
    with pytest.raises(Refused, match="gap"):
        five.append([b"leaf 6"], 6)
    assert five.size == 5
    assert five.fsck() == []


def test_a_public_folder_that_was_put_back_is_refused(five, tmp_path):
    tile = tmp_path / "log/tile/0/000.p/5"
    tile.write_bytes(tile.read_bytes()[:-1] + b"x")
    with pytest.raises(Refused, match="nothing was signed"):
        five.append(rows(6), 0)


def test_an_entry_bundle_that_was_changed_is_refused(five, tmp_path):
    bundle = tmp_path / "log/tile/entries/000.p/5"
    bundle.write_bytes(bundle.read_bytes().replace(b"leaf 2", b"leaf x"))
    with pytest.raises(Refused, match="entry 2"):
        five.append(rows(6)[5:], 5)
    assert any("root" in problem for problem in five.fsck())


def test_a_head_that_was_put_back_is_refused(five, tmp_path):
    old = (tmp_path / "head/signed").read_bytes()
    five.append(rows(6), 0)
    (tmp_path / "head/signed").write_bytes(old)
    with pytest.raises(Refused, match="backup"):
        five.append([*rows(5), b"another"], 0)


def test_a_file_that_the_disk_does_not_give_is_no_log_that_was_put_back(new_writer, tmp_path):
    new_writer().append(rows(3), 0)
    for name in ("tile/0/000.p/3", "checkpoint"):
        file, aside = tmp_path / "log" / name, tmp_path / "aside"
        file.rename(aside)
        file.symlink_to(file)  # opening it gives ELOOP
        with pytest.raises(Unavailable, match=rf"{name} cannot be read: Too many levels .* again"):
            new_writer().append(rows(4), 0)
        aside.replace(file)
    assert new_writer().append(rows(4), 0).size == 4


def test_a_public_head_of_another_tree_is_refused_though_it_is_older(five, new_writer, tmp_path):
    (tmp_path / "log/checkpoint").write_text(Checkpoint(ORIGIN, 3, leaf_hash(b"another")).sign(signer()))
    with pytest.raises(Refused, match="not the beginning of the signed tree"):
        new_writer().append(rows(6), 0)


def test_a_log_is_not_started_anew_where_one_was_published(five, new_writer, tmp_path):
    (tmp_path / "head/signed").unlink()
    with pytest.raises(Refused, match="never started anew"):
        new_writer().append(rows(1), 0)


def test_publishing_is_finished_at_the_next_start(five, new_writer, tmp_path):
    old = (tmp_path / "log/checkpoint").read_bytes()
    five.append(rows(6), 0)
    signed = (tmp_path / "log/checkpoint").read_bytes()
    (tmp_path / "log/checkpoint").write_bytes(old)
    assert new_writer().recover().size == 6
    assert (tmp_path / "log/checkpoint").read_bytes() == signed


def test_the_name_of_a_public_head_is_forced_to_the_disk_by_whoever_comes_next(new_writer, tmp_path, monkeypatch):
    folder, real, forced = tmp_path / "log", os.fsync, []

    def failing(descriptor):
        shown = Path(f"/proc/self/fd/{descriptor}").readlink() == folder and (folder / "checkpoint").read_text()
        if shown and shown.splitlines()[1] == "2":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    def noting(descriptor):
        forced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        real(descriptor)

    new_writer().append(rows(1), 0)
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(Unavailable, match="Input/output error"):
        new_writer().append(rows(2), 0)
    monkeypatch.setattr(os, "fsync", noting)
    assert new_writer().append(rows(2), 0).size == 2
    assert forced == [folder]


@pytest.mark.parametrize("garbage", ["x", "x\n", "\n\n", "\u2014 w.example AAA=\n"])
def test_a_malformed_signature_line_under_the_public_head_is_repaired(five, tmp_path, garbage):
    for path in ("checkpoint", "checkpoints/5"):
        (tmp_path / "log" / path).write_text(five.note() + garbage)
    five.recover()
    assert (tmp_path / "log/checkpoint").read_text() == five.note()
    assert (tmp_path / "log/checkpoints/5").read_text() == five.note()


def test_a_leaf_that_is_too_long(new_writer):
    writer = new_writer()
    with pytest.raises(Malformed, match="65535"):
        writer.append([bytes(65536)], 0)
    assert writer.append([bytes(65535), b""], 0).size == 2
    assert writer.fsck() == []


def test_a_writer_does_not_wait_for_ever(new_writer, tmp_path):
    import fcntl

    new_writer().append(rows(1), 0)
    held = os.open(tmp_path / "head/lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(Unavailable, match="this process itself holds"):
        new_writer(patience=0.05).append(rows(2), 0)
    os.close(held)
    assert new_writer(patience=0.05).append(rows(2), 0).size == 2


def test_key_and_places_must_fit(tmp_path):
    other = signer(name="other")
    with pytest.raises(Malformed, match="key of its name"):
        LogWriter(tmp_path / "log", tmp_path / "head", other, ORIGIN)
    with pytest.raises(Malformed, match="outside"):
        LogWriter(tmp_path / "log", tmp_path / "log/head", other, "other")


@pytest.mark.parametrize("error", STRIKES)
def test_killed_or_failing_at_each_call_it_finishes_after_a_restart(memory, monkeypatch, error):
    """The ten leaves that are appended lie across the border of a tile."""
    home, kept = memory / "home", memory / "kept"
    writer = LogWriter(home / "log", home / "head" / "signed", signer(), ORIGIN)
    writer.append(rows(250), 0)
    shutil.copytree(home, kept)
    for number in itertools.count():
        more = struck(monkeypatch, lambda: writer.append(rows(260)[250:], 250), number, error)
        assert fsck(home / "log", writer.verifiers)[1] == [], "what a reader meets at this moment"
        writer.append(rows(254)[250:], 250)  # another batch than the one that was interrupted
        head = writer.append(rows(260), 0)
        assert (head.size, head.root, writer.fsck()) == (260, expected(260), []), number
        assert not list((home / "log").rglob(".*"))
        if not more:
            break
        shutil.rmtree(home)
        shutil.copytree(kept, home)
    assert number > 50
