"""Control group of one process tree: the caps on memory, processes and CPU that rlimits cannot give.

Needs root and a writable hierarchy, version 1 (one folder a controller) or version 2 (one folder, the controllers
handed down from the root). Where there is none, `make` gives None and the box says what is not limited.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox.boxes.box import ResourceLimits

PREFIX = "quarterturn-"
CONTROLLERS = ("memory", "pids", "cpu")
PERIOD = 100_000  # microseconds
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Group:
    """One control group, as its folder under each controller (all the same folder in version 2)."""

    folders: tuple[Path, ...]

    @property
    def doors(self) -> list[str]:
        """The files into which a process writes 0 to join, before it starts anything."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def out_of_memory(self) -> bool:
        """Say whether the kernel killed something in here for its memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    words = (folder / name).read_text().split()
                    counts = dict(zip(words[::2], words[1::2], strict=False))
                    if int(counts.get("oom_kill", "0")) > 0:
                        return True
        return False

    def kill(self) -> None:
        """Kill every process in it."""
        for folder in self.folders:
            for number in map(int, _words(folder / "cgroup.procs")):
                with contextlib.suppress(OSError):
                    kill(number, partial(_is_in, folder))

    def remove(self) -> None:
        """Remove it once everything in it has ended; what is still busy after a second is left for `reap`."""
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


def kill(number: int, is_it: Callable[[int], bool]) -> None:
    """Kill a process of which somebody told us the number, and never one that got that number since.

    What `is_it` says of the number holds for the process that is killed, since that was held before it was asked.

    Raises:
        OSError: it has ended.
    """
    held = os.pidfd_open(number)
    try:
        if is_it(number):
            signal.pidfd_send_signal(held, signal.SIGKILL)
    finally:
        os.close(held)


def make(limits: ResourceLimits) -> Group | None:
    """Make a group with these caps, or give None where this machine does not let us."""
    if os.geteuid() != 0:
        return None
    name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
    parents = list(_parents())
    group = Group(tuple(parent / name for parent in parents))
    try:
        for folder in group.folders:
            folder.mkdir()
            _limit(folder, limits)
    except OSError:
        group.remove()
        return None
    return group if parents else None


def reap() -> int:
    """Kill and remove the groups of runners that are gone, and say how many."""
    left: dict[str, list[Path]] = {}
    for parent in _parents() if os.geteuid() == 0 else ():
        for folder in parent.glob(f"{PREFIX}*-*"):
            if not Path(f"/proc/{folder.name.removeprefix(PREFIX).split('-')[0]}").exists():
                left.setdefault(folder.name, []).append(folder)
    for folders in left.values():
        group = Group(tuple(folders))
        group.kill()
        group.remove()
    return len(left)


def _limit(folder: Path, limits: ResourceLimits) -> None:
    """Write every cap whose file is there; only the swap caps may be missing from a kernel."""
    quota = int(limits.cpus * PERIOD)
    caps = {
        "memory.limit_in_bytes": limits.memory,
        "memory.memsw.limit_in_bytes": limits.memory,
        "cpu.cfs_period_us": PERIOD,
        "cpu.cfs_quota_us": quota,
        "memory.max": limits.memory,
        "memory.swap.max": 0,
        "cpu.max": f"{quota} {PERIOD}",
        "pids.max": limits.pids,
    }
    for name, value in caps.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value))


def _parents() -> Iterator[Path]:
    """Find the folders to make groups in: below our own group in version 1, below the root in version 2."""
    own = _own_groups()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        root, point = left.split()[3:5]
        kind, _, options = right.split(maxsplit=2)
        if kind == "cgroup":
            for controller in set(options.split(",")) & set(CONTROLLERS) & set(own):
                yield Path(point) / os.path.relpath(own[controller], root)
                break
        elif kind == "cgroup2" and set(CONTROLLERS) <= set(_words(Path(point) / "cgroup.controllers")):
            yield from _second(Path(point))


def _second(root: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        (root / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))
        yield root


def _is_in(folder: Path, number: int) -> bool:
    return str(number) in _words(folder / "cgroup.procs")


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []


def _own_groups() -> dict[str, str]:
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}
