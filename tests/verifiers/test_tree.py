"""Tests of the frozen state: a tree in memory that no archive and no link can lead out of."""

import contextlib
import io
import random
import tarfile

import pytest

from verifiers.errors import Malformed
from verifiers.formats.archive import MAX_HEADERS, tree_from_tar
from verifiers.tree import DIRECTORY, FileTree, Node, tree_of

from . import hostile


def archive(*members):
    """Write a tar of (name, type, link target, data)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, target, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, len(data)
            tar.addfile(info, io.BytesIO(data))
    return io.BytesIO(out.getvalue())


def a_file(name, data=b"x"):
    return (name, tarfile.REGTYPE, "", data)


def test_a_tree_survives_an_archive():
    tree = FileTree(
        {**tree_of({"a/b": b"\0\xff"}), "empty": DIRECTORY, "l": Node("symlink", target="../x", mode=0o777)}
    )
    assert dict(tree_from_tar(io.BytesIO(tree.to_tar()))) == dict(tree)


def test_names_are_made_relative_and_plain():
    tree = tree_from_tar(archive(a_file("./a"), a_file("/etc/b"), a_file("c//d/./e"), a_file("..."), a_file("./")))
    assert list(tree) == ["...", "a", "c/d/e", "etc/b"]


@pytest.mark.parametrize("name", ["..", "../up", "a/../../up", "/../up"])
def test_a_path_that_leads_out_is_refused(name):
    with pytest.raises(Malformed, match="leads out"):
        tree_from_tar(archive(a_file(name)))


def test_a_hard_link_is_a_second_name_and_only_of_what_is_in_the_archive():
    tree = tree_from_tar(
        archive(a_file("a", b"hi"), ("b", tarfile.LNKTYPE, "a", b""), ("c", tarfile.LNKTYPE, "etc/passwd", b""))
    )
    assert tree["b"] == tree["a"]
    assert tree["c"].kind == "other"


def test_devices_and_pipes_are_neither_files_nor_folders():
    tree = tree_from_tar(archive(("p", tarfile.FIFOTYPE, "", b""), ("d", tarfile.CHRTYPE, "", b"")))
    assert {node.kind for node in tree.values()} == {"other"}


def test_too_much_is_refused_before_it_is_kept():
    with pytest.raises(Malformed, match="more than 10 bytes"):
        tree_from_tar(archive(a_file("a", b"x" * 6), a_file("b", b"x" * 6)), max_bytes=10)
    with pytest.raises(Malformed, match="3 entries"):
        tree_from_tar(archive(*[a_file("same", b"")] * 4), max_entries=3)


@pytest.mark.parametrize("cut", [1, 511, 700, 1023])
def test_a_stream_that_was_cut_is_malformed(cut):
    whole = archive(a_file("a", b"x" * 600)).getvalue()
    with pytest.raises(Malformed, match="not a readable tar"):
        tree_from_tar(io.BytesIO(whole[:cut]))


def test_any_damaged_stream_is_a_tree_or_malformed():
    dice = random.Random(20261204)
    whole = FileTree({"a": Node("file", b"x" * 700), "d": DIRECTORY, "d/l": Node("symlink", target="../a")}).to_tar()
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 6)):
            place = dice.randrange(len(data))
            data[place : place + dice.choice((1, 1, 0, 512))] = dice.randbytes(dice.choice((1, 1, 0, 30)))
        with contextlib.suppress(Malformed):
            tree = tree_from_tar(io.BytesIO(bytes(data)))
            assert not any(path.startswith(("/", "../")) for path in tree)


def test_a_sparse_entry_counts_with_what_it_would_become():
    header = tarfile.TarInfo("a")
    header.type, header.size = tarfile.GNUTYPE_SPARSE, 512
    raw = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    raw[386:398], raw[398:410] = b"%011o\0" % 0, b"%011o\0" % 512
    raw[483:495] = b"%011o\0" % (1 << 32)
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    with pytest.raises(Malformed):
        tree_from_tar(io.BytesIO(bytes(raw) + bytes(512) + bytes(1024)))


def test_a_folder_is_read_without_following_links(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/f").write_bytes(b"x")
    (tmp_path / "in/l").symlink_to("/etc")
    tree = FileTree.from_directory(tmp_path)
    assert [(path, node.kind) for path, node in tree.items()] == [
        ("in", "directory"),
        ("in/f", "file"),
        ("in/l", "symlink"),
    ]
    (tmp_path / "sly").symlink_to("in")
    with pytest.raises(Malformed, match="not a directory"):
        FileTree.from_directory(tmp_path / "sly")


def test_a_tree_can_be_moved_and_cut():
    tree = tree_of({"a/b/c": "1", "a/bc": "2"})
    assert list(tree.below("a/b")) == ["c"]
    assert list(tree.under("x/y")) == ["x", "x/y", "x/y/a", "x/y/a/b", "x/y/a/b/c", "x/y/a/bc"]
    assert tree.children("a") == ["b", "bc"]
    assert tree.children("") == ["a"]


@pytest.mark.parametrize("name", hostile.ARCHIVES)
def test_a_tar_that_costs_more_than_it_is_long_is_refused(name):
    with pytest.raises(Malformed, match="the state"):
        tree_from_tar(io.BytesIO(hostile.ARCHIVES[name]()))


def test_names_that_are_long_are_read():
    tree = tree_of({f"{'x' * 200}/{number}-\u00e9": b"" for number in range(50)})
    assert dict(tree_from_tar(io.BytesIO(tree.to_tar()))) == dict(tree)
    assert 2 * len(tree) < MAX_HEADERS
