"""Control group (cgroup) of the launcher, used as the parent of the containers of an engine that it starts.

Whoever started the launcher may limit its processor or count its time by a control group (cgroups(7)). Containers are
children of the engine's group and not of the launcher's, unless the engine is told. In version 1 the group of the
`cpu` controller counts. In version 2 a group that hands controllers on may hold no process itself, so the launcher
moves into a leaf below; where others are in its group too, containers stay outside, and that is said.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from quarterturn.launcher.steps import say

MOUNTED = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
COUNTED = ("cpu", "cpuacct", "memory")  # in this order the first that is not the root is the group
LEAF = "quarterturn-launcher"
CONTROLLERS = ("cpu", "memory", "pids", "io")


@contextlib.contextmanager
def own() -> Iterator[Sequence[str]]:
    """Yield the options of dockerd that put its containers below the launcher's group; none where that is the root."""
    try:
        membership = MEMBERSHIP.read_text(encoding="utf-8")
    except OSError:
        membership = ""
    unified = (MOUNTED / "cgroup.controllers").is_file()
    path = group_of(membership, unified=unified)
    if path == "/":
        yield ()
    elif not unified:
        yield ("--cgroup-parent", path)
    else:
        with _handing_on(MOUNTED / path.strip("/")) as done:
            cgroupfs = ("--exec-opt", "native.cgroupdriver=cgroupfs")
            yield (*cgroupfs, "--cgroup-parent", path) if done else ()


def group_of(membership: str, *, unified: bool) -> str:
    """Read the path of the group out of `/proc/self/cgroup`, whose lines are `number:controllers:path`."""
    paths: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    wanted = ("",) if unified else COUNTED
    return next((paths[name] for name in wanted if paths.get(name, "/") != "/"), "/")


@contextlib.contextmanager
def _handing_on(group: Path) -> Iterator[bool]:
    """Let a group of version 2 hand its controllers on, with this process in a leaf below it while the block runs."""
    leaf = group / LEAF
    try:
        leaf.mkdir(exist_ok=True)
        _write(leaf / "cgroup.procs", str(os.getpid()))
        _write(group / "cgroup.subtree_control", " ".join(f"+{name}" for name in _controllers(group)))
    except OSError as error:
        say(
            f"containers are outside of the control group {group}: it cannot hand its controllers on ({error.strerror})"
        )
        _back(group, leaf)
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            _write(group / "cgroup.subtree_control", " ".join(f"-{name}" for name in _controllers(group)))
        _back(group, leaf)


def _controllers(group: Path) -> list[str]:
    available = (group / "cgroup.controllers").read_text(encoding="utf-8").split()
    return [name for name in CONTROLLERS if name in available]


def _back(group: Path, leaf: Path) -> None:
    with contextlib.suppress(OSError):
        _write(group / "cgroup.procs", str(os.getpid()))
        leaf.rmdir()


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8") as opened:
        opened.write(text)
