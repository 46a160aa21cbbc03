"""Gap test: do runs do better on all exposed tasks than on fresh ones, beside what the field shows? Pure.

The gap is the shift, in logits, of results on exposed tasks, where level and the effect of difficulty are free. It is
the score estimate of that shift in the Rasch model, one Newton step from no gap. It is taken over all results and over
those of each server, since often whole sources leak.

A *cut* is a rotation: tasks exposed by then against tasks that came later. At a cut in an earlier month a submitter's
runs since then count together, as several samples of one agent; so an agent whose knowledge ends with a month is found
when few of its tasks are still live. `agents_since` ends that where another agent has run. Each cut is looked at in six
rotations, with weights 1 to 6: its looks spend one level in all (K. Lan and D. DeMets, *Biometrika* 70, 1983, 659-663).

The chance variance is computed from the residuals themselves, by task (H. White, *Econometrica* 48, 1980, 817-838).
Those of a group's runs are summed by task first (K.-Y. Liang and S. Zeger, *Biometrika* 73, 1986, 13-22). The null is
that of `field_null`. A test weighs as much as the share of the field that is guilty there, as others show it: weights
that do not depend on a submitter's own results keep the level, and these are that submitter's prior chance of a leak
(C. Genovese, K. Roeder and L. Wasserman, *Biometrika* 93, 2006, 509-524).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from rotation.detection.detectors.field_null import MIN_SUBMITTERS_FOR_NULL, FieldNull, learn
from rotation.detection.statistics.ability import ables
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from rotation.detection.statistics.tails import MIN_P_VALUE

SLOPE_PRECISION = 1.0  # of the prior of the effect of difficulty, 1/logits^2
LEAST_INFORMATION = 1.0  # about a gap, 1/logits^2; below, results tell nothing of it
SAME_AGENT_Z = 2.58  # of a change between months, above which another agent is thought to have run
LEAST_SHARE = 0.25  # the lower bound of a chance variance, in parts of that of the model: few passes may all fit


@dataclass(frozen=True)
class Gap:
    """The gap of some runs.

    Attributes:
        estimate: in logits; 0 where the results tell nothing of it.
        variance: that of chance; infinite where they tell nothing.
    """

    estimate: float
    variance: float


@dataclass(frozen=True)
class Gaps:
    """What P runs on T tasks add to the gap between exposed tasks and the others.

    Attributes:
        score: (P, T) by task.
        information: (P,) about the gap, in 1/logits^2.
    """

    score: Floats
    information: Floats

    def of(self, runs: Sequence[int]) -> Gap:
        """Return the gap that these runs have in common."""
        information = float(self.information[list(runs)].sum())
        if information < LEAST_INFORMATION:
            return Gap(0.0, np.inf)
        by_task = self.score[list(runs)].sum(axis=0)
        variance = max(float((by_task**2).sum()), LEAST_SHARE * information) / information**2
        return Gap(float(by_task.sum()) / information, variance)


def onsets(table: ResultTable) -> Ints:
    """Return (P, T) the rotation from which on each task counts as exposed to the submitter of each run."""
    seen = np.where(table.exposed, table.rotation[:, None], table.first + 1)
    earliest = np.array([seen[table.submitter == submitter].min(axis=0) for submitter in range(len(table.submitters))])
    onset: Ints = np.minimum(table.first + 1, earliest[table.submitter])
    return onset


def agents_since(table: ResultTable) -> Ints:
    """Return (P,) the rotation since which the submitter of each run has submitted an agent that does as well.

    Two runs of consecutive months are compared on the tasks that both took with the same exposure (Q. McNemar,
    *Psychometrika* 12, 1947, 153-157): a change of level is no gap, and would look like one.
    """
    since = table.rotation.copy()
    for submitter in range(len(table.submitters)):
        own = np.flatnonzero(table.submitter == submitter)
        _, first = np.unique(table.rotation[own], return_index=True)
        firsts = own[first]
        for run in own:
            earlier = firsts[table.rotation[firsts] < table.rotation[run]]
            if len(earlier):
                before = earlier[-1]
                both = table.taken[run] & table.taken[before] & (table.exposed[run] == table.exposed[before])
                change = (table.share[run] - table.share[before])[both]
                if abs(change.sum()) <= SAME_AGENT_Z * np.sqrt((change**2).sum()):
                    since[run] = since[before]
    return since


def gaps(exposed: Bools, share: Floats, taken: Floats, difficulty: Floats, unknown: Floats) -> Gaps:
    """Return the gaps of all runs, free of what a level and a slope in difficulty explain. All are (P, T).

    Args:
        exposed: which tasks each submitter could have known.
        share: of results of the task that are passes.
        taken: 1 where a run has a result, else 0.
        difficulty: of the tasks, in logits.
        unknown: its variance.
    """
    chance = expit(ables(share, taken, difficulty, unknown)[:, None] - difficulty)
    residual, weight = (share - chance) * taken, chance * (1 - chance) * taken
    sums = [(weight * part).sum(axis=1) for part in (1, difficulty, difficulty**2, exposed, exposed * difficulty)]
    total, first, second, of_exposed, of_both = sums
    total, second = total + 1e-6, second + SLOPE_PRECISION
    spread = total * second - first**2
    level, slope = (second * of_exposed - first * of_both) / spread, (total * of_both - first * of_exposed) / spread
    contrast = exposed - level[:, None] - slope[:, None] * difficulty
    return Gaps(contrast * residual, (weight * contrast**2).sum(axis=1))


def nulls_of(fields: Sequence[Sequence[Gap]], usual: float) -> list[FieldNull | None]:
    """Return the null of the gaps of a field over all results, and over each source; None where fewer than ten tell.

    The spread is learned from the sources where there are several, else from the gaps over all results.
    """
    estimates, variances = (
        np.array([[getattr(gap, name) for gap in gaps] for gaps in fields]) for name in ("estimate", "variance")
    )
    is_known = np.isfinite(variances)
    enough = [part for part, known in enumerate(is_known) if known.sum() >= MIN_SUBMITTERS_FOR_NULL]
    nulls: list[FieldNull | None] = [None] * len(fields)
    if enough:
        apart = [place for place, part in enumerate(enough) if part > 0]
        estimated = [(estimates[part][is_known[part]], variances[part][is_known[part]]) for part in enough]
        for part, null in zip(enough, learn(estimated, usual, apart if len(apart) > 1 else (0,)), strict=True):
            guilty = np.full(len(is_known[part]) + 1, null.guilty[-1])
            guilty[np.flatnonzero(is_known[part])] = null.guilty[:-1]
            nulls[part] = replace(null, guilty=guilty)
    return nulls


def p_value(null: FieldNull, gap: Gap) -> float:
    """Return the p-value of a gap; 1 where results tell nothing of it."""
    if not np.isfinite(gap.variance):
        return 1.0
    return max(null.tail(gap.estimate, gap.variance), MIN_P_VALUE)
