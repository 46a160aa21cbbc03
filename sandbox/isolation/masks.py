"""Masks over /proc: a place sees its own processes, and of the machine only a few files that never change.

What the kernel says there of the machine as a whole (its load, its memory, its interrupts, its settings) is the same in
every place, so it can carry messages between places, and so can whatever a later kernel adds. So this is an
allow-list: everything else in /proc when a place is made is covered. Of /sys a place has nothing.

What programs cannot do without is laid over the kernel's own: the processors as they are, the memory as the place's
cap has it, and a load and a time since boot that stand still.

What the kernel counts for the whole machine in /proc/net, which follows each process to its namespace, cannot be
covered; who makes the namespace closes it (`sandbox.boxes.place`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OWN = frozenset({"self", "thread-self", "net", "mounts"})
"""Names in /proc that lead to a process of the place."""

_CHANGES = re.compile(r"^(cpu MHz|BogoMIPS|bogomips)\b.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Masks:
    """Paths of masked files and folders, and the contents of files that replace the kernel's."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    stand_ins: Mapping[str, str]


def masks(memory: int, proc: Path = Path("/proc")) -> Masks:
    """Say what of this kernel's /proc is covered in a place.

    Args:
        memory: the place's cap, in bytes.
        proc: where the kernel's is mounted.
    """
    fixed = stand_ins(memory, (proc / "cpuinfo").read_text(encoding="utf-8"), sorted(os.sched_getaffinity(0)))
    names = {
        entry.name: entry.is_dir()
        for entry in os.scandir(proc)
        if not entry.name.isdigit() and entry.name not in OWN and f"/proc/{entry.name}" not in fixed
    }
    return Masks(
        tuple(f"/proc/{name}" for name in sorted(names) if not names[name]),
        tuple(f"/proc/{name}" for name in sorted(names) if names[name]),
        fixed,
    )


def stand_ins(memory: int, cpuinfo: str, processors: list[int]) -> dict[str, str]:
    """Return the files that programs cannot do without, by their paths.

    Args:
        memory: the place's cap, in bytes.
        cpuinfo: what the kernel says of the processors.
        processors: their numbers.
    """
    pages = memory // 1024
    amounts = {"MemTotal": pages, "MemFree": pages, "MemAvailable": pages}
    amounts |= dict.fromkeys(("Buffers", "Cached", "SwapCached", "SwapTotal", "SwapFree", "Shmem", "SReclaimable"), 0)
    counts = " ".join("0" * 10)
    return {
        "/proc/cpuinfo": _CHANGES.sub("", cpuinfo),
        "/proc/loadavg": "0.00 0.00 0.00 1/1 1\n",
        "/proc/meminfo": "".join(f"{name + ':':<16}{amount:>8} kB\n" for name, amount in amounts.items()),
        "/proc/stat": f"cpu  {counts}\n"
        + "".join(f"cpu{number} {counts}\n" for number in processors)
        + "intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
        "/proc/uptime": "1.00 1.00\n",
    }
