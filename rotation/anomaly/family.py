"""Template families whose tasks suddenly pass for several submitters, fresh ones too. Pure.

T = sum over submitters of log(1 - h + h LR), where LR is the likelihood ratio of a submitter's number of passes in the
family under "passes each with 95 %" against what the months before let expect (past.py), and h = .3 the share of
submitters who know it. The tail is exact given the tasks' difficulties and averaged over what is unknown of them, along
the direction in which all get easier by quadrature, across it by a low-discrepancy sequence. One single task of the
family may be broken, with a small chance each: that is the finding of task.py. Subject: the family's name. Effect: the
share of passes above what was expected.

Source of the mixture: S. Sinharay, *J. Educ. Behav. Statist.* 42, 2017, 46-68, per family in place of a known set.

What it cannot see: a family with one live task; a family that nearly everybody passed before; a family that was known
from the first day; a family that a single submitter knows (leak.py sees that).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr, ndtri
from scipy.stats import qmc

from rotation.anomaly.past import Expected, expected
from rotation.anomaly.sums import fewer, reach, set_right
from rotation.anomaly.table import Floats, Ints, Table
from rotation.anomaly.tested import Tested

KIND = "family"
KNOWING = 0.3
KNOWN = 0.95
FEWEST = 2  # live tasks
BROKEN = 0.02  # the chance that one task is broken
MOST_BROKEN = 0.2
ALL_PASS = 0.97
TOGETHER = 0.04  # the variance by which a whole family may change from month to month, in logits^2


def family(table: Table, rotation: int) -> list[Tested]:
    """Test every family with at least two live tasks, one of them with a past."""
    month = expected(table, rotation)
    of = table.family[month.tasks]
    groups = [(name, np.flatnonzero(of == name)) for name in np.unique(of)]
    groups = [(name, tasks) for name, tasks in groups if len(tasks) >= FEWEST and not month.fresh[tasks].all()]
    tails = np.array([_tail(month, tasks) for _, tasks in groups])
    z = set_right(-ndtri(np.clip(tails, 1e-15, 1 - 1e-12)))
    usual = month.chances(np.zeros((1, len(month.tasks))))[0]
    above = ((month.passed - usual) * month.taken).sum(axis=0)
    return [
        Tested(
            KIND,
            table.families[name],
            float(ndtr(-one)),
            float(one),
            float(above[tasks].sum() / max(month.taken[:, tasks].sum(), 1)),
        )
        for (name, tasks), one in zip(groups, z, strict=True)
    ]


def _tail(month: Expected, tasks: Ints) -> float:
    """Give the chance of results at least as much like a leaked family."""
    taken = month.taken[:, tasks]
    count = taken.sum(axis=1)
    places = np.arange(len(tasks) + 1)
    seen = (places == (month.passed[:, tasks] & taken).sum(axis=1)[:, None]) * (count > 0)[:, None].astype(float)
    easier, weights = _points(month.unknown[tasks], len(taken))
    offsets = np.zeros((len(easier) + 1, len(month.tasks)))
    offsets[1:, tasks] = easier
    chance = month.chances(offsets)[:, :, tasks]
    usual = _passes(chance[:1], taken)[0]
    knowing = np.exp(
        gammaln(count[:, None] + 1)
        - gammaln(places + 1)
        - gammaln(np.maximum(count[:, None] - places, 0) + 1)
        + places * np.log(KNOWN)
        + (count[:, None] - places) * np.log(1 - KNOWN)
    ) * (places <= count[:, None])
    values = np.log1p(KNOWING * (np.minimum(knowing / np.maximum(usual, 1e-12), 1e6) - 1))
    one = min(BROKEN, MOST_BROKEN / len(tasks))
    total = (1 - one * len(tasks)) * float(weights @ reach(values, _passes(chance[1:], taken), seen))
    for place in range(len(tasks)):
        broken = chance[1:].copy()
        broken[:, :, place] = np.maximum(broken[:, :, place], ALL_PASS)
        total += one * float(weights @ reach(values, _passes(broken, taken), seen))
    return total


def _points(unknown: Floats, submitters: int) -> tuple[Floats, Floats]:
    """Give points (K, M) by which tasks may be easier than expected, and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(fewer(submitters, 3, 11))
    sd = np.sqrt(unknown)
    along = sd / np.linalg.norm(sd)
    across = ndtri((qmc.Sobol(len(sd), scramble=False).random_base2(fewer(submitters, 0, 3)) + 1 / 16) % 1)
    across = across - (across @ along)[:, None] * along
    together = np.sqrt(unknown.mean() + TOGETHER * len(sd)) / np.sqrt(unknown.mean())
    points = nodes[:, None, None] * along * together + across
    each = np.repeat(weights / weights.sum(), len(across)) / len(across)
    return points.reshape(-1, len(sd)) * sd, each


def _passes(chance: Floats, taken: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """Give the chances (K, S, M + 1) of each number of passes, from those of each task (K, S, M)."""
    masses = np.zeros((*chance.shape[:2], chance.shape[2] + 1))
    masses[..., 0] = 1
    for place in range(chance.shape[2]):
        one = (chance[:, :, place] * taken[:, place])[..., None]
        masses = masses * (1 - one) + np.concatenate([np.zeros_like(one), masses[..., :-1]], axis=2) * one
    return masses
