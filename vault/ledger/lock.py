"""One writer at a time: an advisory lock on a file, which the kernel frees when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vault.errors import Unavailable

_PAUSE = 0.02


@contextmanager
def locked(
    path: Path,
    patience: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the lock `path`, waiting for at most `patience` seconds.

    Raises:
        Unavailable: another process holds it for longer.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = clock() + patience
        while not _taken(descriptor):
            if clock() > deadline:
                raise Unavailable(f"another process is writing the log (lock {path}); wait for it to end")
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
