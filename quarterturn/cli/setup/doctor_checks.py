"""`doctor`: checks of the machine and the home, and on request the attack suite against a box."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quarterturn import foreign_packages
from quarterturn.boxes import BOXES, choose_box
from quarterturn.choices import BoxName
from quarterturn.cli.setup import home_checks
from quarterturn.cli.setup.check_result import CheckResult, advice, ok, wrong
from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.report import Report
from quarterturn.progress import Progress
from sandbox import attacks
from sandbox.attacks import Attempt, covert_channels
from sandbox.attacks.controls import network_link
from sandbox.boxes.box import Box
from sandbox.errors import Lost, NotFound, SandboxError
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


def attack(box_name: BoxName, out: Progress, *, controls: bool) -> Report:
    """Run every known escape attempt from inside a box.

    Args:
        box_name: which box.
        out: where progress goes.
        controls: whether each attempt is also made without the control that stops it.

    Raises:
        Unavailable: the box cannot be had, or this machine does not let us make controls.
        Lost: the suite did not run to its end, so it proves nothing; what was made was said before.
    """
    if controls:
        network_link.require()
    box = choose_box(box_name)
    made: list[Attempt] = []
    try:
        with out.progress(f"attacking the {box.name} box", len(attacks.attempts())) as advance:

            def done(attempt: Attempt) -> None:
                made.append(attempt)
                advance(1)

            attacks.attack(box, controls=controls, done=done)
    except Lost:
        for line in _lines(made):
            out.say(line)
        raise
    return Report(
        {"box": box.name, "attempts": [_attempt_row(attempt, controls) for attempt in made]}, *_judged(box, made)
    )


def _attempt_row(attempt: Attempt, controls: bool) -> dict[str, Any]:
    fields = asdict(attempt)
    if not controls:
        del fields["control_succeeded"]
    return fields


def _judged(box: Box, made: Sequence[Attempt]) -> tuple[list[str], bool]:
    """Give a line for each attempt with what it comes to, and whether the wall holds."""
    lines, escaped = _lines(made), sum(attempt.outcome == "escaped" for attempt in made)
    lines.append(f"{len(made)} attempts in the {box.name} box, {escaped} escaped")
    one_run, together = (covert_channels.total(covert_channels.ceiling(runs)) for runs in (1, covert_channels.RUNS))
    lines.append(
        f"What the service itself discloses is at most {one_run:.0f} bits a private run, {together:.0f} with "
        f"{covert_channels.RUNS} of them a month; "
        f"the goals of a set have {covert_channels.TASKS * covert_channels.GOAL}."
    )
    return lines, not escaped


def _lines(made: Sequence[Attempt]) -> list[str]:
    escaped = [attempt for attempt in made if attempt.outcome == "escaped"]
    unproved = [attempt.name for attempt in made if attempt.control_succeeded is False]
    lines: list[str] = [
        StatusLine(f"{attempt.outcome:<8} {attempt.group:<11} {attempt.name:<22} {attempt.control}", attempt.outcome)
        for attempt in made
    ]
    lines += [f"{attempt.name} got out: {attempt.detail}" for attempt in escaped]
    lines += [f"{name} was stopped without its control too, so it proves nothing here" for name in unproved]
    return lines


def _system() -> CheckResult:
    """Say what this machine is, and whether it is of the kind that everything is tested on."""
    kind, architecture = platform.system(), platform.machine()
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
    return ok(f"{name}, as tested" if tested else f"{name}; tested on Debian 12, x86-64")


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
