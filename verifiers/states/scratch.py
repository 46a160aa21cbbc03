"""A folder in memory for the few states that only a program can read (a git repository, a write-ahead log).

What lies there is as secret as a task, so the folder is on a tmpfs, belongs to us alone (mode 0700) and is removed
afterwards. Where the machine has no tmpfs there is no scratch folder, rather than one on a disk. (A tmpfs may still be
swapped out: an operator who swaps encrypts the swap.)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from verifiers.errors import Unreadable

PREFIX = "quarterturn-look-"
MOUNTS = Path("/proc/self/mountinfo")


def candidates() -> Sequence[Path]:
    """Name the folders where Linux keeps a tmpfs that any user may write to."""
    return Path("/dev/shm"), Path("/run/user") / str(os.getuid())  # noqa: S108 - the check below makes sure what it is


def is_tmpfs(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Say whether the file system that holds `folder` is a tmpfs, going by its device number (proc(5), mountinfo)."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = {line.partition(" - ")[2].split(" ")[0] for line in lines if line.split(" ")[2:3] == [number]}
    return kinds == {"tmpfs"}


@contextmanager
def scratch_folder(places: Sequence[Path] | None = None) -> Iterator[Path]:
    """Make a private folder on a tmpfs and remove it afterwards.

    Raises:
        Unreadable: there is no tmpfs that we may write to.
    """
    for place in candidates() if places is None else places:
        if place.is_dir() and os.access(place, os.W_OK | os.X_OK) and is_tmpfs(place):
            with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True) as name:
                yield Path(name)
            return
    raise Unreadable("no tmpfs to look at a private state in: mount one on /dev/shm that this user may write to")
