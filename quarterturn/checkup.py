"""What `doctor` looks at: the machine, the home, and on request the wall itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from quarterturn import rooms
from quarterturn.boxes import BOXES, choose_box
from quarterturn.choices import BoxName
from quarterturn.errors import HallError
from quarterturn.report import Report
from quarterturn.wiring import House
from sandbox.errors import SandboxError
from sandbox.selfcheck import selfcheck

Finding = tuple[bool, str]


def machine(home: Path) -> Report:
    """Say what is there, what is missing, and what works without it; the answer is no only if no box can be had."""
    checks: Mapping[str, Callable[[], Finding]] = {
        "python": _python,
        "git": lambda: _program("git", "git tasks cannot be judged"),
        "bwrap box": lambda: _box("bwrap", "agents can be run in an engine only"),
        "docker box": lambda: _box("docker", "images cannot be run, and no score can be official"),
        "rooms": _rooms,
        "home": lambda: _home(home),
    }
    found = {name: check() for name, check in checks.items()}
    return Report(
        {name: {"ok": ok, "detail": detail} for name, (ok, detail) in found.items()},
        [f"{'ok' if ok else '--':<3} {name:<11} {detail}" for name, (ok, detail) in found.items()],
        found["bwrap box"][0] or found["docker box"][0],
    )


def attack(box_name: BoxName) -> Report:
    """Try to get out of a box, from inside.

    Raises:
        Unavailable: the box cannot be had.
        Lost: the suite did not run to its end, so it proves nothing.
    """
    box = choose_box(box_name)
    attempts = selfcheck(box)
    escaped = sum(attempt.outcome == "escaped" for attempt in attempts)
    lines = [f"{a.outcome:<8} {a.group:<10} {a.name:<20} {a.control}" for a in attempts]
    lines.append(f"{len(attempts)} attempts in the {box.name} box, {escaped} escaped")
    return Report({"box": box.name, "attempts": [asdict(attempt) for attempt in attempts]}, lines, not escaped)


def _python() -> Finding:
    return sys.version_info >= (3, 11), sys.version.split()[0]


def _program(name: str, without: str) -> Finding:
    path = shutil.which(name)
    return path is not None, path or f"{name} is missing, and without it {without}: install Debian's package {name}"


def _box(name: str, without: str) -> Finding:
    box = BOXES[name]()
    try:
        box.check()
    except SandboxError as error:
        return False, f"{error} (without it, {without})"
    missing: Sequence[str] = getattr(box, "limits_missing", tuple)()
    return True, f"works, but does not limit {' and '.join(missing)}" if missing else "works, and all limits hold"


def _rooms() -> Finding:
    strangers = rooms.strangers()
    return not strangers, "; ".join(strangers) or "all of them are ours"


def _home(home: Path) -> Finding:
    try:
        benchmark = House(home, None).settings.benchmark
    except HallError as error:
        return False, str(error)
    return True, f"{home}, set '{benchmark.set}', first month {benchmark.first_month}"
