"""`doctor`: checks of the machine and the home, and on request the attack suite against a box."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from quarterturn import foreign_packages
from quarterturn.app import Application
from quarterturn.boxes import BOXES, choose_box
from quarterturn.choices import BoxName
from quarterturn.cli.daily import leaderboard_text
from quarterturn.cli.daily.approval import rules_lines
from quarterturn.cli.terminal.report import Report
from quarterturn.errors import ApplicationError
from quarterturn.home import policies
from quarterturn.home.paths import HomePaths
from quarterturn.keys import key_locks
from quarterturn.progress import Progress
from sandbox import attacks
from sandbox.attacks import Attempt, covert_channels
from sandbox.attacks.controls import network_link
from sandbox.boxes.box import Box
from sandbox.errors import Lost, SandboxError
from sandbox.judge import JUDGING
from vault.errors import Locked, VaultError
from vault.keys.unlocking import protected
from vault.ledger.tree.tiles import HEAD

Finding = tuple[bool, str]


def machine(home: Path, database: str | None = None, passphrase: bytes | None = None) -> Report:
    """Check what is there, what is missing, and what works without it; the answer is no only if no box works.

    `database` is an address that wins over the home's settings, or None; without the passphrase less can be said.
    """
    checks: dict[str, Callable[[], Finding]] = {
        "python": _python,
        "git": lambda: _program("git", "the git server cannot run behind bubblewrap"),
        "bwrap box": lambda: _box("bwrap", "agents can be run in an engine only"),
        "docker box": lambda: _box("docker", "images cannot be run, and no score can be official"),
        "judging": _judging,
        "rooms": _rooms,
        "home": lambda: _of(home, database, passphrase, _home),
    }
    if HomePaths(home).settings.is_file():
        checks["keys"] = lambda: _of(home, database, passphrase, _keys)
        checks["witnesses"] = lambda: _of(home, database, passphrase, _witnesses)
        checks["approvals"] = lambda: _of(home, database, passphrase, _approvals)
        checks["clock"] = lambda: _of(home, database, passphrase, _clock)
        checks["public view"] = lambda: _of(home, database, passphrase, _public_view)
    results = {name: check() for name, check in checks.items()}
    return Report(
        {name: {"ok": ok, "detail": detail} for name, (ok, detail) in results.items()},
        [f"{'ok' if ok else '--':<3} {name:<11} {detail}" for name, (ok, detail) in results.items()],
        results["bwrap box"][0] or results["docker box"][0],
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
    lines = [f"{attempt.outcome:<8} {attempt.group:<11} {attempt.name:<22} {attempt.control}" for attempt in made]
    lines += [f"{attempt.name} got out: {attempt.detail}" for attempt in escaped]
    lines += [f"{name} was stopped without its control too, so it proves nothing here" for name in unproved]
    return lines


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


def _judging() -> Finding:
    """Say whether states can be read and judged, and what only its system call filter keeps from a reader."""
    try:
        reach = JUDGING.in_reach()
    except SandboxError as error:
        return False, f"{error} (without it, nothing can be judged)"
    if reach:
        return True, f"works; only the system call filter keeps {' and '.join(reach)} from it: allow user namespaces"
    return True, "works, and reaches neither files nor networks"


def _rooms() -> Finding:
    foreign = foreign_packages.foreign_packages()
    return not foreign, "; ".join(foreign) or "all of them are ours"


def _of(home: Path, database: str | None, passphrase: bytes | None, look: Callable[[Application], Finding]) -> Finding:
    """Look at an open home; where it cannot be opened, that is what is found."""
    try:
        app = Application(home, passphrase, database=database)
        try:
            return look(app)
        finally:
            app.close()
    except (ApplicationError, VaultError) as error:
        return False, str(error)


def _home(app: Application) -> Finding:
    benchmark, known = (
        app.settings.benchmark,
        [
            *leaderboard_text.public_grammar(app.caveats.public_cohorts()),
            *leaderboard_text.untraceable(app.caveats.untraceable()),
        ],
    )
    summary = f"{app.home}, set '{benchmark.set}', first month {benchmark.first_month}"
    return True, "; ".join([summary, *known])


def _keys(app: Application) -> Finding:
    """Say which locks there are; the answer is no where a single lock opens the home, or nothing protects it."""
    locks, ring = key_locks.locks_of(app.places), app.places.ring
    if not protected(ring):
        return False, f"whoever can read {ring} has all keys: protect it with `quarterturn keys add passphrase`"
    sentence = f"the key ring opens with {' or '.join(lock['name'] for lock in locks)}"
    if len(locks) == 1 and locks[0]["kind"] != "custodians":
        return False, (
            f"{sentence} alone; nobody else can open this home: add another lock, or `quarterturn keys split` among "
            "custodians"
        )
    return True, sentence


def _public_view(app: Application) -> Finding:
    """Say which public files are not what the home's rows say."""
    try:
        behind = app.public_view.behind() if app.places.view.is_dir() else []
    except Locked:
        return True, "not compared: the key ring is locked"
    if not behind:
        return True, "current, as far as it was written"
    hint = "`quarterturn serve` writes it when it starts, and its log says what failed"
    return False, f"behind: {', '.join(behind)}; {hint}"


def _witnesses(app: Application) -> Finding:
    """Say who cosigns the log, and whether they did."""
    if app.policy is None:
        return True, "nobody cosigns the log: order and time are the operator's word"
    quorum, path = app.policy.quorum, app.places.log / HEAD
    if not path.exists():
        return True, f"the quorum '{quorum}' has to cosign the log's first head"
    if names := policies.cosigners(app.policy, path.read_bytes()):
        return True, f"the log's head is cosigned by {', '.join(names)}"
    return False, f"the log's head waits for the quorum '{quorum}', and nothing goes live before it has cosigned"


def _approvals(app: Application) -> Finding:
    """Say what takes two maintainers, and whether the settings say the same."""
    status = app.approvals.status()
    return status.state == "in force", "; ".join(rules_lines(status))


def _clock(app: Application) -> Finding:
    """Say when the next turn is due, what it lacks, and which notices were not delivered."""
    month, due = app.turn_calendar.next()
    coming, now = app.monthly_clock.coming(), app.now()
    overdue, soon = now >= due, now >= due - timedelta(days=app.settings.clock.remind_days)
    sentences = [f"the turn of {month} {'is overdue since' if overdue else 'is due on'} {due:%Y-%m-%d at %H:%M} UTC"]
    sentences += [*coming.lacks, *coming.notes] or ["Nothing is missing for it"]
    if overdue and not coming.lacks:
        sentences.append("Check that `quarterturn serve` runs, without --no-clock")
    failed = [notice for notice in app.outbox.posted() if notice.error and not notice.sent]
    if failed:
        last, rest = failed[-1], "it was given up" if failed[-1].given_up else "it will be tried again"
        sentences.append(f"The notice {last.key} was not delivered by {last.channel} ({last.error}); {rest}")
    return not (overdue or failed or (soon and coming.lacks)), ". ".join(line.rstrip(".") for line in sentences)
