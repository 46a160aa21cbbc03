"""Gap test: do runs do better on all exposed tasks than on fresh ones, beside what the field shows? Pure.

The gap is the shift, in logits, of a run's results on exposed tasks, where its ability and the effect of difficulty on
it are free. It is the score estimate of that shift in the Rasch model, one Newton step from no gap, summed over the
runs of some months.

Its chance variance is computed from the residuals themselves, summed by task before they are squared (H. White,
*Econometrica* 48, 1980, 817-838; clusters: K.-Y. Liang and S. Zeger, *Biometrika* 73, 1986, 13-22). So a task that
suits a submitter every month counts once, repeated results too, and shares of several samples have the smaller variance
that they show. The null is that of `field_null`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotation.detection.detectors.field_null import MIN_SUBMITTERS, FieldNull, learn
from rotation.detection.statistics.table import Bools, Floats, Ints
from rotation.detection.statistics.tails import SMALLEST

SLOPE_PRECISION = 1.0  # of the prior of the effect of difficulty, 1/logits^2
LEAST_INFORMATION = 1.0  # about a gap, 1/logits^2; below, results tell nothing of it
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

    def of(self, runs: Ints) -> Gap:
        """Return the gap that these runs have in common."""
        information = float(self.information[runs].sum())
        if information < LEAST_INFORMATION:
            return Gap(0.0, np.inf)
        by_task = self.score[runs].sum(axis=0)
        variance = max(float((by_task**2).sum()), LEAST_SHARE * information) / information**2
        return Gap(float(by_task.sum()) / information, variance)


def gaps(exposed: Bools, residual: Floats, weight: Floats, difficulty: Floats) -> Gaps:
    """Return the gaps of all runs, free of what a level and a slope in difficulty explain. All are (P, T).

    Args:
        exposed: which tasks each submitter could have known.
        residual: passes, or shares of passes, beyond what the model without a gap expects; 0 where a run has none.
        weight: their variances; 0 likewise.
        difficulty: of the tasks, in logits.
    """
    sums = [(weight * part).sum(axis=1) for part in (1, difficulty, difficulty**2, exposed, exposed * difficulty)]
    total, first, second, of_exposed, of_both = sums
    total, second = total + 1e-6, second + SLOPE_PRECISION
    spread = total * second - first**2
    level, slope = (second * of_exposed - first * of_both) / spread, (total * of_both - first * of_exposed) / spread
    contrast = exposed - level[:, None] - slope[:, None] * difficulty
    return Gaps(contrast * residual, (weight * contrast**2).sum(axis=1))


def null_of(field: list[Gap], usual: float) -> FieldNull | None:
    """Return the null of the gaps of a field; None where fewer than ten tell anything."""
    told = [gap for gap in field if np.isfinite(gap.variance)]
    if len(told) < MIN_SUBMITTERS:
        return None
    return learn(np.array([gap.estimate for gap in told]), np.array([gap.variance for gap in told]), usual)


def p_value(null: FieldNull | None, gap: Gap) -> float:
    """Return the p-value of a gap; 1 where there is no null, or no gap to tell."""
    if null is None or not np.isfinite(gap.variance):
        return 1.0
    return max(null.tail(gap.estimate, gap.variance), SMALLEST)
