"""Looks for secret words and keys in all that is written to a disk, and in what processes show.

The kernel notifies `Files` (fanotify(7)) of every file that is changed or closed after writing, and looks into it
through the descriptor that comes with the news, so a file that lived for a moment, or never had a name, is looked at
like any other. `Processes` looks at the arguments, the environment and the limits of all processes, again and again.
"""

from __future__ import annotations

import base64
import ctypes
import gzip
import os
import re
import struct
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FAN_MODIFY, FAN_CLOSE_WRITE = 0x2, 0x8  # linux/fanotify.h
FAN_CLOEXEC, FAN_UNLIMITED_QUEUE = 0x1, 0x10
FAN_MARK_ADD, FAN_MARK_FILESYSTEM, AT_FDCWD = 0x1, 0x100, -100
EVENT = struct.Struct("=IBBHQii")
MOST, PAGE = 64 * 1024 * 1024, 4096
BETWEEN = 0.1  # seconds between two looks at the processes
OTHERS = re.compile(r"/tmp/pytest-of-\w+/|/dev/shm/quarterturn-(tests|pg)-")
PARENT, BEGAN, PROGRAM = 1, 19, slice(23, 26)  # of proc(5)'s fields after the name; where its code and stack lie
GZIP = b"\x1f\x8b"
HEAD = 3  # bytes of a needle that are looked for first


def forms(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the encodings in which a secret could lie on a disk."""
    yield "plain", raw
    yield "backwards", raw[::-1]
    yield "hex", raw.hex().encode()
    yield "HEX", raw.hex().upper().encode()
    for pad in range(3):
        cut = slice(4 if pad else 0, -4)  # what the neighbouring bytes do not change
        yield f"base64+{pad}", base64.b64encode(b"x" * pad + raw)[cut]
        yield f"base64url+{pad}", base64.urlsafe_b64encode(b"x" * pad + raw)[cut]
    if raw.isascii():
        yield "UTF-16LE", raw.decode().encode("utf-16-le")
        yield "UTF-16BE", raw.decode().encode("utf-16-be")
        yield "escaped", "".join(f"\\u{byte:04x}" for byte in raw).encode()


@dataclass(frozen=True, order=True)
class Hit:
    """A secret that was found: its name, form and place, and the word around it where it lies in plaintext."""

    name: str
    form: str
    place: str
    word: str = ""


class Needles:
    """The secrets to look for, by name."""

    def __init__(self, sought: Mapping[str, bytes]) -> None:
        self._by_head: defaultdict[int, list[tuple[str, str, bytes]]] = defaultdict(list)
        for name, raw in sought.items():
            for form, needle in forms(raw):
                self._by_head[int(_heads(needle[:HEAD])[0])].append((name, form, needle))
        self._is_head = np.zeros(1 << 8 * HEAD, bool)
        self._is_head[list(self._by_head)] = True

    def hits(self, content: bytes, place: str) -> Iterator[Hit]:
        """Search some bytes."""
        if content.startswith(GZIP):
            with suppress(OSError, EOFError, zlib.error):
                content = gzip.decompress(content)
        for name, form, needle in self._inside(content):
            words = re.findall(re.escape(needle) + rb"[-a-z0-9]*", content) if form == "plain" else [b""]
            yield from {Hit(name, form, place, word.decode(errors="backslashreplace")) for word in words}

    def _inside(self, content: bytes) -> set[tuple[str, str, bytes]]:
        """Look for hundreds of needles in one pass: at the places where the first bytes of one stand."""
        heads = _heads(content)
        places = np.flatnonzero(self._is_head[heads]).tolist()
        return {
            needle
            for place in places
            for needle in self._by_head[int(heads[place])]
            if content.startswith(needle[2], place)
        }


def _heads(content: bytes) -> NDArray[np.uint32]:
    """Return for each place in some bytes the three that begin there, as one number."""
    every = np.frombuffer(content, np.uint8).astype(np.uint32)
    return every[:-2] | every[1:-1] << 8 | every[2:] << 16


class Files:
    """Looks into every file below some folders that is written while it watches.

    Args:
        needles: what is looked for, or None to keep what was written until it is known.
        near: folders where each change is looked at, and which are read through at the end.
        far: folders where a file is looked at when it is closed, except for what other tests write there.
    """

    def __init__(self, needles: Needles | None, near: Sequence[Path], far: Sequence[Path]) -> None:
        self._needles, self._near, self._far = needles, [f"{path}/" for path in near], [f"{path}/" for path in far]
        self.found: set[Hit] = set()
        self.looked = 0
        self._kept: list[tuple[str, bytes]] = []
        self._last: dict[str, bytes] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._news = self._libc.fanotify_init(FAN_CLOEXEC | FAN_UNLIMITED_QUEUE, os.O_RDONLY)
        if self._news < 0:
            raise OSError(ctypes.get_errno(), "the kernel tells no news of files; run this test as root")
        for folder in (*near, *far):
            self._mark(folder)
        self._end = near[0] / ".the-end-of-the-watch"
        self._thread = threading.Thread(target=self._listen)

    def _mark(self, folder: Path) -> None:
        mask = ctypes.c_uint64(FAN_MODIFY | FAN_CLOSE_WRITE)
        how = FAN_MARK_ADD | FAN_MARK_FILESYSTEM
        if self._libc.fanotify_mark(self._news, how, mask, AT_FDCWD, os.fsencode(folder)) != 0:
            raise OSError(ctypes.get_errno(), f"{folder} cannot be watched; run this test as root")

    def __enter__(self) -> Files:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.touch()  # news come in order: what was written before this is looked at before the thread ends
        self._thread.join()
        os.close(self._news)
        self._end.unlink()
        for folder in self._near:
            for path in files_below(folder):
                self._look(str(path), content_of(path))

    def search(self, needles: Needles) -> set[Hit]:
        """Search what was kept."""
        self._needles = needles
        for path, content in self._kept:
            self._look(path, content)
        return self.found

    def _listen(self) -> None:
        while str(self._end) not in self._read():
            pass

    def _read(self) -> set[str]:
        news, seen = os.read(self._news, 256 * 1024), set()
        for place in range(0, len(news), EVENT.size):
            mask, descriptor = EVENT.unpack_from(news, place)[4:6]
            try:
                path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a Path costs more than the call
                if path not in seen and self._concerns(path, mask):
                    self._look(path, self._changed(path, os.pread(descriptor, MOST, 0)))
                    if not path.endswith(" (deleted)"):
                        seen.add(path)
            finally:
                os.close(descriptor)
        return seen

    def _concerns(self, path: str, mask: int) -> bool:
        far = mask & FAN_CLOSE_WRITE and path.startswith(tuple(self._far)) and not OTHERS.match(path)
        return bool(far) or path.startswith(tuple(self._near))

    def _changed(self, path: str, content: bytes) -> bytes:
        """Return the pages of a file that changed since the last search, and their neighbours."""
        last, self._last[path] = self._last.get(path, b""), content
        pages = [slice(start, start + PAGE) for start in range(0, len(content), PAGE)]
        new = {number for number, page in enumerate(pages) if content[page] != last[page]}
        return b"".join(content[page] for number, page in enumerate(pages) if new & {number - 1, number, number + 1})

    def _look(self, path: str, content: bytes) -> None:
        self.looked += 1
        if self._needles is None:
            self._kept.append((path, content))
        else:
            self.found.update(self._needles.hits(content, path), self._needles.hits(os.fsencode(path), path))


class Processes:
    """Looks in a loop at every process of this machine that began after it.

    Args:
        needles: what is looked for.
        own: whose descendants may leave no core file; their own children, who forbid them themselves, excepted.
    """

    def __init__(self, needles: Needles, own: int) -> None:
        self._needles, self._own = needles, own
        self._before = set(_numbers()) - {own}
        self.found: set[Hit] = set()
        self.seen: set[int] = set()
        self.open: set[str] = set()
        self._seen_programs: set[tuple[int | bytes, ...]] = set()
        self._stopping, self._thread = threading.Event(), threading.Thread(target=self._watch)

    def __enter__(self) -> Processes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(BETWEEN)

    def _look(self) -> None:
        there = set(_numbers())
        self._before &= there  # the kernel may give the number of one that has ended to a new one
        statuses = {number: status for number in there - self._before if (status := _status(number))}
        parents = {number: int(status[PARENT]) for number, status in statuses.items()}
        programs = {(number, status[BEGAN], *status[PROGRAM]) for number, status in statuses.items()}
        for number, *_ in programs - self._seen_programs:  # arguments and environment are given with a program
            folder = Path("/proc", str(number))
            depth, named = self._depth(number, parents), content_of(folder / "cmdline")
            shown = named + b"\0" + content_of(folder / "comm")
            if depth != 1:  # a verb is handed its passphrase in the environment, and takes it out
                shown += b"\0" + content_of(folder / "environ")
            self.found.update(self._needles.hits(shown, f"process {named[:80]!r}"))
            if depth > 1:
                self.seen.add(number)
                limits = content_of(folder / "limits").decode()
                if limits and not re.search(r"Max core file size +0 +0 ", limits):
                    self.open.add(repr(named[:80]))
        self._seen_programs = programs

    def _depth(self, number: int, parents: Mapping[int, int]) -> int:
        """Return how many generations below the calling process a process is; 0 if it is no descendant."""
        for depth in range(64):
            if number == self._own:
                return depth
            number = parents.get(number, 0)
        return 0


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - for each look


def _status(number: int) -> list[bytes]:
    """Return the fields of `/proc/N/stat` (proc(5)) after the name, or nothing where the process has ended."""
    try:
        with open(f"/proc/{number}/stat", "rb", buffering=0) as status:  # noqa: PTH123 - for each process of each look
            return status.read().rpartition(b")")[2].split()
    except OSError:
        return []


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files and folders below a folder, while others may come and go there."""
    for parent, folders, names in os.walk(folder):
        yield from (Path(parent) / name for name in (*folders, *names))


def content_of(path: Path) -> bytes:
    """Return the content of a plain file, or nothing."""
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError:
        return b""
