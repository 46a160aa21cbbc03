"""Limits on what the expressions of one draw may cost, counted in values, so that they are the same on every machine.

CEL has no loop without an end, but nested macros over a list of n take n² rounds, a name that a macro's body repeats
doubles a text at each round, and its interpreter cannot be interrupted. So a grammar that somebody else wrote could
hold up the process that draws from it, or exhaust its memory. Whatever an expression takes in is counted before it is
computed with, and whatever it gives is counted before it is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grammars.errors import Malformed

MAX_CHARACTERS = 1000
"""Of one expression. CEL's parser calls itself for each operator of a chain: 100,000 of them overflow its stack."""
MAX_MACROS, MAX_DEPTH = 4, 2
"""Macros (`map`, `filter`, `all`, `exists`, `exists_one`) in one expression, and how deep they may be nested."""
MAX_STEPS = 5_000_000
"""Of one draw: values taken in and given by all its evaluations together. Shipped grammars take 750,000 at most."""
MAX_WORK = 50_000_000
"""Of one evaluation: what CEL may make of the values that it takes in. Shipped grammars take 15,000,000 at most."""
TEXT_STEP = 64  # characters

_MACRO = re.compile(r"\.\s*(?P<macro>map|filter|all|exists_one|exists)\s*\(\s*(?P<name>[A-Za-z_]\w*)\s*,")
_BRACKET = re.compile(rf"{_MACRO.pattern}|[()]")
_MACRO_IN_ANY_FORM = re.compile(r"\b(?:map|filter|all|exists_one|existsOne|exists)\s*\(")  # CEL takes `map((x), y)` too


class TooCostly(Malformed):
    """A draw or an evaluation needs more than its limit."""


class Meter:
    """Counter of the steps of one draw."""

    def __init__(self) -> None:
        self.left = MAX_STEPS

    @property
    def is_spent(self) -> bool:
        """Say whether the limit was reached."""
        return self.left < 0

    def take(self, steps: float) -> bool:
        """Count steps, and say whether there were as many."""
        self.left -= int(min(steps, MAX_STEPS + 1))
        return not self.is_spent

    def end(self) -> None:
        """Let nothing more be counted: the limit was reached elsewhere."""
        self.left = -1

    def charge(self, steps: float) -> None:
        """Count steps.

        Raises:
            TooCostly: there are not as many left.
        """
        if not self.take(steps):
            raise TooCostly("more steps than a draw has")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a source's macros can make of values: at most `factor * weight ** depth` values.

    Attributes:
        factor: how many copies its macros' bodies make of an item, at most.
        depth: how deep `map` is nested in `map`, at least 1; no other macro makes a list of other items than it takes.
    """

    factor: int = 1
    depth: int = 1

    @classmethod
    def of(cls, bare: str) -> Shape:
        """Look at a source whose texts were emptied.

        Raises:
            TooCostly: it has too many macros, nests them too deep, or has one in a form that is not counted.
        """
        names = [match["name"] for match in _MACRO.finditer(bare)]
        if len(names) != len(_MACRO_IN_ANY_FORM.findall(bare)):
            raise TooCostly("a macro is written as `list.map(name, value)`; `exists_one` has an underscore")
        deepest = copying = 0
        opened: list[str | None] = []  # of each bracket that is open, its macro
        for match in _BRACKET.finditer(bare):
            if match[0] != ")":
                opened.append(match["macro"])
                deepest = max(deepest, sum(macro is not None for macro in opened))
                copying = max(copying, opened.count("map"))
            elif opened:
                opened.pop()
        if len(names) > MAX_MACROS or deepest > MAX_DEPTH:
            raise TooCostly(
                f"it has more than {MAX_MACROS} of `map`, `filter`, `all` and `exists`, or more than {MAX_DEPTH} "
                "inside one another: name a part of it under `let`"
            )
        # The place where a macro binds its name is no mention, but a name of two macros counts for both.
        mentions = [max(1, len(re.findall(rf"\b{name}\b", bare)) - 1) for name in names]
        return cls(math.prod(mentions), max(1, copying))

    def permits(self, taken: int) -> bool:
        """Return whether what an evaluation may make of the values that it has taken in is within MAX_WORK."""
        return int(self.factor * taken**self.depth) <= MAX_WORK


def weight(value: Any) -> int:
    """Count the values in a value, a long text as several; counting ends above the limit."""
    kind = type(value)
    if kind is not list and kind is not dict:  # most values are one
        return 1 + (len(value) // TEXT_STEP if kind is str or kind is bytes else 0)
    total, rest = 0, [value]
    while rest and total <= MAX_STEPS:
        items = rest.pop()
        total += 1 + len(items)
        if type(items) is dict:
            total += len(items)
            items = items.values()
        for item in items:
            kind = type(item)
            if kind is str:
                total += len(item) // TEXT_STEP
            elif kind is list or kind is dict:
                rest.append(item)
    return total


def metered(name: str, function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """Return a function that counts what it is given, and what it may make of that, before it is carried out."""
    makes = _MAKES.get(name)

    def call(*arguments: Any) -> Any:
        meter.charge(1 + sum(map(weight, arguments)))
        if makes is not None:
            with suppress(TypeError, ValueError):  # arguments that do not fit are the function's own to refuse
                meter.charge(makes(*arguments))
        return function(*arguments)

    return call


def _product(left: Any, right: Any = "", *_: Any) -> int:
    return weight(left) * weight(right)


_MAKES: Mapping[str, Callable[..., float]] = {
    "lists.range": lambda count: max(0, count),
    "pad": lambda _number, width: max(0, width),
    "replace": lambda text, _old, new, *_: (1 + len(text)) * (1 + len(new)) / TEXT_STEP,
    "split": lambda text, *_: len(text),
    "join": _product,
    "csv": _product,
    "table": _product,
    "distinct": lambda items: _product(items, items),
    "sets.contains": _product,
    "sets.equivalent": _product,
    "sets.intersects": _product,
}
"""Functions that make more than they are given, or compare all with all: how much of their arguments."""
