"""Identity of a runner, on what it makes outside itself, so that leftovers of a killed runner can be recognised.

Containers have it as a label, folders as a file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "quarterturn-"
NAMED = "runner"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 a tmpfs on every Linux; what is made there is ours alone


def runner() -> str:
    """Return this process a name that no other ever has: boot, PID namespace, number, and start time."""
    return f"{_boot()}:{os.getpid()}:{_start_time(os.getpid())}"


def runner_lives(label: str) -> bool:
    """Say whether the runner of that name may still run: only one that cannot is said to be gone."""
    try:
        boot, space, pid, start = label.split(":")
    except ValueError:
        return True  # no name of ours
    if f"{boot}:{space}" != _boot():
        return boot == _boot().split(":")[0]
    return pid.isdigit() and start == _start_time(int(pid))


def own_folder(kind: str, *, in_memory: bool = False) -> Path:
    """Make a folder that only we can enter, with our name in it; in memory, if there is a place for that."""
    parent = shared_folder() if in_memory else None
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=parent))
    try:
        (folder / NAMED).write_text(runner())
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # without a name nobody would ever remove it
        raise
    return folder


def shared_folder() -> Path:
    """Return a folder that all processes of this machine see, in memory if there is a place for that."""
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def remove_old_folders() -> None:
    """Remove the folders of runners that are gone."""
    for parent in (Path(tempfile.gettempdir()), SHARED_MEMORY):
        for folder in parent.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                if folder.stat().st_uid == os.geteuid() and not runner_lives((folder / NAMED).read_text()):
                    shutil.rmtree(folder, ignore_errors=True)


def _boot() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"


def _start_time(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
