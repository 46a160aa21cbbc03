"""The name of a runner, on what it makes outside itself: so that what a killed one left can be told from the rest."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def runner() -> str:
    """Name this process so that no other ever has the same name: boot, PID namespace, number, and start time."""
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


def _boot() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"


def _start_time(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
