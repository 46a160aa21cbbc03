"""Free parameters: values that change nothing about what must be done, so that each submitter can be shown others.

A parameter of text says `free: true`. It is not drawn: the whole task is derived with the placeholder `{{name}}` in its
stead, which then stands wherever the value would, in goal, state, predicate, solutions and mutants alike. What the
choices are, and that nothing depends on them, is for `grammars.draw.release`.
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
class Free(Range):
    """A range whose value is left open."""

    name: str
    where: str
    choices: Range

    @property
    def placeholder(self) -> str:
        """Give what stands for the value."""
        return f"{{{{{self.name}}}}}"

    @property
    def names(self) -> frozenset[str]:
        """Give the names that its choices depend on."""
        return self.choices.names

    def draw(self, dice: Random, scope: Scope) -> Drawn:  # noqa: ARG002 - every range is drawn the same way
        """Give the placeholder; it counts no instance, for the task is the same whatever stands there."""
        return Drawn(self.placeholder, 0.0)


def parse_named(name: str, spec: Any, where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    """Read one parameter of a template or production, free or not.

    Raises:
        Malformed: it is no range, or a free one of a kind that gives no text.
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
    return Free(name, where, parse_parameter(rest, where, dictionaries, levels))
