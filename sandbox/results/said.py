"""Choices of a task's free parameters that one run of it said and was not shown: numbers, sealed with its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SaidChoices:
    """What was said of one free parameter; a choice is its place in the task's list, from 0 on.

    Attributes:
        parameter: its name.
        choices: how many choices it has.
        said: those that the agent said and was not shown before, in order.
        replied: those of them that had stood in a language model's reply first: likewise.
    """

    parameter: str = field(repr=False)
    choices: int
    said: tuple[int, ...] = field(repr=False)
    replied: tuple[int, ...] = field(default=(), repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "parameter": self.parameter,
            "choices": self.choices,
            "said": [*self.said],
            "replied": [*self.replied],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SaidChoices:
        """Read back what `as_json` gave."""
        return cls(value["parameter"], value["choices"], tuple(value["said"]), tuple(value["replied"]))


def united(attempts: Iterable[Iterable[SaidChoices]]) -> tuple[SaidChoices, ...]:
    """Unite what several attempts at one task said, by parameter.

    A choice counts as said by the agent as soon as one attempt said it without a model's reply.
    """
    by_name: dict[str, tuple[int, set[int], set[int]]] = {}
    for one in (one for attempt in attempts for one in attempt):
        _, said, replied = by_name.setdefault(one.parameter, (one.choices, set(), set()))
        said.update(set(one.said) - set(one.replied))
        replied.update(one.replied)
    return tuple(
        SaidChoices(name, choices, tuple(sorted(said | replied)), tuple(sorted(replied - said)))
        for name, (choices, said, replied) in sorted(by_name.items())
    )
