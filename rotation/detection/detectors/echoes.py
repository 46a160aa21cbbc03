"""Echo detector: submitters whose runs say values that only others, or they themselves earlier, were served. Pure.

Each submitter is served their own variant of a task in each month: the values of its free parameters are drawn by a
keyed function. *Said* is a choice that stands in a run's calls or answer and in nothing that the run was shown.

    1. said      per task and parameter, the union over the submitter's runs and months, up to the rotation tested
    2. pooled    without the values that the submitter was ever served, the number of those said that were served to
                 others is hypergeometric: N = choices - own, K = served to others, draws = said. Hits are weighted by
                 how rare they are, and summed over tasks and parameters
    3. source    what one text holds together is said together. For each source, a submitter in a month, every task has
                 a score: the likelihood ratio of an agent that repeats a share of that source's values, against chance.
                 A value is matched by chance with probability said / choices. The largest sum of a source counts,
                 corrected for the number of sources
    4. texts     the scores of all sources are summed, each for the share of its values that one of many sources has:
                 who repeats one text of each of many sources says values together that one of them was served
    5. own past  the scores of step 3 for the submitter's own values of a month, against what they said in later months
    6. p-value   the smallest of the four times six: there are four tests, and a month's chance matches stay in the sums
                 of five more months, so that an unlucky submitter would be flagged month after month

Why it is exact: given all that the submitter was served, shown and said, the values of others are independent uniform
draws of a keyed function. Steps 2 to 5 compute the tails of their discrete statistics by convolution, without
approximation. Where it errs, it is towards less evidence: what was said in any month counts for the chance matches of
every source, and sources are counted generously. It is *not* exact where the values of others reached the submitter
honestly, by a task that both read (a sunset task sent to an endpoint, which has to be left out) or by an upstream model
that was told them; and choices that contain each other as texts have to be dropped before they are counted.

What stood in a language model's reply before the agent said it is the model's. Its provider is a party of its own,
`upstream:NAME`, with a test for each submitter whose agents asked it; the smallest p-value counts, times their number.

Subject: a submitter, or `upstream:NAME`. Effect: the number of values said that others were served, above the number
expected by chance.

Limits: an agent that repeats no word of what it learned, or says so many that chance explains the matches, is not
found. What was said more than five rotations ago is forgotten.

Source of the hypergeometric tail as a test of independence: R. A. Fisher, *J. R. Statist. Soc.* 98, 1935, 39-82.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from scipy.special import ndtri

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.statistics.exact_sums import MAX_SCORE, PER_NAT, Scores, hypergeometric, lattice, tails
from rotation.detection.statistics.served_values import SaidValues
from rotation.detection.statistics.table import Floats, ResultTable
from rotation.detection.statistics.tails import MIN_P_VALUE

KIND = "echo"
UPSTREAM = "upstream:"
REPEATED = 0.7
"""Probability that an agent which repeats a text says each of its values, in the likelihood ratio."""
OFTEN = 0.05
"""Share of the tasks in which it does."""
TESTS = 4
"""Tests of a submitter: pooled, source, texts and own past."""
MARGIN = 1.5
"""Factor of the p-value beside the number of tests. The values of one month are tested in six."""
MORE_SOURCES = 5
"""Sources that are allowed for beside those known: first choices, and what admission plays."""
TOGETHER = 8
"""Most parameters of a task that are taken as one tuple: those with the most choices."""
SUSPECTED = 1e-4
"""Probability, before anything is seen, that a submitter has some source."""
NAMED = 0.95
"""Probability from which a source is named."""
SHOWN = 3
"""Most tasks that a result names."""


@dataclass(slots=True)
class _Parameter:
    """One free parameter of a task over all runs of a submitter.

    Attributes:
        choices: how many it has.
        own: choice -> the rotations in which the submitter was served it.
        said: choice -> the last rotation in which it was said.
        elsewhere: said choice -> its other sources.
        drawn: all choices served to others, up to the last rotation in which something was said.
    """

    choices: int
    own: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    said: dict[int, int] = field(default_factory=dict)
    elsewhere: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    drawn: set[int] = field(default_factory=set)

    def foreign(self) -> set[int]:
        return {choice for choice in self.said if choice not in self.own}

    def later(self, rotation: int) -> set[int]:
        return {choice for choice, last in self.said.items() if last > rotation}


_Task = Sequence[_Parameter]


def echo(table: ResultTable, rotation: int) -> list[DetectorResult]:
    """Test every submitter with a run in a rotation that says which served values it said."""
    rows: dict[tuple[str, str], list[SaidValues]] = defaultdict(list)
    for row in table.said:
        if row.rotation <= rotation:
            rows[row.upstream, row.submitter].append(row)
    parties: dict[str, list[DetectorResult]] = defaultdict(list)
    for (upstream, who), of in sorted(rows.items()):
        if any(row.rotation == rotation for row in of):
            party = f"{UPSTREAM}{upstream}" if upstream else who
            parties[party].append(_tested(party, _tasks(who, of), _recipients(table, who, rotation)))
    return [_of_all(tests) for tests in parties.values()]


def _of_all(tests: Sequence[DetectorResult]) -> DetectorResult:
    """Return one result for a party: that of the submitter whose runs speak most clearly, corrected for number."""
    clearest = min(tests, key=lambda test: test.p_value)
    p_value = min(1.0, clearest.p_value * len(tests))
    effect = sum(test.effect or 0.0 for test in tests)
    return replace(clearest, p_value=p_value, z=float(-ndtri(p_value)), effect=effect)


def _tasks(submitter: str, rows: Iterable[SaidValues]) -> dict[str, _Task]:
    """Unite what the runs of a submitter said, by the task's id (step 1)."""
    tasks: dict[str, dict[str, _Parameter]] = defaultdict(dict)
    for row in rows:
        for values in row.values:
            one = tasks[row.task].setdefault(values.parameter, _Parameter(values.choices))
            if values.said:
                one.drawn |= values.drawn
            for choice, months in values.own.items():
                one.own[choice] |= set(months)
            for choice in values.said:
                one.said[choice] = max(row.rotation, one.said.get(choice, row.rotation))
            for choice, sources in values.elsewhere.items():
                one.elsewhere[choice] |= {source for source in sources if source.rpartition("|")[0] != submitter}
    united = {}
    for task, parameters in sorted(tasks.items()):
        said = [(name, one) for name, one in parameters.items() if one.said]
        said.sort(key=lambda item: (-item[1].choices, item[0]))
        united[task] = [one for _, one in said]
    return {task: parameters for task, parameters in united.items() if parameters}


def _recipients(table: ResultTable, submitter: str, rotation: int) -> int:
    """Count the others, each in each rotation up to this one, who were served tasks."""
    served = table.rotation <= rotation
    pairs = set(zip(table.submitter[served].tolist(), table.rotation[served].tolist(), strict=True))
    return sum(table.submitters[who] != submitter for who, _ in pairs)


def _tested(submitter: str, named_tasks: Mapping[str, _Task], recipients: int) -> DetectorResult:
    names, tasks = list(named_tasks), list(named_tasks.values())
    ratios = _source_ratios(tasks)
    drawn = max((len(one.drawn) for task in tasks for one in task), default=0)
    sources = max(recipients, drawn, len(ratios)) + MORE_SOURCES
    pooled, surplus = _pooled(tasks)
    (source, texts, mean), (past, past_ratios, past_mean) = _of_sources(tasks, ratios, sources), _own_past(tasks)
    p_value = max(min(1.0, TESTS * MARGIN * min(pooled, source, texts, past)), MIN_P_VALUE)
    logs = {"own earlier month": sum(past_ratios.values()) - past_mean}
    logs |= {name: sum(of.values()) - mean for name, of in ratios.items()}
    clearest = (names[number] for number in _clearest([past_ratios, *ratios.values()]))
    named, z = _named(logs, sources), float(-ndtri(p_value))
    return DetectorResult(KIND, submitter, p_value, z, surplus, detail=named, tasks=tuple(clearest))


def _clearest(ratios: Iterable[Mapping[int, float]]) -> list[int]:
    """Return the tasks with the largest ratio of any source, the largest first."""
    largest: dict[int, float] = defaultdict(float)
    for of in ratios:
        for task, ratio in of.items():
            largest[task] = max(largest[task], ratio)
    shown = sorted((-ratio, task) for task, ratio in largest.items() if ratio)
    return [task for _, task in shown[:SHOWN]]


def _pooled(tasks: Iterable[_Task]) -> tuple[float, float]:
    """Return the p-value of the values said that others were served, and their number above that expected (step 2)."""
    parts: Counter[tuple[int, int, int, int]] = Counter()
    total, surplus = 0, 0.0
    for one in (one for task in tasks for one in task):
        said, served = one.foreign(), one.drawn - set(one.own)
        population = one.choices - len(one.own)
        if not said or not served:
            continue
        weight = lattice(math.log1p(OFTEN * (population / len(served) - 1)))
        hits = len(said & served)
        total += hits * weight
        surplus += hits - len(said) * len(served) / population
        parts[population, len(served), len(said), weight] += 1
    chance = tails((hypergeometric(*part), often) for part, often in parts.items() if part[3])
    return float(chance[min(total, MAX_SCORE)]), surplus


def _source_ratios(tasks: Sequence[_Task]) -> dict[str, dict[int, float]]:
    """Return for each source with a value that was said: number of the task -> log likelihood ratio, at least 0."""
    ratios: dict[str, dict[int, float]] = defaultdict(dict)
    for number, task in enumerate(tasks):
        tuple_ = _together(task)
        said = [one.foreign() for one in tuple_]
        chances = _chances(tuple_, said)
        matches = [
            {source for choice in of for source in one.elsewhere.get(choice, ())}
            for one, of in zip(tuple_, said, strict=True)
        ]
        for source in sorted(set().union(*matches)):
            ratios[source][number] = _ratio(chances, [source in of for of in matches])
    return dict(ratios)


def _of_sources(
    tasks: Iterable[_Task], ratios: Mapping[str, Mapping[int, float]], sources: int
) -> tuple[float, float, float]:
    """Return the p-values of the clearest source and of all texts (steps 3 and 4), and what to take from each ratio."""
    units: Counter[tuple[float, ...]] = Counter()
    for task in tasks:
        units[_chances(_together(task), [one.foreign() for one in _together(task)])] += 1
    reached, mean = _by_chance(units)
    most = max((sum(map(lattice, of.values())) for of in ratios.values()), default=0)
    tail = float(reached[min(most, MAX_SCORE)])
    clearest = float(-np.expm1(sources * np.log1p(-tail))) if tail < 1 else 1.0

    def of_any(ratio: float) -> int:
        return lattice(math.log1p(math.expm1(ratio) / sources))

    total = sum(of_any(ratio) for of in ratios.values() for ratio in of.values())
    parts = [(_scores(chances, of_any), often * sources) for chances, often in units.items()]
    texts = float(tails(part for part in parts if any(part[0]))[min(total, MAX_SCORE)])
    return clearest, texts, mean


def _own_past(tasks: Iterable[_Task]) -> tuple[float, dict[int, float], float]:
    """Return the p-value of own earlier values said later, the ratio of each task, and what to take from their sum."""
    units: Counter[tuple[float, ...]] = Counter()
    ratios: dict[int, float] = defaultdict(float)
    total = 0
    for number, task in enumerate(tasks):
        tuple_ = _together(task)
        months = sorted(set().union(*(when for one in tuple_ for when in one.own.values())))
        for month in months:
            said = [one.later(month) for one in tuple_]
            chances = _chances(tuple_, said)
            matched = [
                any(month in one.own[choice] for choice in of if choice in one.own)
                for one, of in zip(tuple_, said, strict=True)
            ]
            if any(chances):
                units[chances] += 1
                score = _ratio(chances, matched)
                total += lattice(score)
                ratios[number] += score
    reached, mean = _by_chance(units)
    return float(reached[min(total, MAX_SCORE)]), ratios, mean


def _by_chance(units: Mapping[tuple[float, ...], int]) -> tuple[Floats, float]:
    """Return the tails of a source's summed score by chance, and the log of the mean of its likelihood ratio.

    Scores below 0 count as 0, so that this mean is above 1: a ratio is worth what it exceeds it by.
    """
    parts = [(_scores(chances), often) for chances, often in units.items()]
    means = (
        often * math.log(sum(probability * math.exp(score / PER_NAT) for score, probability in scores.items()))
        for scores, often in parts
    )
    return tails(parts), sum(means)


def _together(task: _Task) -> _Task:
    return task[:TOGETHER]


def _chances(task: _Task, said: Iterable[set[int]]) -> tuple[float, ...]:
    """Return for each parameter the probability that a value drawn at random was said."""
    return tuple(len(of) / one.choices for one, of in zip(task, said, strict=True))


def _ratio(chances: Iterable[float], matched: Iterable[bool]) -> float:
    """Return the log likelihood ratio of one source and task: repeated in a share of the tasks, against chance."""
    repeated = 1.0
    for chance, match in zip(chances, matched, strict=True):
        if 0 < chance < 1:
            likely = max(REPEATED, chance)
            repeated *= likely / chance if match else (1 - likely) / (1 - chance)
    return max(math.log1p(OFTEN * (repeated - 1)), 0.0)


def _scores(chances: Sequence[float], score: Callable[[float], int] = lattice) -> Scores:
    """Return the distribution of a source's score in one task by chance."""
    scores: dict[int, float] = defaultdict(float)
    for matched in product((False, True), repeat=len(chances)):
        probability = math.prod(chance if match else 1 - chance for chance, match in zip(chances, matched, strict=True))
        if probability:
            scores[score(_ratio(chances, matched))] += probability
    return scores


def _named(logs: Mapping[str, float], sources: int) -> str | None:
    """Name the source of what was said, if its probability is large enough; `logs` are log likelihood ratios."""
    prior = math.log(SUSPECTED / (1 - SUSPECTED) / (sources + 1))
    odds = {name: math.exp(min(log + prior, 500.0)) for name, log in logs.items()}
    total = 1 + sum(odds.values())
    name, most = max(odds.items(), key=lambda item: item[1])
    if most / total >= NAMED:
        return f"{name}, with probability {math.floor(100 * most / total) / 100:.2f}"
    return "several" if sum(of >= 1 / NAMED for of in odds.values()) > 1 and 1 / total <= 1 - NAMED else None
