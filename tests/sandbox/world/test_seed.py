"""Tests of the seed that a world unpacks: none of its names leads out of the data folder."""

import io
import tarfile

import pytest

from sandbox.images.world.init import unpack
from verifiers.tree import DIRECTORY, FileTree, Node


class Seed(io.BytesIO):
    """A seed that has arrived."""

    def drain(self):
        """There is nothing left to read."""


def test_a_seed_is_unpacked_with_its_links(tmp_path):
    seed = FileTree({"a": DIRECTORY, "a/b": Node("file", b"text"), "c": Node("symlink", target="a/b")})
    unpack(Seed(seed.to_tar()), str(tmp_path))
    assert (tmp_path / "c").read_bytes() == b"text"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "link/x", "a/../link/x", "link/a/x", "link"])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE])
def test_nothing_is_written_outside(name, kind, tmp_path):
    root, outside, out = tmp_path / "root", tmp_path / "outside", io.BytesIO()
    root.mkdir()
    outside.mkdir(mode=0o700)
    with tarfile.open(fileobj=out, mode="w") as tar:
        for written, type_ in (("link", tarfile.SYMTYPE), (name, kind)):
            info = tarfile.TarInfo(written)
            info.type, info.linkname, info.mode = type_, str(outside), 0o755
            tar.addfile(info)
    with pytest.raises(ValueError, match=r"out of the data folder|through a link"):
        unpack(Seed(out.getvalue()), str(root))
    assert (list(outside.iterdir()), outside.stat().st_mode & 0o777) == ([], 0o700)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "root"]
