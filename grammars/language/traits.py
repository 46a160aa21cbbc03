"""Traits of a skeleton that a set counts: of several servers or not, conditional or not, and the goal's languages.

A task is of **several servers** if each of its reference solutions calls tools of two servers or more; listed tools
that no solution calls count for nothing. It is **conditional** if its goal has a condition that the agent must evaluate
on the state (if it holds, one thing; otherwise another): its template has a nonterminal named `condition`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from grammars.language.checks import tools_of
from grammars.language.derivation import derive, skeletons
from grammars.language.grammar import Grammar, Skeleton
from grammars.language.labels import TRAITS, Trait

CONDITION = "condition"
"""The name of the nonterminal that makes a template conditional."""


@lru_cache(maxsize=32)
def traits(grammar: Grammar) -> Mapping[str, frozenset[Trait]]:
    """Return the traits of every skeleton of a grammar, by the skeleton's id."""
    return MappingProxyType({skeleton.id: frozenset(_traits(grammar, skeleton)) for skeleton in skeletons(grammar)})


@lru_cache(maxsize=32)
def languages(grammar: Grammar) -> Mapping[str, frozenset[str]]:
    """Return the languages other than English in which every skeleton of a grammar has wordings, by its id."""
    templates = grammar.templates
    return MappingProxyType(
        {skeleton.id: frozenset(templates[skeleton.template].translations) for skeleton in skeletons(grammar)}
    )


def _traits(grammar: Grammar, skeleton: Skeleton) -> list[Trait]:
    derived = derive(grammar, skeleton)
    ways = (tools_of(derived, name) for name in derived.template.steps.solutions)
    spanning = all(len({tool.partition(".")[0] for tool in tools}) > 1 for tools in ways)
    conditional = any(slot == CONDITION for slot, _ in skeleton.choices)
    return [trait for trait, has in zip(TRAITS, (spanning, conditional), strict=True) if has]
