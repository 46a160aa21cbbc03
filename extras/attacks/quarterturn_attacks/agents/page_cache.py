"""Covert channel through the page cache: one run leaves a message in which files are cached, a later one reads it.

`python3 -I -c THIS send HEX` in the first place, `… receive BYTES` in a later one. Both find the same files by
themselves: source files of Python, which nobody reads once they are compiled. (A library that other runs have mapped
stays in memory, and the message drowns.) The first throws the first page of each out of memory, then reads one for each
1 of the message. The other asks which are there (`RWF_NOWAIT`), or, where that cannot be asked, times its reads.

Standard library only; prints one JSON object.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

FOLDERS = ("/usr", sys.base_prefix)


def choose_files(count: int) -> list[str]:
    """Return twice so many source files, the largest first: one for each bit, and one beside it that nobody reads."""
    best = sorted(set(sources()), reverse=True)[: 2 * count]
    if len(best) < 2 * count or best[-1][0] < mmap.PAGESIZE:
        raise ValueError("there are not enough files")
    return [path for _, path in best]


def sources() -> Iterator[tuple[int, str]]:
    """Yield size and path of every source file that is no link."""
    folders = list(FOLDERS)
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_size, entry.path


def open_files(paths: Sequence[str], undo: ExitStack) -> list[int]:
    """Open files so that a read fetches one page and no more."""
    files = []
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        undo.callback(os.close, descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        files.append(descriptor)
    return files


def empty(files: Sequence[int]) -> None:
    """Throw the pages of files out of memory; those that are not yet on disk, as in a new copy, would stay."""
    for descriptor in files:
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def send(message: bytes) -> dict[str, object]:
    """Leave a message."""
    bits = [byte >> place & 1 for byte in message for place in range(8)]
    paths = choose_files(len(bits))
    with ExitStack() as undo:
        files = open_files(paths, undo)
        empty(files)
        for bit, file in zip(bits, files[::2], strict=True):
            if bit:
                os.pread(file, 1, 0)
    return {"files": digest(paths)}


def receive(length: int) -> dict[str, object]:
    """Read one, and clear the pages for the next."""
    paths = choose_files(8 * length)
    with ExitStack() as undo:
        files = open_files(paths, undo)
        try:
            bits, how = find_present(files[::2]), "RWF_NOWAIT"
        except OSError:
            bits, how = timed(files[::2], files[1::2]), "the clock"
        empty(files)
    values = [sum(bit << place for place, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)]
    return {"files": digest(paths), "how": how, "message": bytes(values).hex()}


def digest(paths: Sequence[str]) -> str:
    """Name a choice of files."""
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()[:16]


def find_present(files: Sequence[int]) -> list[int]:
    """Return for each file whether its first page is in memory: 1 or 0."""
    bits = []
    for file in files:
        try:
            os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)
            bits.append(1)
        except BlockingIOError:
            bits.append(0)
    return bits


def timed(files: Sequence[int], beside: Sequence[int]) -> list[int]:
    """Tell from the time of each read, against that of files that nobody sent: read for once, and again."""
    times = [taken(file) for file in files]
    absent, present = ([taken(file) for file in beside] for _ in range(2))
    limit = (statistics.median(absent) * statistics.median(present)) ** 0.5
    return [int(latency < limit) for latency in times]


def taken(file: int) -> int:
    """Return the time that a read of one byte takes, in nanoseconds."""
    begun = time.perf_counter_ns()
    os.pread(file, 1, 0)
    return time.perf_counter_ns() - begun


if __name__ == "__main__":
    verb, word = sys.argv[1:]
    sys.stdout.write(json.dumps(send(bytes.fromhex(word)) if verb == "send" else receive(int(word))) + "\n")
