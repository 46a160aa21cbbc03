"""What `doctor` looks at: the machine, the home, and on request the wall itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandbox.docker_box import DockerBox
from sandbox.selfcheck import selfcheck

import grammars
import rotation
import sandbox
import vault
import verifiers
from quarterturn.wiring import House, choose_box
from sandbox.bwrap_box import BwrapBox
from sandbox.errors import SandboxError

Findings = tuple[dict[str, Any], list[str], bool]


def machine(home: Path) -> Findings:
    """Say what is there, what is missing, and what works without it; the answer is no only if no box can be had."""
    checks = {
        "python": _python,
        "git": lambda: _program("git", "git tasks cannot be judged"),
        "bwrap box": lambda: _box(BwrapBox, "agents given as commands cannot be run"),
        "docker box": lambda: _box(DockerBox, "images cannot be run, and no score can be official"),
        "foreign rooms": _foreign,
        "home": lambda: _home(home),
    }
    found = {name: check() for name, check in checks.items()}
    lines = [f"{'ok' if ok else '--':<3} {name:<14} {text}" for name, (ok, text) in found.items()]
    data = {name: {"ok": ok, "detail": text} for name, (ok, text) in found.items()}
    return data, lines, found["bwrap box"][0] or found["docker box"][0]


def attack(box_name: str) -> Findings:
    """Try to get out of a box, from inside."""
    box = choose_box(box_name)
    attempts = selfcheck(box)
    escaped = [attempt for attempt in attempts if attempt.outcome == "escaped"]
    lines = [f"{a.outcome:<8} {a.group:<10} {a.name:<28} stopped by: {a.control}" for a in attempts]
    lines.append(f"{len(attempts)} attempts in the {box.name} box, {len(escaped)} escaped")
    return {"box": box.name, "attempts": [asdict(attempt) for attempt in attempts]}, lines, not escaped


def _python() -> tuple[bool, str]:
    return sys.version_info >= (3, 11), f"{sys.version.split()[0]}"


def _program(name: str, without: str) -> tuple[bool, str]:
    path = shutil.which(name)
    return path is not None, path or f"{name} is missing: {without}; install Debian's package {name}"


def _box(make: Callable[[], Any], without: str) -> tuple[bool, str]:
    try:
        box = make()
        box.check()
    except SandboxError as error:
        return False, f"{error} (without it, {without})"
    missing = getattr(box, "limits_missing", lambda: ())()
    return True, f"not limited: {', '.join(missing)}" if missing else "all limits hold"


def _foreign() -> tuple[bool, str]:
    """Name a room that is imported from somewhere else: other distributions have our names too."""
    here = Path(__file__).resolve().parents[1]
    rooms = (grammars, rotation, sandbox, vault, verifiers)
    strangers = [
        f"{room.__name__} ({room.__file__})" for room in rooms if not Path(str(room.__file__)).is_relative_to(here)
    ]
    return not strangers, "; ".join(strangers) or "none"


def _home(home: Path) -> tuple[bool, str]:
    if not home.exists():
        return False, f"there is none at {home}; make one with `quarterturn init`"
    house = House(home, None)
    public = "; every shipped grammar is public, and sets drawn from them are marked so"
    return (
        True,
        f"{home}, set '{house.settings.benchmark.set}', first month {house.settings.benchmark.first_month}{public}",
    )
