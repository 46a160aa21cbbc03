"""Archive of a release: a tar whose bytes follow from the release's files alone, its writer, and a strict reader.

1. The members are the plain files of the folder, each under the folder's name, in the order of their paths' bytes.
2. Each header is ustar with mode 644, owner 0 and time 0. There are no folders, no links and no extended headers. GNU
   tar makes the same bytes (docs/reference/ledger-formats.md names its options), so a mirror's archive is everybody's.
3. The reader computes each header again from the member's name and size and compares all of its bytes. So a member can
   be nothing but a plain file below the release's folder, and an archive has one form.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from vault.errors import Malformed
from vault.files import make_folder, sync

BLOCK = 512
RECORD = 20 * BLOCK  # the whole archive is a multiple of it, as tar's own are
PIECE = 1 << 20  # bytes that are read at once
MAX_NAME_BYTES = 100
MAX_MEMBER_BYTES = 8**11 - 1  # eleven octal digits
MAX_MEMBERS = 1 << 17  # those of a log of 33 million leaves

_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})+", re.ASCII)


def archive(folder: Path) -> Iterator[bytes]:
    """Yield the archive of a release's folder, piece by piece.

    Raises:
        Malformed: a file's name has no place in an archive, or a file changed meanwhile.
        OSError: a file cannot be read.
    """
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    members = sorted((f"{folder.name}/{path.relative_to(folder).as_posix()}", path) for path in files)
    written = 0
    for name, path in members:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            yield _header(name, size)
            copied = 0
            while piece := file.read(PIECE):
                copied += len(piece)
                yield piece
        if copied != size:
            raise Malformed(f"{path} changed while it was read; try again")
        yield bytes(-size % BLOCK)
        written += BLOCK + size + -size % BLOCK
    yield bytes(2 * BLOCK + -(written + 2 * BLOCK) % RECORD)


def archive_digest(folder: Path) -> str:
    """Return the SHA-256 (hex) of a folder's archive.

    Raises:
        Malformed: as for `archive`.
        OSError: likewise.
    """
    state = hashlib.sha256()
    for piece in archive(folder):
        state.update(piece)
    return state.hexdigest()


def unpack(path: Path, folder: Path) -> None:
    """Unpack an archive into a new folder of its release's name, which is there whole or not at all.

    Args:
        path: the archive.
        folder: where the release goes; what lies beside it as `.NAME.new` is replaced.

    Raises:
        Malformed: it is no archive of that release; nothing is left.
        OSError: a file cannot be read or written.
    """
    draft = folder.with_name(f".{folder.name}.new")
    if draft.exists():
        shutil.rmtree(draft)
    try:
        with path.open("rb") as file:
            _unpack(file, draft, folder.name)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    for below in (below for below in draft.rglob("*") if below.is_dir()):
        sync(below)
    sync(draft)
    draft.rename(folder)
    sync(folder.parent)


def _unpack(file: BinaryIO, draft: Path, release: str) -> None:
    make_folder(draft)
    for name, size in _members(file, release):
        target = draft / name.removeprefix(f"{release}/")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise Malformed(f"the archive has a file and a folder of one name: {name}") from None
        with target.open("xb") as copy:
            for start in range(0, size, PIECE):
                copy.write(file.read(min(PIECE, size - start)))
            copy.flush()
            os.fsync(copy.fileno())


def _members(file: BinaryIO, release: str) -> Iterator[tuple[str, int]]:
    """Yield each member's name and size; the file then stands at its content, which the caller reads."""
    total, place, last, count = os.fstat(file.fileno()).st_size, 0, "", 0
    while any(block := file.read(BLOCK)):
        name, size = _read_header(block)
        if (count := count + 1) > MAX_MEMBERS:
            raise Malformed(f"the archive has more than {MAX_MEMBERS} members")
        if not name.startswith(f"{release}/") or name <= last:
            raise Malformed(f"the archive's member {name} does not belong there: {release} has sorted names of its own")
        end = place + BLOCK + size + -size % BLOCK
        if end > total:
            raise Malformed(f"the archive ends within its member {name}")
        yield name, size
        if any(file.read(-size % BLOCK)):
            raise Malformed(f"the archive's member {name} is longer than its header says")
        place, last = end, name
    rest = total - place
    if rest != 2 * BLOCK + -(place + 2 * BLOCK) % RECORD or any(file.read()):
        raise Malformed("the archive does not end where its last member does")
    if not last:
        raise Malformed("the archive is empty")


def _read_header(block: bytes) -> tuple[str, int]:
    """Read a header, which has to be the very one that `archive` writes for this name and size."""
    name, digits = block[:MAX_NAME_BYTES].rstrip(b"\0").decode("ascii", "replace"), block[124:135]
    if re.fullmatch(rb"[0-7]{11}", digits):
        size = int(digits, 8)
        if _NAME.fullmatch(name) and block == _header(name, size):
            return name, size
    raise Malformed("the archive has a header that no archive of a release has: it is damaged, or was made otherwise")


def _header(name: str, size: int) -> bytes:
    """Write the header of a plain file (POSIX.1-2017, pax, "ustar Interchange Format")."""
    if len(name) > MAX_NAME_BYTES or size > MAX_MEMBER_BYTES or not _NAME.fullmatch(name):
        raise Malformed(f"{name}, of {size} bytes, has no place in an archive of a release")
    owner, time = b"0000000\0" * 2, b"0" * 11 + b"\0"
    start = name.encode().ljust(MAX_NAME_BYTES, b"\0") + b"0000644\0" + owner + b"%011o\0" % size + time
    end = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2
    whole = (start + b" " * 8 + end).ljust(BLOCK, b"\0")
    return start + b"%06o\0 " % sum(whole) + whole[len(start) + 8 :]
