"""Whole attack suite: its parts in one catalogue, and the short and the full run.

A suite that did not run to its end proves nothing and is an error, never a pass; whatever else can be tried is tried
first, so that one lost part does not discard the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from sandbox.attacks import compromised_world, cross_run, hostile_states, inside_suite, scenarios
from sandbox.attacks.harness.attempt import Attempt, Spec, SuitePart
from sandbox.boxes.box import Box
from sandbox.errors import Lost

PARTS: tuple[SuitePart, ...] = (inside_suite, scenarios, compromised_world, cross_run, hostile_states)


def attempts() -> Mapping[str, Spec]:
    """Give every attempt of every part by its name."""
    return {name: spec for part in PARTS for name, spec in part.ATTEMPTS.items()}


def selfcheck(box: Box) -> list[Attempt]:
    """Run the short form, a few seconds; the isolation holds if nothing escaped.

    Raises:
        Lost: it did not run to its end, or did not reach its own relay.
        Unavailable: the box cannot be had.
    """
    return _run(box, lambda spec: spec.short, controls=False, done=lambda _: None)


def attack(
    box: Box,
    *,
    controls: bool = False,
    groups: Collection[str] | None = None,
    done: Callable[[Attempt], None] = lambda _: None,
) -> list[Attempt]:
    """Run everything, or some groups; `done` is told of each attempt as it ends.

    Args:
        box: where.
        controls: whether the same attempts are made once more without the control that stops them.
        groups: which groups; all of them by default.
        done: called with each attempt.

    Raises:
        Lost: it did not run to its end, or did not reach its own relay; `done` was told of all that was made.
        Unavailable: the box cannot be had.
    """
    return _run(box, lambda spec: groups is None or spec.group in groups, controls=controls, done=done)


def _run(box: Box, wanted: Callable[[Spec], bool], *, controls: bool, done: Callable[[Attempt], None]) -> list[Attempt]:
    made: list[Attempt] = []
    lost: list[str] = []
    for part in PARTS:
        names = [name for name, spec in part.ATTEMPTS.items() if wanted(spec)]
        if not names:
            continue
        succeeded = part.controls(box, names) if controls else {}
        try:
            for attempt in part.run(box, names):
                made.append(replace(attempt, control_succeeded=succeeded.get(attempt.name)))
                done(made[-1])
        except Lost as error:
            lost.append(str(error))
        else:
            lost += _missing(box, set(names) - {attempt.name for attempt in made})
    if lost:
        raise Lost("; ".join(lost))
    return made


def _missing(box: Box, names: Collection[str]) -> list[str]:
    return [f"the attack on the {box.name} box stopped before {', '.join(sorted(names))}"] if names else []
