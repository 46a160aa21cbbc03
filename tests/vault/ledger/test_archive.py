"""Tests of a release's archive: its bytes follow from the files alone, and its reader takes no other form."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from vault.errors import Malformed
from vault.ledger.release import archive as archives
from vault.ledger.release.archive import BLOCK, RECORD, archive, archive_digest, unpack

from .freeze import files_of

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
EXAMPLE = ROOT / "examples" / "release" / "Historical-2025-12"
NAME = "Historical-2026-12"
FILES = {"README.md": b"hello\n", "empty": b"", "log/checkpoint": b"x" * BLOCK, "log/tile/0/000": b"y" * 70_000}

GNU_TAR = (
    "find {name} -type f | LC_ALL=C sort | tar --create --format=ustar --mtime=@0 --owner=:0 --group=:0 "
    "--numeric-owner --mode=0644 --no-recursion --files-from=-"
)


def release(folder: Path, files: dict[str, bytes] | None = None) -> Path:
    for name, data in (FILES if files is None else files).items():
        path = folder / NAME / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder / NAME


def packed(folder: Path) -> bytes:
    return b"".join(archive(folder))


def unpacked(data: bytes, folder: Path) -> dict[str, bytes]:
    (folder / "a.tar").write_bytes(data)
    (folder / "out").mkdir()
    unpack(folder / "a.tar", folder / "out" / NAME)
    return files_of(folder / "out" / NAME)


@pytest.mark.parametrize("folder", [EXAMPLE, None], ids=["the example release", "odd sizes"])
def test_gnu_tar_makes_the_same_bytes(folder, tmp_path):
    folder = folder or release(tmp_path)
    command = GNU_TAR.format(name=folder.name)
    made = subprocess.run(["sh", "-c", command], cwd=folder.parent, capture_output=True, check=True)
    assert packed(folder) == made.stdout
    assert len(made.stdout) % RECORD == 0


def test_the_reference_names_that_command():
    page = (ROOT / "docs" / "reference" / "ledger-formats.md").read_text()
    assert " ".join(GNU_TAR.format(name=NAME).split()) in " ".join(page.replace("\\\n", " ").split())


def test_the_bytes_follow_from_the_files_alone(tmp_path):
    first = release(tmp_path / "a")
    second = release(tmp_path / "b", dict(reversed(FILES.items())))
    for path in second.rglob("*"):
        os.utime(path, (1, 2**31))
        path.chmod(0o700)
    (second / "folder").mkdir()
    (second / "link").symlink_to("README.md")
    assert packed(first) == packed(second)
    assert archive_digest(first) == archive_digest(second)
    (second / "README.md").write_bytes(b"hello!")
    assert archive_digest(first) != archive_digest(second)


def test_it_unpacks_to_the_same_files(tmp_path):
    folder = release(tmp_path)
    shutil.copytree(folder, tmp_path / "out" / f".{NAME}.new")  # left by somebody who was killed
    (tmp_path / "out" / f".{NAME}.new" / "more").write_bytes(b"")
    (tmp_path / "a.tar").write_bytes(packed(folder))
    unpack(tmp_path / "a.tar", tmp_path / "out" / NAME)
    assert files_of(tmp_path / "out") == {f"{NAME}/{name}": data for name, data in FILES.items()}


@pytest.mark.parametrize("name", ["a b", ".hidden", "é", "x" * 100, "a/.b/c"])
def test_a_name_that_no_release_has_is_refused(name, tmp_path):
    with pytest.raises(Malformed, match="has no place in an archive"):
        packed(release(tmp_path, {name: b""}))


def by_tarfile(*members: tuple[str, bytes], **fields: object) -> bytes:
    """Make an archive that Python's tarfile would unpack."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fields.pop("format", tarfile.USTAR_FORMAT)) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for field, value in fields.items():
                setattr(info, field, value)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def by_hand(*members: tuple[str, bytes]) -> bytes:
    """Make an archive whose headers each are in the right form, unlike what they say."""
    out = b""
    for name, data in members:
        out += forged_header(name, len(data)) + data + bytes(-len(data) % BLOCK)
    return out + bytes(2 * BLOCK + -(len(out) + 2 * BLOCK) % RECORD)


def forged_header(name: str, size: int) -> bytes:
    block = bytearray(archives._header("a/b", size))
    block[:100] = name.encode().ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


WHOLE = by_hand((f"{NAME}/a", b"1"), (f"{NAME}/b", b"2"))

HOSTILE = {
    "a symbolic link": by_tarfile((f"{NAME}/a", b""), type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": by_tarfile((f"{NAME}/a", b""), type=tarfile.LNKTYPE, linkname="../../other"),
    "a device": by_tarfile((f"{NAME}/a", b""), type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    "a folder": by_tarfile((f"{NAME}/a", b""), type=tarfile.DIRTYPE),
    "an extended header": by_tarfile((f"{NAME}/é", b""), format=tarfile.PAX_FORMAT),
    "a long name": by_tarfile((f"{NAME}/{'n' * 150}", b""), format=tarfile.GNU_FORMAT),
    "set-uid": by_tarfile((f"{NAME}/a", b""), mode=0o4755),
    "a time": by_tarfile((f"{NAME}/a", b""), mtime=1),
    "out of the folder": by_hand((f"{NAME}/../../escaped", b"x")),
    "out of it by one": by_hand((f"{NAME}/..", b"x")),
    "an absolute name": by_hand(("/tmp/escaped", b"x")),
    "the folder itself": by_hand((NAME, b"x")),
    "no part": by_hand((f"{NAME}//a", b"x")),
    "another release": by_hand(("Historical-2026-11/a", b"x")),
    "a hidden file": by_hand((f"{NAME}/.bashrc", b"x")),
    "a control character": by_hand((f"{NAME}/a\x1b[2J", b"x")),
    "a name twice": by_hand((f"{NAME}/a", b"1"), (f"{NAME}/a", b"2")),
    "out of order": by_hand((f"{NAME}/b", b"1"), (f"{NAME}/a", b"2")),
    "a file that is a folder": by_hand((f"{NAME}/a", b"1"), (f"{NAME}/a/b", b"2")),
    "nothing": by_hand(),
    "no bytes": b"",
    "no end": WHOLE[: 4 * BLOCK],
    "half a member": WHOLE[: BLOCK + 1],
    "half a header": WHOLE[: 2 * BLOCK + 100],
    "more behind it": WHOLE + bytes(RECORD),
    "words behind it": WHOLE[:-1] + b"x",
    "words in the padding": WHOLE[: 2 * BLOCK - 1] + b"x" + WHOLE[2 * BLOCK :],
    "a size beyond the end": forged_header(f"{NAME}/a", 8**11 - 1) + WHOLE[BLOCK:],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_archive_of_another_form_is_refused_and_leaves_nothing(what, tmp_path):
    with pytest.raises(Malformed, match="archive"):
        unpacked(HOSTILE[what], tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar", "out"]
    assert not Path("/tmp/escaped").exists()


def test_what_is_not_hostile_is_unpacked(tmp_path):
    assert unpacked(WHOLE, tmp_path) == {"a": b"1", "b": b"2"}


def test_no_byte_of_a_header_can_be_another_one(tmp_path):
    path = tmp_path / "a.tar"
    for place in range(archives.MAX_NAME_BYTES, BLOCK):  # a change of the name may give another name
        changed = bytearray(WHOLE)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(Malformed):
            unpack(path, tmp_path / NAME)


def test_the_number_of_members_is_capped(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(Malformed, match="more than 1 members"):
        unpacked(WHOLE, tmp_path)


def test_a_disk_that_is_full_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        unpacked(WHOLE, tmp_path)
    assert not list((tmp_path / "out").iterdir())
