"""Derivation: expands a template into its skeletons and orders the names of a skeleton for evaluation.

Names of a template and of the chosen productions share one namespace and may refer to each other whatever the order
they are written in: each gets its value after those that it mentions (Kahn's algorithm, ties in the order of the file,
so that the same seed always makes the same draws). A constraint is checked as soon as all its names have values, so
later names may rely on it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from grammars.errors import Malformed
from grammars.language.expressions import Expression
from grammars.language.forms import Node
from grammars.language.free import FreePart, FreeRange
from grammars.language.grammar import Grammar, Production, Skeleton, Steps, Template
from grammars.language.ranges import Range

PREDEFINED = frozenset({"difficulty"})


@dataclass(frozen=True)
class Naming:
    """One name, how it gets its value, and the constraints that can be checked once it has one."""

    name: str
    how: Range | Node
    then: tuple[Expression, ...]


@dataclass(frozen=True)
class Derived:
    """A skeleton expanded into its template, its productions and the evaluation order of its names.

    Attributes:
        skeleton: which one.
        template: its template.
        productions: the chosen one of each nonterminal, in order.
        names: how each name gets its value, in the order in which they must be drawn or derived.
    """

    skeleton: Skeleton
    template: Template
    productions: dict[str, Production]
    names: tuple[Naming, ...]

    @property
    def where(self) -> str:
        """Name the file and the skeleton, for messages."""
        return f"{self.template.file}: {self.skeleton.id}"

    @property
    def parts(self) -> tuple[Steps, ...]:
        """Return the parts of the task: the template's first, then each production's in order."""
        return (self.template.steps, *(production.steps for production in self.productions.values()))

    @property
    def free(self) -> tuple[FreePart, ...]:
        """Return the free parameters, in the order of the names."""
        return tuple(part for naming in self.names if isinstance(naming.how, FreeRange) for part in naming.how.parts)


def skeletons(grammar: Grammar) -> list[Skeleton]:
    """List every skeleton of a grammar, ordered by id."""
    return list(_skeletons(grammar))


@lru_cache(maxsize=32)
def _skeletons(grammar: Grammar) -> tuple[Skeleton, ...]:
    derived = (
        skeleton for template in grammar.templates.values() for skeleton in of_template(grammar.server, template)
    )
    return tuple(sorted(derived, key=lambda skeleton: skeleton.id))


def of_template(server: str, template: Template) -> Iterator[Skeleton]:
    """List the skeletons of one template, without those that no difficulty allows."""
    for chosen in itertools.product(*(list(options.values()) for options in template.nonterminals.values())):
        levels = tuple(
            level for level in template.difficulties if all(level in production.difficulties for production in chosen)
        )
        if levels:
            names = tuple(production.name for production in chosen)
            tail = ":" + "/".join(names) if names else ""
            choices = tuple(zip(template.nonterminals, names, strict=True))
            yield Skeleton(f"{server}/{template.name}{tail}", template.name, choices, template.category, levels)


@lru_cache(maxsize=4096)
def derive(grammar: Grammar, skeleton: Skeleton) -> Derived:
    """Expand a skeleton into its parts and order its names.

    Raises:
        Malformed: two parts define the same name, or names depend on each other in a circle.
    """
    template = grammar.templates[skeleton.template]
    where = f"{template.file}: {skeleton.id}"
    productions = {slot: template.nonterminals[slot][name] for slot, name in skeleton.choices}
    parts = (template.steps, *(production.steps for production in productions.values()))
    own: dict[str, Range | Node] = {}
    for part in parts:
        for name, how in (*part.parameters.items(), *part.let.items()):
            if name in own or name in productions or name in PREDEFINED:
                raise Malformed(f"{where}: the name {name!r} is given twice; rename one of them")
            own[name] = how
    needed = {name: names for part in parts for name, names in part.names_of_own.items()}
    constraints = [constraint for part in parts for constraint in part.constraints]
    return Derived(skeleton, template, productions, tuple(_in_order(where, own, needed, constraints)))


def _in_order(
    where: str, own: dict[str, Range | Node], needed: dict[str, frozenset[str]], constraints: list[Expression]
) -> Iterator[Naming]:
    waiting = {name: names.intersection(own) for name, names in needed.items()}
    while waiting:
        ready = next((name for name, names in waiting.items() if names.isdisjoint(waiting)), None)
        if ready is None:
            circle = ", ".join(sorted(waiting))
            raise Malformed(f"{where}: these names depend on each other in a circle: {circle}")
        del waiting[ready]
        now = tuple(
            constraint
            for constraint in constraints
            if ready in constraint.names and constraint.names.isdisjoint(waiting)
        )
        yield Naming(ready, own[ready], now)
