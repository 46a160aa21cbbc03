"""Records of an attack: its name, its group, the control that stops it, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from sandbox.boxes.box import Box

Outcome = Literal["blocked", "bounded", "escaped"]


@dataclass(frozen=True, slots=True)
class Spec:
    """Description of one attack.

    Attributes:
        name: how it is called everywhere.
        group: `network`, `kernel`, `files`, `resources`, `gateway`, `persistence`, `score` or `covert`.
        control: what stops or bounds it, as a phrase.
        short: whether it belongs to the short form, which is made before every official submission.
    """

    name: str
    group: str
    control: str
    short: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attack and its outcome.

    Attributes:
        name: how it is called everywhere.
        group: see `Spec`.
        control: what stops it.
        outcome: `blocked`, `bounded` (it got so far and no further) or `escaped`.
        detail: what it met.
        control_succeeded: whether the same attempt got through where its control was left out; None where that was
            not tried.
    """

    name: str
    group: str
    control: str
    outcome: Outcome
    detail: str
    control_succeeded: bool | None = None


def catalogue(*specs: Spec) -> Mapping[str, Spec]:
    """Index specs by their names, in order; a duplicate name is a defect of ours."""
    named = {spec.name: spec for spec in specs}
    if len(named) != len(specs):
        raise ValueError("two attempts have one name")
    return named


class SuitePart(Protocol):
    """One part of the suite: a module, or anything else with these two names."""

    @property
    def ATTEMPTS(self) -> Mapping[str, Spec]:  # noqa: N802 - the name that a module gives it
        """Every attempt of this part by its name, in the order in which they are made."""
        ...

    @property
    def run(self) -> Callable[[Box, Collection[str]], Iterable[Attempt]]:
        """Make the named attempts, each once, and yield them as they end.

        Raises:
            Lost: one of them did not run to its end, so that nothing is proved.
            Unavailable: the box cannot be had.
        """
        ...
