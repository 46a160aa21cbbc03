"""`doctor --attack`: the attack suite against a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.report import Report
from quarterturn.progress import Progress
from quarterturn_attacks import covert_channels, suite
from quarterturn_attacks.controls import network_link
from sandbox.attacks import Attempt
from sandbox.boxes.box import Box
from sandbox.errors import Lost


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
        with out.progress(f"attacking the {box.name} box", len(suite.attempts())) as advance:

            def done(attempt: Attempt) -> None:
                made.append(attempt)
                advance(1)

            suite.attack(box, controls=controls, done=done)
    except Lost:
        for line in _lines(made):
            out.say(line)
        raise
    rows = [_attempt_row(attempt, controls=controls) for attempt in made]
    return Report({"box": box.name, "attempts": rows}, *_judged(box, made))


def _attempt_row(attempt: Attempt, *, controls: bool) -> dict[str, Any]:
    fields = asdict(attempt)
    if not controls:
        del fields["control_succeeded"]
    return fields


def _judged(box: Box, made: Sequence[Attempt]) -> tuple[list[str], bool]:
    """Return a line for each attempt with what it comes to, and whether the wall holds."""
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
