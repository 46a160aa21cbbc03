"""Traitor tracing: computes from the free values in a leaked text which recipients' variants it came from.

The set of variants is a fingerprinting code, decoded with the marking assumption of Boneh and Shaw (1998): a holder
of one variant, or two, can drop a value or take that of either, and cannot guess another recipient's. Their codes, and
Tardos's shorter ones (2003), are binary and long because a single bit says little, so that c colluders need a length
that grows with c². A free parameter here is one letter of a large alphabet (a hundred choices or more): two recipients
have the same value by chance once in as many, so a text that mixes two variants shows values of both, and each value
alone already points at one. Hence three or four letters are enough against two colluders, where a binary code would
need hundreds; against more than two nothing is guaranteed.

The error model, for a parameter of n choices of which the text shows the set S, the recipient having been shown e:

    e is in the text, or not             1 - MISSING, MISSING       a part was cut off, or the value was reworded
    each other choice in S               NOISE / (n - 1)            a coincidence, or a false trail laid on purpose
    two recipients, shown a and b        a alone or b alone (1 - MISSING)(1 - BOTH)/2 each, both (1 - MISSING) BOTH
    no known recipient                   1 - MISSING, each choice equally likely

Each hypothesis (nobody, the unvaried document, each recipient, each pair of them) has a prior and this likelihood; the
result is its posterior probability. Recipients with the same fit are counted as a group, so that all pairs of some
thousand are computed quickly. Pure, deterministic, standard library only.

References: D. Boneh, J. Shaw, "Collusion-secure fingerprinting for digital data", IEEE Trans. Inf. Theory 44 (1998).
G. Tardos, "Optimal probabilistic fingerprint codes", STOC 2003. B. Chor, A. Fiat, M. Naor, "Tracing traitors" (1994).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from vault.task.variant import searched_words, words

MISSING, NOISE, BOTH = 0.35, 0.01, 0.3
NOBODY, UNVARIED, ONE, TWO = 0.5, 0.05, 0.35, 0.1
"""Prior probabilities; ONE is divided among all recipients, and TWO among all pairs of them."""

CERTAIN = 0.95
"""The probability from which a recipient is named."""
LIKELY = 0.5

_MAX_CHOICE_WORDS = 12
_ALIKE = 0.15  # share of a goal's pairs of words from which on one value is enough to take the task for the source

Verdict = Literal["nothing", "unvaried", "one", "two", "unclear"]


class Recipient(NamedTuple):
    """A recipient of a variant: one submitter in one month, whose runs were all shown the same variant."""

    submitter: str
    month: str


@dataclass(frozen=True, slots=True)
class ServedTask:
    """A task that may be the source of a leak, and which choices each recipient was shown.

    Attributes:
        task_id: the task.
        goal: its goal, with placeholders.
        free: parameter -> choices.
        shown: recipient -> parameter -> the choice that they were shown.
    """

    task_id: str
    goal: str = field(repr=False)
    free: Mapping[str, Sequence[str]] = field(repr=False)
    shown: Mapping[Recipient, Mapping[str, str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SourceTask:
    """A source of the text: a task, how many of its parameters the text holds, and its share of the goal's wording."""

    task_id: str
    values: int
    of: int
    wording: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The result of tracing a text to its recipients.

    Attributes:
        verdict: `nothing`; `unvaried` (the base document, which no run was shown); `one` or `two` recipients; or
            `unclear`, if no recipient is certain enough to be named.
        sources: the tasks that the text was taken from.
        named: the named recipients, each with the probability of being involved, the most probable first.
        one: the probability of a single recipient, whichever; `one`, `two`, `unvaried` and `nobody` sum to 1.
        two: the probability of two recipients together.
        unvaried: the probability of the base document, which no recipient was shown.
        nobody: the probability that no known recipient was involved.
    """

    verdict: Verdict
    sources: tuple[SourceTask, ...] = ()
    named: tuple[tuple[Recipient, float], ...] = ()
    one: float = 0.0
    two: float = 0.0
    unvaried: float = 0.0
    nobody: float = 1.0


@dataclass(frozen=True, slots=True)
class _Position:
    """One parameter of a source: its number of choices, those that the text holds, and those shown to recipients."""

    size: int
    seen: frozenset[str]
    shown: Mapping[Recipient, str]
    base: str

    def weight(self, of_them: int, *, two: bool = False) -> float:
        """Return the likelihood of the observed values if `of_them` of them are values that were shown."""
        others = (NOISE / (self.size - 1)) ** (len(self.seen) - of_them)
        if of_them == 0:
            return MISSING * others
        if not two:
            return (1 - MISSING) * others
        return (1 - MISSING) * ((1 - BOTH) / 2 if of_them == 1 else BOTH) * others

    def by_nobody(self) -> float:
        """Return the likelihood if an unknown recipient was shown any of the choices."""
        return self.weight(1) / self.size if self.seen else MISSING


def trace(text: str, served: Iterable[ServedTask]) -> Trace:
    """Trace a text to the tasks and recipients that it came from."""
    spoken = searched_words(text)
    held = {tuple(spoken[at : at + n]) for n in range(1, _MAX_CHOICE_WORDS + 1) for at in range(len(spoken) - n + 1)}
    sources, positions = _sources(held, served)
    if not positions:
        return Trace("nothing")
    return _verdict(sources, _weigh(positions))


def _sources(
    held: set[tuple[str, ...]], served: Iterable[ServedTask]
) -> tuple[tuple[SourceTask, ...], list[_Position]]:
    """Find the tasks whose values the text holds; a value that is explained by one task counts for no other."""
    matches = []
    for task in served:
        seen = {name: [choice for choice in choices if _spelt(choice) in held] for name, choices in task.free.items()}
        values, alike = sum(map(bool, seen.values())), wording(held, task.goal)
        if _speaks(task, seen, alike):
            matches.append((values, alike, task, seen))
    matches.sort(key=lambda item: (-item[0], -item[1], item[2].task_id))
    sources: list[SourceTask] = []
    positions: list[_Position] = []
    explained: set[tuple[str, ...]] = set()
    for _, alike, task, seen in matches:
        left = {name: [hit for hit in hits if _spelt(hit) not in explained] for name, hits in seen.items()}
        values = sum(map(bool, left.values()))
        if _speaks(task, left, alike):
            explained |= {_spelt(hit) for hits in left.values() for hit in hits}
            sources.append(SourceTask(task.task_id, values, len(task.free), round(alike, 3)))
            positions += _positions(task, left)
    return tuple(sources), positions


def _speaks(task: ServedTask, seen: Mapping[str, Sequence[str]], alike: float) -> bool:
    """Say whether the values make a task a source: one is enough with its wording, else two of one variant.

    A text with many names holds some choice of many tasks by chance; two choices of one variant are no coincidence.
    """
    if alike >= _ALIKE:
        return any(seen.values())
    base = {name: choices[0] for name, choices in task.free.items()}
    return any(sum(served[name] in hits for name, hits in seen.items()) > 1 for served in (base, *task.shown.values()))


@lru_cache(maxsize=1 << 19)
def _spelt(choice: str) -> tuple[str, ...]:
    return tuple(words(choice))


def _positions(task: ServedTask, seen: Mapping[str, Sequence[str]]) -> list[_Position]:
    return [
        _Position(
            len(choices), frozenset(seen[name]), {who: values[name] for who, values in task.shown.items()}, choices[0]
        )
        for name, choices in task.free.items()
    ]


def wording(held: set[tuple[str, ...]], goal: str) -> float:
    """Return the share of a goal's pairs of neighbouring words that a text holds, placeholders aside."""
    parts = (words(part) for part in re.split(r"\{\{[a-z0-9_]+\}\}", goal))
    pairs = {pair for part in parts for pair in pairwise(part)}
    return len(pairs & held) / len(pairs) if pairs else 0.0


class _Weights(NamedTuple):
    """Posterior probabilities of the hypotheses, and of each recipient being involved alone or with another."""

    nobody: float
    unvaried: float
    one: float
    two: float
    alone: Mapping[Recipient, float]
    part: Mapping[Recipient, float]


def _weigh(positions: Sequence[_Position]) -> _Weights:
    recipients = sorted({who for position in positions for who in position.shown})
    fits = {who: tuple(_fit(position, who) for position in positions) for who in recipients}
    groups = Counter(fits.values())
    everybody = len(recipients)
    pairs = math.comb(everybody, 2)
    nobody = NOBODY * math.prod(position.by_nobody() for position in positions)
    unvaried = UNVARIED * math.prod(position.weight(int(position.base in position.seen)) for position in positions)
    alone = {
        fit: ONE / everybody * math.prod(p.weight(int(it is not None)) for p, it in zip(positions, fit, strict=True))
        for fit in groups
    }
    part = dict.fromkeys(groups, 0.0)
    two = 0.0
    for group in groups if pairs else ():
        for other_group, count in groups.items():
            partners = count - (group == other_group)
            weight = TWO / pairs * math.prod(map(_pair, positions, group, other_group))
            part[group] += partners * weight
            two += groups[group] * partners * weight / 2
    single = sum(groups[fit] * weight for fit, weight in alone.items())
    total = nobody + unvaried + single + two
    return _Weights(
        nobody / total,
        unvaried / total,
        single / total,
        two / total,
        {who: alone[fit] / total for who, fit in fits.items()},
        {who: part[fit] / total for who, fit in fits.items()},
    )


def _fit(position: _Position, who: Recipient) -> str | None:
    """Return the value that a recipient was shown if the text holds it, else None."""
    value = position.shown.get(who)
    return value if value in position.seen else None


def _pair(position: _Position, left: str | None, right: str | None) -> float:
    values = {left, right} - {None}
    return position.weight(len(values), two=left != right)


def _verdict(sources: tuple[SourceTask, ...], weights: _Weights) -> Trace:
    best = sorted(weights.alone, key=lambda who: (-weights.alone[who] - weights.part[who], who))
    involved = [(who, min(1.0, weights.alone[who] + weights.part[who])) for who in best]
    verdict: Verdict = "unclear"
    named: list[tuple[Recipient, float]] = []
    if weights.nobody >= LIKELY:
        verdict = "nothing"
    elif weights.unvaried >= LIKELY:
        verdict = "unvaried"
    elif weights.two >= LIKELY:
        verdict, named = "two", [(who, sure) for who, sure in involved[:2] if sure >= CERTAIN]
    elif involved and weights.one >= LIKELY and involved[0][1] >= CERTAIN:
        verdict, named = "one", involved[:1]
    return Trace(verdict, sources, tuple(named), weights.one, weights.two, weights.unvaried, weights.nobody)
