"""Coverage statistics of a grammar: skeletons, instances, phrasings, solutions and mutants of each template.

Instances are counted in bits, by drawing: each draw tells how many values its parameters could have had, and the share
of draws that the constraints reject is subtracted. The figure of a template is that of its skeleton with the fewest.
Draws that are near-duplicates of each other (`grammars.admission.duplicates`) are counted too: there should be none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from grammars.admission.duplicates import Neighbours, Sketch
from grammars.admission.traceability import MONTHS, lacks
from grammars.admission.translated_values import require_same_values
from grammars.draw.sample import Draw, draw
from grammars.draw.variants import base, free_of
from grammars.language.derivation import of_template
from grammars.language.grammar import Grammar, Skeleton, Template
from grammars.language.labels import Category, Difficulty
from grammars.language.traits import traits
from vault.task.variant import LEAST_BITS, bits
from verifiers.language import predicate as predicates

DRAWS = 3


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of one template.

    Attributes:
        template: `server/name`.
        category: of its tasks.
        skeletons: for each difficulty, how many skeletons can be drawn at it.
        unseen: how many of all of them are neither live nor seen.
        live: how many are in a live cohort.
        seen: how many were published, or served to somebody who could read them.
        bits: log2 of the number of instances of its skeleton with the fewest.
        phrasings: how many wordings of the goal there are.
        solutions: how many reference solutions each task has.
        mutants: the fewest mutants that a task of it has.
        steps: the largest share of max_steps that a reference solution takes.
        tries: how many draws one kept draft takes on average; near 1 is good.
        near: how many of the draws were near-duplicates of another one.
        free: log2 of the fewest variants that a task of it is served in; with less than `vault.task.variant.LEAST_BITS`
            a leaked one cannot be traced.
        lacks: what the tasks of some skeletons lack to be traced well (`grammars.admission.traceability`), with the
            number of these skeletons.
        exact: how many twins its goals rule out (`verifiers.twins`).
        several_servers: how many of the skeletons make tasks of several servers (`grammars.language.traits`).
        conditional: how many of them make conditional tasks.
        languages: the languages other than English in which its goals can be.
    """

    template: str
    category: Category
    skeletons: dict[Difficulty, int]
    unseen: int
    live: int
    seen: int
    bits: float
    phrasings: int
    solutions: int
    mutants: int
    steps: float
    tries: float
    near: int
    free: float
    lacks: dict[str, int]
    exact: int
    several_servers: int
    conditional: int
    languages: list[str]

    @property
    def traceable(self) -> bool:
        """Whether each submitter is served a variant of their own of every task."""
        return self.free >= LEAST_BITS


def check(
    grammar: Grammar, *, seen: Collection[str] = (), live: Collection[str] = (), seed: int = 0, months: int = MONTHS
) -> list[Coverage]:
    """Draw from every skeleton at every difficulty and report by template.

    Args:
        grammar: what to draw from.
        seen: ids of the skeletons that were published or served.
        live: ids of the skeletons that are in a cohort.
        seed: of the draws.
        months: for how many months a task is live.

    Raises:
        Malformed: a skeleton cannot be drawn from, or gives an invalid predicate; the message says which and why.
    """
    seen = frozenset(seen)
    live = frozenset(live) - seen
    return [_coverage(grammar, template, seen, live, seed, months=months) for template in grammar.templates.values()]


def runway(coverage: Iterable[Coverage], monthly: Mapping[str, int]) -> dict[str, float]:
    """Say for how many months each category's unseen skeletons last.

    Args:
        coverage: of all templates of one server.
        monthly: for each category, how many tasks of that server a cohort takes.
    """
    unseen: Counter[str] = Counter()
    for entry in coverage:
        unseen[entry.category] += entry.unseen
    return {category: unseen[category] / count for category, count in monthly.items() if count}


def _coverage(
    grammar: Grammar, template: Template, seen: Collection[str], live: Collection[str], seed: int, *, months: int
) -> Coverage:
    skeletons = list(of_template(grammar.server, template))
    by_skeleton = [list(_draws(grammar, skeleton, seed)) for skeleton in skeletons]
    draws = [made for drawn in by_skeleton for made in drawn]
    tasks = [(made.draft.task, made.draft.provenance) for made in draws]
    where = f"{template.file}: {grammar.server}/{template.name}: predicate"
    for made in draws:
        require_same_values(made, where.removesuffix(": predicate"))
        predicates.parse(base(made.draft).task["success_predicate"], where)
    having = Counter(trait for skeleton in skeletons for trait in traits(grammar)[skeleton.id])
    tries = sum(made.tries for made in draws) / len(draws)
    return Coverage(
        template=f"{grammar.server}/{template.name}",
        category=template.category,
        skeletons={
            level: sum(level in skeleton.difficulties for skeleton in skeletons) for level in template.difficulties
        },
        unseen=sum(skeleton.id not in seen and skeleton.id not in live for skeleton in skeletons),
        live=sum(skeleton.id in live for skeleton in skeletons),
        seen=sum(skeleton.id in seen for skeleton in skeletons),
        bits=max(0.0, min(made.bits for made in draws) - math.log2(tries)),
        phrasings=len(template.phrasings),
        solutions=len(template.steps.solutions),
        mutants=min(len(provenance["mutants"]) for _, provenance in tasks),
        steps=max(
            len(way["calls"]) / task["max_steps"] for task, provenance in tasks for way in provenance["solutions"]
        ),
        tries=tries,
        near=_near(draws),
        free=min(bits(free_of(made.draft)) for made in draws),
        lacks=dict(Counter(clause for drawn in by_skeleton for clause in lacks(free_of(drawn[0].draft), months))),
        exact=len({name for _, provenance in tasks for name in provenance.get("exact", {})}),
        several_servers=having["several_servers"],
        conditional=having["conditional"],
        languages=sorted(template.translations),
    )


def _near(draws: Iterable[Draw]) -> int:
    neighbours = Neighbours()
    return sum(neighbours.join(made.draft.id, Sketch.of(made.draft.task)) is not None for made in draws)


def _draws(grammar: Grammar, skeleton: Skeleton, seed: int) -> Iterator[Draw]:
    for level in skeleton.difficulties:
        for number in range(DRAWS):
            yield draw(grammar, skeleton, level, Random(f"{seed}/{skeleton.id}/{level}/{number}"))  # noqa: S311
