"""Pass@K: the chance that at least one of k trials of a task passes, without bias from n of them.

1 - C(n - c, k) / C(n, k) for c passes in n trials (M. Chen et al., *Evaluating Large Language Models Trained on Code*,
arXiv 2107.03374, equation 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from statistics import stdev


def pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    """Return Pass@K of one task; None where there were fewer than k trials, or none."""
    if not 0 <= c <= n:
        raise ValueError(f"{c} passes of {n} trials")
    if k < 1 or n < k:
        return None
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def spread(rates: Sequence[float]) -> float | None:
    """Return the sample standard deviation of the success rate between trials; None for fewer than two trials."""
    return stdev(rates) if len(rates) > 1 else None
