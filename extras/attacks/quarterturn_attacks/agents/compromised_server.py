"""Compromised server of a world: `compromised_server.py NAME` corrupts the state and prints `done`.

No tool is known that leads this far. What is read out of a world must be correct all the same.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

FILES = Path(os.environ.get("HOSTILE_DATA", "/data")) / "files"
HUGE = 1 << 40
FILE_COUNT = 30_000
DEEP = 150
FILLER = 4 << 20


def links() -> None:
    """Put links where files were: to what the runner has, to init's memory, to itself, to folders above."""
    targets = ("/etc/passwd", "/proc/1/environ", "/proc/1/mem", "../../../../../../etc/shadow", "loop", "/", ".")
    for number, target in enumerate(targets):
        (FILES / f"link{number}").symlink_to(target)
    (FILES / "loop").symlink_to("loop")
    (FILES / "colour.txt").symlink_to("right.txt")
    (FILES / "right.txt").write_text("heliotrope")


def pipes() -> None:
    """Put pipes and sockets where files were: whoever opens them waits for ever."""
    os.mkfifo(FILES / "colour.txt")
    os.mkfifo(FILES.parent / "sqlite" / "main.db-wal")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(FILES / "socket"))


def sparse() -> None:
    """Make files that are long and hold nothing: a terabyte, and together more than a state may have."""
    for name, size in (("sparse", HUGE), *((f"large{number}", 1 << 24) for number in range(8))):
        with (FILES / name).open("wb") as file, contextlib.suppress(OSError):
            file.truncate(size)


def many() -> None:
    """Make more files than any state has."""
    with contextlib.suppress(OSError):
        for number in range(FILE_COUNT):
            os.close(os.open(FILES / f"f{number}", os.O_CREAT | os.O_WRONLY))


def deep() -> None:
    """Nest folders beyond what a path can name."""
    directory = os.open(FILES, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("x" * 200, dir_fd=directory)
        directory = os.open("x" * 200, os.O_RDONLY, dir_fd=directory)


def closed() -> None:
    """Take every right away, and use names that no text has."""
    (FILES / "colour.txt").write_text("heliotrope no more")
    (FILES / "colour.txt").chmod(0)
    Path(os.fsdecode(bytes(FILES) + b"/\xff\x1b[2J\n")).write_text("x")
    (FILES / "sub").mkdir()
    (FILES / "sub" / "file").write_text("x")
    (FILES / "sub").chmod(0)


def daemons() -> None:
    """Leave processes that go on writing, in two places one after the other, while somebody reads what is between."""
    if b"init.py" not in Path("/proc/1/cmdline").read_bytes():
        return  # this is nobody's world
    for number in range(4):
        (FILES / f"m{number}").write_bytes(bytes(FILLER))
        if os.fork() == 0:
            os.setsid()
            count_for_ever(number)


def count_for_ever(number: int) -> None:
    """Write one figure more into two files, over and over, and try to end whoever wants us to end."""
    for figure in itertools.count():
        with contextlib.suppress(OSError):
            os.kill(1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            for name in (f"a{number}", f"z{number}"):
                (FILES / f"new{number}").write_text(str(figure))
                (FILES / f"new{number}").rename(FILES / name)


def memory() -> None:
    """Try to reach the first process, which holds the freeze's token: its memory, its streams, its tracing."""
    for name in ("mem", "fd/0", "fd/1", "environ", "maps"):
        with contextlib.suppress(OSError):
            (FILES / "colour.txt").write_bytes(Path(f"/proc/1/{name}").open("rb").read(10) and b"heliotrope")  # noqa: SIM115
    with contextlib.suppress(OSError):
        os.write(1, b"\x00\x00\x00\x00\x02{}" + b"\x40\x00\x00\x00\x00")


ATTEMPTS: Mapping[str, Callable[[], None]] = {
    "frozen-links": links,
    "frozen-pipes": pipes,
    "frozen-sparse-file": sparse,
    "frozen-many-files": many,
    "frozen-deep-folders": deep,
    "frozen-closed-files": closed,
    "frozen-daemons": daemons,
    "frozen-init-memory": memory,
}

if __name__ == "__main__":
    with contextlib.suppress(OSError):
        ATTEMPTS[sys.argv[1]]()
    os.write(1, b"done\n")
    time.sleep(3600)
