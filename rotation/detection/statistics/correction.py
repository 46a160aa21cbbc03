"""Multiple-testing corrections of p-values (Holm; Benjamini and Hochberg), and their combination (Fisher). Pure.

Sources. S. Holm, *Scand. J. Statist.* 6, 1979, 65-70; Y. Benjamini and Y. Hochberg, *J. Roy. Statist. Soc. B* 57, 1995.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import combine_pvalues, false_discovery_control

from rotation.detection.statistics.table import Floats


def holm(p_values: Floats) -> Floats:
    """Adjust p-values (N,) by Holm's method: it controls the family-wise error rate under any dependence."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjust p-values (N,) by the method of Benjamini and Hochberg: it controls the false discovery rate."""
    return np.array(false_discovery_control(p_values)) if len(p_values) else p_values


def fisher(*p_values: float) -> float:
    """Combine p-values of independent tests by Fisher's method: -2 times the sum of their logarithms is a chi-square.

    Source: R. A. Fisher, *Statistical Methods for Research Workers*, 4th ed., 1932, section 21.1.
    """
    return float(combine_pvalues(p_values, method="fisher").pvalue)
