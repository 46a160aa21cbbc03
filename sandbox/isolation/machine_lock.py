"""Machine-wide lock: one class of runs at a time on one machine, across all processes of this user.

    gate    held for a moment by each run that starts, and by a run that waits for another class to finish: so that no
            run of the active class can start before it, and no wait lasts for ever
    runs    shared by all active runs; its content is their class

Both are advisory locks (flock) on files in shared memory, which the kernel lets go of when a process ends. Containers
that share the machine's /dev/shm share them too.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import NotAllowed, Unavailable
from sandbox.isolation.run_classes import RunClass
from sandbox.runner_identity import shared_folder

LOOK_SECONDS = 0.2
MAX_WAIT_SECONDS = 3600.0
"""For runs of another class; then whoever waits lets them begin again, and comes back later."""

log = logging.getLogger("quarterturn.worker")


@contextmanager
def playing(
    run_class: RunClass, stopped: Callable[[], bool] = lambda: False, folder: Path | None = None
) -> Iterator[int]:
    """Play runs of one class inside the block; before it, wait until none of another class is played.

    Yields the descriptor that holds the lock: a process that is handed it holds it too, for as long as it lives.

    Args:
        run_class: the class.
        stopped: is asked five times a second while it waits.
        folder: where the locks lie; in shared memory by default.

    Raises:
        NotAllowed: it was told to stop before it could begin.
        Unavailable: the locks cannot be made, or are not ours; or others were played for `MAX_WAIT_SECONDS`.
    """
    place = folder or shared_folder()
    gate, runs = (
        _opened(place / f"quarterturn-{os.geteuid()}.gate"),
        _opened(place / f"quarterturn-{os.geteuid()}.runs"),
    )
    try:
        end = time.monotonic() + MAX_WAIT_SECONDS
        _wait(lambda: _taken(gate, fcntl.LOCK_EX), stopped, end)
        _wait(lambda: _joined(runs, run_class), stopped, end)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield runs
    finally:
        os.close(gate)
        os.close(runs)


def is_awaited(folder: Path | None = None) -> bool:
    """Say whether runs are about to begin on this machine, or wait for those of another class to end.

    Raises:
        Unavailable: the lock cannot be opened, or is not ours.
    """
    gate = _opened((folder or shared_folder()) / f"quarterturn-{os.geteuid()}.gate")
    try:
        return not _taken(gate, fcntl.LOCK_EX)
    finally:
        os.close(gate)


def _joined(runs: int, run_class: RunClass) -> bool:
    """Join those that play this class, or begin where nobody plays. Whoever calls holds the gate."""
    if os.pread(runs, 32, 0) == run_class.encode():
        return _taken(runs, fcntl.LOCK_SH)  # nobody holds it alone but under the gate, so this is got
    if not _taken(runs, fcntl.LOCK_EX):
        return False
    os.ftruncate(runs, 0)
    os.pwrite(runs, run_class.encode(), 0)
    return _taken(runs, fcntl.LOCK_SH)


def _wait(done: Callable[[], bool], stopped: Callable[[], bool], end: float) -> None:
    if done():
        return
    log.info("waiting until runs of another class have ended on this machine")
    while not done():
        if stopped():
            raise NotAllowed("the run was cancelled while it waited for runs of another class on this machine to end")
        if time.monotonic() >= end:
            raise Unavailable(
                f"runs of another class were played on this machine for {MAX_WAIT_SECONDS / 60:.0f} minutes: try again "
                "later, or give each class a machine of its own (worker --only)"
            )
        time.sleep(LOOK_SECONDS)


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    """Open a file of ours, each time anew: a lock belongs to what was opened."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Unavailable(
            f"the lock {path} cannot be opened ({error.strerror}): remove it, or let us write it"
        ) from error
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unavailable(f"the lock {path} belongs to another user: have them remove it")
    return descriptor
