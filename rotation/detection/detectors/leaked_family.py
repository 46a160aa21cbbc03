"""Leaked-family detector: template families whose tasks, even fresh ones, suddenly pass for several submitters. Pure.

The statistic is a Bayes factor. Under the leak hypothesis some submitters know the family and pass each of its tasks
with probability 93 %, while the others pass as predicted from earlier months (past.py); the share of submitters who
know it is 30 %, 60 % or 100 %. Under the other hypothesis all pass as predicted, or one of the tasks is broken, which
is the finding of broken_task.py. Both leave open how difficult the tasks are (fresh ones above all), how they change
together, and whom the family suits; difficulties are integrated by Laplace's approximation (L. Tierney and J. Kadane,
*J. Amer. Statist. Assoc.* 81, 1986, 82-86). Who passes counts, not only how many: easy tasks pass for able submitters,
a leaked family for those who know it.

By Markov's inequality 1/factor bounds the p-value (G. Shafer et al., *Statist. Sci.* 26, 2011, 84-101). If the factor
is large enough, the tail itself is computed by importance sampling from the leak hypothesis (D. Siegmund, *Ann.
Statist.* 4, 1976, 673-684), with the same pseudo-random numbers each time, and two standard errors are added; for more
than a hundred submitters the bound is used. Subject: the family's name. Effect: the share of passes above the expected.

Source of the mixture: S. Sinharay, *J. Educ. Behav. Statist.* 42, 2017, 46-68, per family in place of a known set.

Not detected: a family with one live task; a family that nearly everybody passed before; a family that was known from
the first day; a family that a single submitter knows (leak.py detects that).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.detectors.prediction import Expected, expected
from rotation.detection.statistics import ability
from rotation.detection.statistics.sums import FEW, uniform_draws
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from rotation.detection.statistics.tails import MIN_P_VALUE

KIND = "family"
KNOWING = np.array([0.3, 0.6, 1.0])  # shares of submitters who know it, each as likely as the others
KNOWN = 0.93
MIN_PRIVATE_TASKS = 2
BROKEN = 0.003  # the chance that one task is broken
TELLING = 2.5  # log of the factor from which the tail is computed
DRAWS = 512
SURE = 2.0  # standard errors of the tail that are added to it
AT_ONCE = 1_000_000  # cells
ROUNDS = 12
CLOSE = 1e-3  # logits
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class _Family:
    """The prediction for S submitters on a family's M tasks.

    Attributes:
        easiness: (S, M) log odds of a pass, at the mean of the difficulty.
        slope: (S, M) factors that flatten them for the uncertainty of the submitter's bias on the task.
        kin: (S,) standard deviation of the submitter's bias on the family.
        spread: (M, M) covariance of how much easier the tasks may be.
        taken: (S, M).
    """

    easiness: Floats
    slope: Floats
    kin: Floats
    spread: Floats
    taken: Bools


def family(table: ResultTable, rotation: int) -> list[DetectorResult]:
    """Test every family with at least two live tasks, one of them with a past."""
    month = expected(table, rotation)
    of = table.family[month.tasks]
    above = ((month.passed - month.usual) * month.taken).sum(axis=0)
    tests = []
    for name in np.unique(of):
        tasks = np.flatnonzero(of == name)
        if len(tasks) >= MIN_PRIVATE_TASKS and not month.fresh[tasks].all():
            p_value = _p_value(_family(month, tasks), month.passed[:, tasks])
            effect = float(above[tasks].sum() / max(month.taken[:, tasks].sum(), 1))
            tests.append(DetectorResult(KIND, table.families[name], p_value, float(-ndtri(min(p_value, 0.5))), effect))
    return tests


def _family(month: Expected, tasks: Ints) -> _Family:
    slope = 1 / np.sqrt(1 + ability.LOGISTIC * month.own[:, tasks])
    change = sum(share * variance for share, variance in month.changes())
    spread = np.diag(month.unknown[tasks] + change) + change  # each alone, and all together
    return _Family(month.easiness[:, tasks], slope, np.sqrt(month.kin[:, tasks[0]]), spread, month.taken[:, tasks])


def _p_value(family_data: _Family, passed: Bools) -> float:
    """Return the probability of results at least as much like a leaked family, or an upper bound of it."""
    factor = float(_factor(family_data, passed[None])[0])
    if factor < TELLING or len(passed) > FEW:
        return float(np.clip(np.exp(-factor), MIN_P_VALUE, 1))
    drawn = _leaked(family_data)
    block = max(AT_ONCE // (4 * len(NODES) * passed.size), 1)
    factors = np.concatenate([_factor(family_data, drawn[start : start + block]) for start in range(0, DRAWS, block)])
    telling = np.append(np.exp(-factors) * (factors >= factor), np.exp(-factor))  # and one draw that just tells
    return max(float(telling.mean() + SURE * telling.std() / math.sqrt(DRAWS)), MIN_P_VALUE)


def _leaked(family_data: _Family) -> Bools:
    """Draw results (DRAWS, S, M) of a leaked family."""
    submitters, tasks = family_data.taken.shape
    draws = uniform_draws(DRAWS, submitters * (tasks + 2) + tasks)
    easier = ndtri(draws[:, :tasks]) @ np.linalg.cholesky(family_data.spread).T
    rest = draws[:, tasks:].reshape(DRAWS, submitters, tasks + 2)
    knows = rest[:, :, 0] < np.resize(KNOWING, DRAWS)[:, None]
    bias = NODES[np.searchsorted(np.cumsum(WEIGHTS)[:-1], rest[:, :, 1])]
    usual = expit(family_data.slope * (family_data.easiness + easier[:, None] + (family_data.kin * bias)[..., None]))
    passed: Bools = rest[:, :, 2:] < np.where(knows[..., None], KNOWN, usual)
    return passed & family_data.taken


def _factor(family_data: _Family, passed: Bools) -> Floats:
    """Return the log Bayes factors (B,) of results (B, S, M)."""
    known: Floats = np.where(passed, math.log(KNOWN), math.log(1 - KNOWN)) * family_data.taken
    usual = expit(family_data.slope * family_data.easiness)
    gain = (known - np.where(passed, np.log(usual), np.log1p(-usual)) * family_data.taken).sum(axis=1)
    odd = np.arange(passed.shape[2]) == gain.argmax(axis=1)[:, None]  # the task that is broken, if one is
    honest, broken, few, many = (
        _marginal(family_data, passed, known.sum(axis=2), share, counted)
        for share, counted in ((0.0, ~odd | odd), (0.0, ~odd), *((share, ~odd | odd) for share in KNOWING[:-1]))
    )
    broken += (known.sum(axis=1) * odd).sum(axis=1) + np.log(BROKEN * passed.shape[2])
    leaked = np.logaddexp(np.logaddexp(few, many), known.sum(axis=(1, 2))) - np.log(len(KNOWING))
    factor: Floats = leaked - np.logaddexp(honest, broken)
    return factor


def _marginal(family_data: _Family, passed: Bools, known: Floats, share: float, counted: Bools) -> Floats:
    """Return the log likelihoods (B,) of results (B, S, M) on the counted tasks (B, M) if a share knows the tasks.

    Args:
        known: (B, S) the log likelihood of a submitter's results if they know the tasks.
    """
    counted_cells = (family_data.taken & counted[:, None])[..., None]
    sign = np.where(passed, family_data.slope, -family_data.slope)[..., None] * counted_cells
    level = family_data.easiness[..., None] + family_data.kin[:, None, None] * NODES
    precision = np.linalg.inv(family_data.spread)
    easier = np.zeros((len(passed), passed.shape[2]))
    for _ in range(ROUNDS):
        chance = expit(sign * (level + easier[:, None, :, None]))  # (B, S, M, G); a half where nothing counts
        likelihood = np.where(counted_cells, chance, 1).prod(axis=2) * WEIGHTS
        usual = likelihood.sum(axis=2)
        total = (1 - share) * usual + share * np.exp(known)
        at = likelihood * ((1 - share) / total)[..., None]
        pull = sign * (1 - chance)
        pulls = (pull * at[:, :, None]).sum(axis=3)
        stiff = (sign * pull * chance * at[:, :, None]).sum(axis=(1, 3))
        information = precision + stiff[:, :, None] * np.eye(stiff.shape[1])
        step = np.linalg.solve(information, (pulls.sum(axis=1) - easier @ precision)[..., None])[..., 0]
        if np.abs(step).max(initial=0) < CLOSE:
            break
        easier = easier + np.clip(step, -ability.MAX_STEP_LOGITS, ability.MAX_STEP_LOGITS)
    swing = np.einsum("bsmg,bsng->bmn", pull * at[:, :, None], pull) - np.einsum("bsm,bsn->bmn", pulls, pulls)
    right, size = np.linalg.slogdet(family_data.spread @ (information - swing))
    size = np.where(right > 0, size, np.linalg.slogdet(family_data.spread @ information)[1])
    prior = np.einsum("bm,mn,bn->b", easier, precision, easier)
    likely: Floats = np.log(total).sum(axis=1) - (prior + size) / 2
    return likely
