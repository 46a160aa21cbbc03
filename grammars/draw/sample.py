"""Sampling of drafts from a grammar: pure and deterministic for a given state of the random source.

A draw chooses a template, one of its skeletons that may be used, a difficulty, and then the parameters. A draw that
breaks a constraint, needs more than max_steps or leaks its own result (`grammars.draw.leaks`) is rejected as a whole
and made again, which keeps the others equally likely; after TRIES rejections an error names the template. Free
parameters stay open: the draft holds their placeholders and lists their choices (`grammars.draw.free_choices`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

from grammars.draw.assemble import assemble, goals, inserted_values
from grammars.draw.free_choices import add_free_choices
from grammars.draw.leaks import leaks
from grammars.errors import Exhausted, Malformed
from grammars.language.derivation import Derived, derive, skeletons
from grammars.language.expressions import Scope
from grammars.language.forms import fill, holds
from grammars.language.free import FreeRange
from grammars.language.grammar import Draft, Grammar, Skeleton
from grammars.language.labels import ENGLISH, Category, Difficulty
from grammars.language.ranges import Range
from grammars.language.traits import languages
from vault.task.variant import filled

TRIES = 200


@dataclass(frozen=True)
class Draw:
    """A draft with the statistics of its draw.

    Attributes:
        draft: the draft.
        bits: log2 of the number of values that its parameters could have had.
        tries: how many draws it took, this one included.
        goals: of a template with translations, by language, its goal in every wording.
        inserted: of such a template, the values that expressions put into the English goals.
    """

    draft: Draft
    bits: float
    tries: int
    goals: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    inserted: Sequence[str] = field(default=(), repr=False)


def sample(
    grammar: Grammar,
    dice: Random,
    *,
    category: Category | None = None,
    difficulty: Difficulty | None = None,
    exclude: Collection[str] = (),
    only: Collection[str] | None = None,
    language: str = ENGLISH,
) -> Draft:
    """Draw one task.

    Args:
        grammar: what to draw from.
        dice: the only random source; the same state gives the same draft, byte for byte.
        category: draw from its templates only.
        difficulty: draw at this one only.
        exclude: ids of skeletons that may not be used (seen, or live in another cohort).
        only: ids of the skeletons that may be used, if not all.
        language: of the goal; only skeletons with wordings in it are used.

    Raises:
        Exhausted: no skeleton is left.
        Malformed: the template cannot be drawn from; the message says why.
    """
    if language != ENGLISH:
        worded = {name for name, tags in languages(grammar).items() if language in tags}
        if not worded:
            known = ", ".join(sorted({ENGLISH}.union(*languages(grammar).values())))
            raise Exhausted(f"no template of the {grammar.server} grammar has wordings in {language}; it has {known}")
        only = worded if only is None else worded.intersection(only)
    skeleton = pick(grammar, dice, category=category, difficulty=difficulty, exclude=exclude, only=only)
    level = difficulty if difficulty is not None else dice.choice(skeleton.difficulties)
    return draw(grammar, skeleton, level, dice, language).draft


def pick(
    grammar: Grammar,
    dice: Random,
    *,
    category: Category | None = None,
    difficulty: Difficulty | None = None,
    exclude: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Skeleton:
    """Choose one of the templates that have a skeleton left, and one of its skeletons; arguments as for `sample`.

    Raises:
        Exhausted: no skeleton is left.
    """
    wanted = [
        skeleton
        for skeleton in skeletons(grammar)
        if category in {None, skeleton.category}
        and (difficulty is None or difficulty in skeleton.difficulties)
        and skeleton.id not in exclude
        and (only is None or skeleton.id in only)
    ]
    if not wanted:
        stratum = " ".join(part for part in (difficulty, category) if part)
        raise Exhausted(f"the {grammar.server} grammar has no unseen skeleton left for {stratum or 'any task'}")
    template = dice.choice(sorted({skeleton.template for skeleton in wanted}))
    return dice.choice([skeleton for skeleton in wanted if skeleton.template == template])


def draw(grammar: Grammar, skeleton: Skeleton, difficulty: Difficulty, dice: Random, language: str = ENGLISH) -> Draw:
    """Draw one task of a skeleton at a difficulty that it allows, in a language that its template has.

    Raises:
        Malformed: TRIES draws were rejected, or an expression cannot be evaluated.
    """
    derived = derive(grammar, skeleton)
    reasons: Counter[str] = Counter()
    for tries in range(1, TRIES + 1):
        before = dice.getstate()
        try:
            scope = _scope(derived, difficulty)
            made = _attempt(grammar, derived, scope, dice, {}, language=language)
        except _BrokenError as broken:
            reasons[str(broken)] += 1
            continue
        trouble = _trouble(made.draft)
        if trouble is None:
            again = partial(_again, grammar, derived, scope, before, language=language)
            translations = derived.template.translations
            worded = {tag: goals(derived, scope, tag) for tag in (ENGLISH, *translations)} if translations else {}
            inserted = inserted_values(derived, scope) if translations else []
            return Draw(add_free_choices(made.draft, derived, scope, dice, again), made.bits, tries, worded, inserted)
        reasons[trouble] += 1
    reason, count = reasons.most_common(1)[0]
    raise Malformed(f"{derived.where}: {difficulty}: {TRIES} draws were thrown away, {count} of them because {reason}")


class _Made(NamedTuple):
    """One attempt."""

    draft: Draft
    bits: float


def _attempt(
    grammar: Grammar, derived: Derived, scope: Scope, dice: Random, values: Mapping[str, str], *, language: str
) -> _Made:
    parameters, bits = _give_values(derived, scope, dice, values)
    return _Made(assemble(grammar, derived, scope, dice, parameters, bits=bits, language=language), bits)


def _again(
    grammar: Grammar,
    derived: Derived,
    scope: Scope,
    state: tuple[Any, ...],
    values: Mapping[str, str],
    *,
    language: str,
) -> Draft | None:
    """Repeat the draw from that state of the random source, with values for the free parameters."""
    dice = Random()  # noqa: S311 - its state is another's
    dice.setstate(state)
    try:
        return _attempt(grammar, derived, scope, dice, values, language=language).draft
    except (_BrokenError, Malformed):
        return None


def _scope(derived: Derived, difficulty: Difficulty) -> Scope:
    return Scope({"difficulty": difficulty} | {slot: {"name": name} for slot, name in derived.skeleton.choices})


def _trouble(draft: Draft) -> str | None:
    """Say why a draft that keeps all constraints is rejected nevertheless, or None."""
    for solution in draft.provenance["solutions"]:
        if len(solution["calls"]) > draft.task["max_steps"]:
            return f"the solution {solution['name']!r} takes more calls than max_steps"
    places = leaks(draft.task, draft.provenance["given"])
    if not places:
        return None
    return f"what the predicate wants produced lies in {places[0]} (what may be found there stands under `given`)"


class _BrokenError(Exception):
    """A constraint did not hold."""


def _give_values(
    derived: Derived, scope: Scope, dice: Random, values: Mapping[str, str]
) -> tuple[dict[str, Any], float]:
    parameters: dict[str, Any] = {}
    bits = 0.0
    for naming in derived.names:
        if isinstance(naming.how, Range):
            drawn, more = naming.how.draw(dice, scope)
            parameters[naming.name] = filled(drawn, values) if isinstance(naming.how, FreeRange) else drawn
            scope.bind(naming.name, parameters[naming.name])
            bits += more
        else:
            scope.bind(naming.name, fill(naming.how, scope))
        for constraint in naming.then:
            if not holds(constraint, scope):
                raise _BrokenError(f"{constraint.where}: {constraint.source!r} did not hold")
    return parameters, bits


__all__ = ["Draw", "draw", "pick", "sample", "skeletons"]
