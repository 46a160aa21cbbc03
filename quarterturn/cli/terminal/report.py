"""The outcome of a verb, as data for programs and as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """An outcome.

    Attributes:
        data: plain JSON values, for machines.
        lines: the same for people.
        ok: whether the answer is yes.
    """

    data: Any
    lines: Sequence[str]
    ok: bool = True


def counted(number: int, noun: str) -> str:
    """Write a number of things: `1 run`, `2 runs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
