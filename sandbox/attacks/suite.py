"""Self-check before a run, and how parts of the attack suite are run.

A suite that did not run to its end proves nothing and is an error, never a pass; whatever else can be tried is tried
first, so that one lost part does not discard the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sandbox.attacks import inside_suite
from sandbox.attacks.harness.attempt import Attempt, Spec, SuitePart
from sandbox.boxes.box import Box
from sandbox.errors import Lost

Part = TypeVar("Part", bound=SuitePart)
SHORT: tuple[SuitePart, ...] = (inside_suite,)
"""Parts with attempts of the short form; the extra `attacks` has the others."""


def selfcheck(box: Box) -> list[Attempt]:
    """Run the short form, a few seconds; the isolation holds if nothing escaped.

    Raises:
        Lost: it did not run to its end, or did not reach its own relay.
        Unavailable: the box cannot be had.
    """
    return make(SHORT, box, lambda spec: spec.short)


def make(
    parts: Sequence[Part],
    box: Box,
    wanted: Callable[[Spec], bool],
    *,
    succeeded: Callable[[Part, Collection[str]], Mapping[str, bool]] = lambda *_: {},
    done: Callable[[Attempt], None] = lambda _: None,
) -> list[Attempt]:
    """Make attempts, part by part.

    Args:
        parts: the parts.
        box: where.
        wanted: says of an attempt whether it is made.
        succeeded: says of a part's attempts, before they are made, which succeed without their control.
        done: called with each attempt as it ends.

    Raises:
        Lost: one did not run to its end, or did not reach its own relay; `done` was told of all that was made.
        Unavailable: the box cannot be had.
    """
    made: list[Attempt] = []
    lost: list[str] = []
    for part in parts:
        names = [name for name, spec in part.ATTEMPTS.items() if wanted(spec)]
        if not names:
            continue
        proved = succeeded(part, names)
        try:
            for attempt in part.run(box, names):
                made.append(replace(attempt, control_succeeded=proved.get(attempt.name)))
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
