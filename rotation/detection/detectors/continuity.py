"""Continuity: how far a submitter's earlier runs speak of a later one, told by what their results have in common. Pure.

A submitter may submit another agent. Its habits on tasks are then not those of the earlier one, and a prediction from
these would be wrong on many tasks at once. Where habits last, the residuals of two runs on the same task have a
positive product, as large as the variance of habits. The share of it that a run and the runs before it have is
estimated from this run's products, of passes and of calls. Nine in ten runs are thought to keep all of their habits,
any share is as likely as another for the rest. Where nobody has habits the products tell nothing, and a prediction from
earlier runs hardly depends on them.

Source: regression on a mixture prior, T. J. Mitchell and J. J. Beauchamp, *J. Amer. Statist. Assoc.* 83, 1988,
1023-1032.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Floats, ResultTable

SAME = 0.9  # the chance that a run keeps all habits
SHARES = np.linspace(0, 1, 11)  # of the habits that a run may keep
ROUNDS = 3  # in which the chance is estimated
RUNS = 20.0  # as many runs are the first guess of it worth
PRIOR = np.append(np.full(len(SHARES) - 1, (1 - SAME) / (len(SHARES) - 1)), SAME)


@dataclass(frozen=True)
class Residuals:
    """What P runs did on T tasks beyond what their peers predict, as scores of a lasting habit on the task.

    Attributes:
        score: (P, T) 0 where there is no result.
        information: (P, T) about the habit.
        habit: (P,) the variance of the submitter's lasting habits.
        unknown: (P, T) the variance of what is wrong in the peers' prediction, in all runs of a submitter alike.
    """

    score: Floats
    information: Floats
    habit: Floats
    unknown: Floats

    def kept(self, run: int, before: Floats) -> tuple[float, float]:
        """Return score and information of the share of habits that a run keeps.

        Args:
            run: the run.
            before: (P,) how much each earlier run counts for it.
        """
        score, information = before @ self.score, before @ self.information
        both = self.information[run] * information
        habit, unknown = self.habit[run], self.unknown[run]
        total = habit + unknown
        spread = both * (1 + total * self.information[run]) * (1 + total * information)
        weight = np.where(both > 0, habit * both / np.where(both > 0, spread, 1), 0)
        return (
            float((weight * (self.score[run] * score - unknown * both)).sum()),
            float((weight * habit * both).sum()),
        )


def earlier_runs(table: ResultTable) -> Floats:
    """Return (P, P) 1 where the second run is an earlier one of the same submitter, else 0."""
    own = table.submitter[:, None] == table.submitter
    counts: Floats = (own & (table.rotation[:, None] > table.rotation)).astype(float)
    return counts


def continuity(table: ResultTable, *kinds: Residuals) -> Floats:
    """Return (P, P) how much the results of an earlier run of the same submitter count for a run: 0 to 1."""
    prior = PRIOR
    for _ in range(ROUNDS):
        counts, shares = _counts(table, kinds, prior)
        prior = (shares.sum(axis=0) + RUNS * PRIOR) / (len(shares) + RUNS)
        prior[:-1] = prior[:-1].mean()
    return counts


def _counts(table: ResultTable, kinds: Sequence[Residuals], prior: Floats) -> tuple[Floats, Floats]:
    """Return that, and the posterior of the share that each run with a past keeps."""
    counts, shares = earlier_runs(table), []
    for run in np.argsort(table.rotation, kind="stable"):
        past = np.flatnonzero(counts[run])
        if len(past):
            latest = past[np.argmax(table.rotation[past])]
            before = counts[latest].copy()
            before[past[table.rotation[past] == table.rotation[latest]]] = 1
            score, information = np.array([kind.kept(int(run), before) for kind in kinds]).sum(axis=0)
            logs = SHARES * score - SHARES**2 * information / 2
            weights = prior * np.exp(logs - logs.max())
            shares.append(weights / weights.sum())
            counts[run] = before * (shares[-1] @ SHARES) ** 2
    return counts, np.array(shares).reshape(-1, len(SHARES))
