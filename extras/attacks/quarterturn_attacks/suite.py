"""Whole attack suite: its parts in one catalogue, and the full run, with positive controls or without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from quarterturn_attacks import compromised_world, cross_run, hostile_states, inside_suite, scenarios
from sandbox.attacks import Attempt, Spec, SuitePart
from sandbox.attacks.suite import make
from sandbox.boxes.box import Box


class ControlledPart(SuitePart, Protocol):
    """A part of the suite with positive controls."""

    @property
    def controls(self) -> Callable[[Box, Collection[str]], Mapping[str, bool]]:
        """Say of each named attempt whether it succeeds where its control was left out.

        A name that is missing has no harmless control.
        """
        ...


PARTS: tuple[ControlledPart, ...] = (inside_suite, scenarios, compromised_world, cross_run, hostile_states)


def attempts() -> Mapping[str, Spec]:
    """Return every attempt of every part by its name."""
    return {name: spec for part in PARTS for name, spec in part.ATTEMPTS.items()}


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

    def succeeded(part: ControlledPart, names: Collection[str]) -> Mapping[str, bool]:
        return part.controls(box, names) if controls else {}

    return make(PARTS, box, lambda spec: groups is None or spec.group in groups, succeeded=succeeded, done=done)
