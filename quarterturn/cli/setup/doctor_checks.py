"""`doctor`: checks of the machine and the home."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from quarterturn import foreign_packages
from quarterturn.boxes import BOXES
from quarterturn.cli.setup import home_checks
from quarterturn.cli.setup.check_result import CheckResult, advice, ok, wrong
from quarterturn.cli.terminal.report import Report
from sandbox.errors import NotFound, SandboxError
from sandbox.isolation import namespaces
from sandbox.judge import JUDGING


def machine(home: Path, database: str | None = None, passphrase: bytes | None = None) -> Report:
    """Check what is there, what is missing, and what works without it; the answer is no if anything is wrong.

    `database` is an address that wins over the home's settings, or None; without the passphrase less can be said.
    """
    found = {
        "system": _system(),
        "python": _python(),
        "git": _program("git", "the git server cannot run behind bubblewrap"),
        **_boxes(),
    }
    found |= {"judging": _judging(), "rooms": _rooms(), **home_checks.check(home, database, passphrase)}
    return Report(
        {name: finding.as_json() for name, finding in found.items()},
        [finding.line(name) for name, finding in found.items()],
        all(finding.level != "wrong" for finding in found.values()),
    )


def _system() -> CheckResult:
    """Say what this machine is, and whether it is of the kind that everything is tested on."""
    kind, architecture = platform.uname().system, platform.machine()
    if kind != "Linux":
        return wrong(f"{kind} on {architecture}; it runs on Linux alone", "a virtual machine with Debian 12")
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {"PRETTY_NAME": "Linux of an unknown name"}
    name = f"{release.get('PRETTY_NAME', 'Linux')} on {architecture}"
    if architecture != "x86_64":
        return advice(f"{name}; tested on x86-64 alone", "quarterturn doctor --attack, which says whether boxes hold")
    tested = (release.get("ID"), release.get("VERSION_ID")) == ("debian", "12")
    return ok(f"{name}, as tested" if tested else f"{name}; tested on Debian 12, and the demo on Debian 13, x86-64")


def _python() -> CheckResult:
    version = sys.version.split()[0]
    return ok(version) if sys.version_info >= (3, 11) else wrong(version, "install Python 3.11 or newer")


def _program(name: str, without: str) -> CheckResult:
    path = shutil.which(name)
    return ok(path) if path else advice(f"{name} is missing, and without it {without}", f"apt-get install {name}")


def _boxes() -> dict[str, CheckResult]:
    """Check both boxes; one that is missing is wrong only where the other is, too."""
    found = {
        "bwrap box": _box("bwrap", "agents can be run in an engine only", "apt-get install bubblewrap"),
        "docker box": _box("docker", "images cannot be run, and no score can be official", "start a Docker engine"),
    }
    if not any(finding.ok for finding in found.values()):
        return {name: wrong(finding.detail, finding.mend or "") for name, finding in found.items()}
    return found


def _box(name: str, without: str, mend: str) -> CheckResult:
    box = BOXES[name]()
    try:
        box.check()
    except SandboxError as error:
        if (allow := namespaces.how_to_allow()) in str(error):
            mend = allow
        lacks_images = isinstance(error.__cause__, NotFound)  # the engine itself answers
        return advice(f"{error} (without it, {without})", "./run images" if lacks_images else mend)
    missing: Sequence[str] = getattr(box, "limits_missing", tuple)()
    return ok(f"works, but does not limit {' and '.join(missing)}" if missing else "works, and all limits hold")


def _judging() -> CheckResult:
    """Say whether states can be read and judged, and what only its system call filter keeps from a reader."""
    try:
        reach = JUDGING.in_reach()
    except SandboxError as error:
        return wrong(f"{error} (without it, nothing can be judged)", "./run setup")
    if reach:
        return advice(
            f"works; only the system call filter keeps {' and '.join(reach)} from it: allow user namespaces",
            namespaces.how_to_allow(),
        )
    return ok("works, and reaches neither files nor networks")


def _rooms() -> CheckResult:
    foreign = foreign_packages.foreign_packages()
    return wrong("; ".join(foreign), "remove them from PYTHONPATH") if foreign else ok("all of them are ours")
