"""Advisory lock (flock) on a file or a folder; the kernel releases it when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vault.errors import Unavailable

LOCKS = Path("/proc/locks")
_PAUSE = 0.02


@contextmanager
def locked(
    path: Path,
    patience: float,
    what: str,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    *,
    folder: bool = False,
) -> Iterator[None]:
    """Hold the lock `path`, waiting for at most `patience` seconds.

    Args:
        path: a file, which is made if there is none.
        patience: seconds to wait.
        what: what is done under the lock, for the message to a caller that waits: "writing the log".
        clock: seconds that only grow.
        sleep: waits for so many seconds.
        folder: whether `path` is a folder instead, which has to be there.

    Raises:
        Unavailable: somebody holds it for longer; the message says who, where the kernel tells.
        OSError: there is no such folder, or the file cannot be made.
    """
    kind = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, kind | os.O_CLOEXEC, 0o600)
    try:
        deadline = clock() + patience
        while not _taken(descriptor):
            if clock() > deadline:
                raise Unavailable(f"{_holder(descriptor)} holds {path}, the lock for {what}; wait for it to end")
            sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Say who holds a lock: `/proc/locks` lists each as `1: FLOCK ADVISORY WRITE <process> <device>:<inode> 0 EOF`."""
    status = os.fstat(descriptor)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        held = [line.split() for line in LOCKS.read_text().splitlines()]
    except OSError:
        held = []
    for words in held:
        if words[1] == "FLOCK" and words[5] == place:
            return "this process itself" if int(words[4]) == os.getpid() else f"process {words[4]}"
    return "another process"
