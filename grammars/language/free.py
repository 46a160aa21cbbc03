"""Free parameters: text values that do not change what must be done, so that each submitter can get a different one.

A text parameter is marked `free: true`. It is not drawn: the whole task is derived with the placeholder `{{name}}`
in place of its value, in goal, state, predicate, solutions and mutants alike. `grammars.draw.free_choices` draws the
choices and proves that nothing depends on them.

Where `compose` lists lists of dictionaries, each of these is a free parameter of its own, NAME_1, NAME_2, ..., and the
value is all of them joined: `compose: [[words, services], [words, folders]], with: "-"` is one long name of two values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from grammars.errors import Malformed
from grammars.language.expressions import Scope
from grammars.language.ranges import FREE_KINDS, Dictionaries, Drawn, Range
from grammars.language.rows import parse_parameter

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True)
class FreePart:
    """One free parameter: its name in the task, and the range that its choices are drawn from."""

    name: str
    where: str
    choices: Range

    @property
    def placeholder(self) -> str:
        """Return the placeholder that stands for the value."""
        return f"{{{{{self.name}}}}}"


@dataclass(frozen=True)
class FreeRange(Range):
    """A range whose value stays a placeholder, or several placeholders that are joined to one name."""

    parts: tuple[FreePart, ...]
    sign: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Return the names that its choices depend on."""
        return frozenset().union(*(part.choices.names for part in self.parts))

    def draw(self, dice: Random, scope: Scope) -> Drawn:  # noqa: ARG002 - every range is drawn the same way
        """Return the placeholders; they count as one instance, because the task is the same whatever the values are."""
        return Drawn(self.sign.join(part.placeholder for part in self.parts), 0.0)


def parse_named(name: str, spec: Any, where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    """Read one parameter of a template or production, free or not.

    Raises:
        Malformed: it is not a range, or is a free one of a kind that does not give text.
    """
    if not isinstance(spec, Mapping) or "free" not in spec:
        return parse_parameter(spec, where, dictionaries, levels)
    rest = {key: value for key, value in spec.items() if key != "free"}
    if spec["free"] is not True:
        raise Malformed(f"{where}.free: `true` is expected here; leave it out for a parameter that matters")
    if not FREE_KINDS & set(rest):
        raise Malformed(f"{where}.free: only text can be free, so one of {', '.join(sorted(FREE_KINDS))} is needed")
    if not _NAME.fullmatch(name):
        raise Malformed(f"{where}.free: the name of a free parameter is small letters, digits and _, 32 at most")
    pieces = rest.get("compose")
    if not (isinstance(pieces, Sequence) and any(isinstance(piece, list) for piece in pieces)):
        return FreeRange((FreePart(name, where, parse_parameter(rest, where, dictionaries, levels)),))
    specs = [(f"{name}_{number}", rest | {"compose": piece}) for number, piece in enumerate(pieces, 1)]
    parts = (FreePart(part, where, parse_parameter(spec, where, dictionaries, levels)) for part, spec in specs)
    return FreeRange(tuple(parts), rest.get("with", " "))
