"""Writer of the files that the unpacker hands out of the box, into a server's folder.

Whoever reads an archive may be taken over by it, so the box is not believed: what comes is a plain list of files, each
with lengths, path and content. Every path is checked here again, nothing but a new file is ever written, and all of it
is counted.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from quarterturn.errors import Malformed
from sandbox.boxes.output import printable
from sandbox.images.added.unpack import HEAD, MAX_PATH_BYTES, Refused, Tally

CHUNK_BYTES = 1 << 20


def write_files(stream: BinaryIO, folder: Path, mtime: int) -> None:
    """Write the files that come into a new folder.

    Args:
        stream: what the unpacker writes.
        folder: the folder; nothing else is in it.
        mtime: the time of each file, in nanoseconds.

    Raises:
        Malformed: the unpacker refused an archive, was ended by a limit, or does not keep to the rules.
    """
    tally = Tally()
    while True:
        path_bytes, executable, size = HEAD.unpack(_read(stream, HEAD.size))
        if not path_bytes:
            break
        path = _read(stream, path_bytes).decode("utf-8", "replace")
        try:
            tally.add(path, size)
        except Refused as error:
            raise Malformed(f"the box handed out {error}, and nothing was kept") from None
        _write(stream, folder / path, size, 0o755 if executable else 0o644, mtime)
    if message := _read(stream, min(size, MAX_PATH_BYTES)):
        raise Malformed(" ".join(printable(message).split()))


def _write(stream: BinaryIO, target: Path, size: int, mode: int, mtime: int) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while size:
                size -= file.write(_read(stream, min(size, CHUNK_BYTES)))
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise Malformed("two of its files have one path, and nothing was kept") from None
    target.chmod(mode)
    os.utime(target, ns=(mtime, mtime))


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise Malformed("unpacking it took more time or memory than any package needs, or a damaged archive ended it")
    return data
