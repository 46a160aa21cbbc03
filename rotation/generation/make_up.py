"""Make-up of some tasks: how many are single-tool, of several servers, conditional, and list three servers' tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grammars.language.checks import listed_servers
from grammars.language.derivation import derive, skeletons
from grammars.language.grammar import Grammar, Skeleton
from grammars.language.labels import TRAIT_WORDS
from grammars.language.traits import traits
from rotation.generation import dev_sets, shipped_dev_sets
from rotation.generation.grammars import shipped_among
from rotation.month.draw import picks
from rotation.month.sets import SetSpec
from rotation.month.trait_quotas import demands

MANY_SERVERS = 3
"""Servers whose tools a task lists, from which on it is counted."""


@dataclass(frozen=True, slots=True)
class MakeUp:
    """Counts of some drawn tasks.

    Attributes:
        tasks: how many there are.
        single_tool: how many of them need one tool.
        several_servers: how many need two servers or more.
        conditional: how many have a condition in their goal.
        list_many_servers: how many list the tools of MANY_SERVERS servers or more, whether they need them or not.
    """

    tasks: int
    single_tool: int
    several_servers: int
    conditional: int
    list_many_servers: int

    def __str__(self) -> str:
        shares = [
            (self.single_tool, "single-tool"),
            (self.several_servers, TRAIT_WORDS["several_servers"]),
            (self.conditional, TRAIT_WORDS["conditional"]),
            (self.list_many_servers, f"with tools of {MANY_SERVERS} servers or more"),
        ]
        return f"{self.tasks} tasks: " + ", ".join(f"{count / max(self.tasks, 1):.0%} {what}" for count, what in shares)


def cohort(spec: SetSpec, grammars: Mapping[str, Grammar], seed: bytes = dev_sets.SEED) -> MakeUp:
    """Count the tasks of a cohort that a seed would draw from unused grammars.

    Raises:
        Refused: fewer servers have skeletons of a kind than the set wants.
        Exhausted: a grammar has too few skeletons.
    """
    lots = demands(spec.trait_quotas, grammars, seed)
    return make_up(picks(grammars, spec.per_cohort, seed, set(), lots), grammars)


def dev(spec: SetSpec) -> MakeUp:
    """Count the tasks of a set's dev set, which is drawn from the shipped grammars.

    Raises:
        NotFound, Exhausted: as for `shipped_dev_sets.drafts`.
    """
    drawn = shipped_dev_sets.drafts(spec)
    return make_up((draft.skeleton for draft in drawn), shipped_among(spec.dev_servers))


def make_up(drawn: Iterable[str], grammars: Mapping[str, Grammar]) -> MakeUp:
    """Count tasks by the ids of the skeletons that they were drawn from; each of them is one of the grammars'."""
    by_id = {skeleton.id: (skeleton, grammar) for grammar in grammars.values() for skeleton in skeletons(grammar)}
    names = list(drawn)
    counts = Counter(kind for name in names for kind in _kinds(*by_id[name]))
    return MakeUp(
        len(names),
        counts["single_tool"],
        counts["several_servers"],
        counts["conditional"],
        counts["list_many_servers"],
    )


def _kinds(skeleton: Skeleton, grammar: Grammar) -> Iterator[str]:
    yield from traits(grammar)[skeleton.id]
    if skeleton.category == "single-tool":
        yield "single_tool"
    if len(listed_servers(derive(grammar, skeleton))) >= MANY_SERVERS:
        yield "list_many_servers"
