"""Writer of the files that the unpacker hands out of the box, into a server's folder.

Whoever reads an archive may be taken over by it, so the box is not believed: what comes is a plain list of files, each
with lengths, path and content. Every path is checked here again, none leads through a link, nothing but a new file or
link is ever written, and all of it is counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from quarterturn.errors import Malformed
from sandbox.boxes.output import printable
from sandbox.images.added.unpack import EXECUTABLE, HEAD, LINK, MAX_PATH_BYTES, Refused, Tally

CHUNK_BYTES = 1 << 20


def write_files(stream: BinaryIO, folder: Path, mtime: int, *, links: bool = False) -> None:
    """Write the files that come into a new folder.

    Args:
        stream: what the unpacker writes.
        folder: the folder; nothing else is in it.
        mtime: the time of each file, in nanoseconds.
        links: whether links may be among them, which are written and never followed.

    Raises:
        Malformed: the unpacker refused an archive, was ended by a limit, or does not keep to the rules.
    """
    tally = Tally()
    while True:
        path_bytes, kind, size = HEAD.unpack(_read(stream, HEAD.size))
        if not path_bytes:
            break
        path = _read(stream, path_bytes).decode("utf-8", "replace")
        try:
            tally.add(path, size, link=kind == LINK)
        except Refused as error:
            raise Malformed(f"the box handed out {error}, and nothing was kept") from None
        if kind == LINK and not links:
            raise Malformed("the box handed out a link, which no package of its sort has, and nothing was kept")
        if kind == LINK:
            _link(folder / path, _read(stream, min(size, MAX_PATH_BYTES)))
        else:
            _write(stream, folder / path, size, 0o755 if kind == EXECUTABLE else 0o644, mtime)
    if message := _read(stream, min(size, MAX_PATH_BYTES)):
        raise Malformed(" ".join(printable(message).split()))


def _write(stream: BinaryIO, target: Path, size: int, mode: int, mtime: int) -> None:
    with _refusing_doubles():
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while size:
                size -= file.write(_read(stream, min(size, CHUNK_BYTES)))
    target.chmod(mode)
    os.utime(target, ns=(mtime, mtime))


def _link(target: Path, points_to: bytes) -> None:
    with _refusing_doubles():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.symlink_to(os.fsdecode(points_to))
        except (ValueError, FileNotFoundError):  # a zero byte, or nothing
            raise Malformed("one of its links points nowhere, and nothing was kept") from None


@contextmanager
def _refusing_doubles() -> Iterator[None]:
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise Malformed("two of its files have one path, and nothing was kept") from None


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise Malformed("unpacking it took more time or memory than any package needs, or a damaged archive ended it")
    return data
