"""Multiple-testing corrections of p-values: Holm, and Benjamini and Hochberg. Pure.

Sources. S. Holm, *Scand. J. Statist.* 6, 1979, 65-70; Y. Benjamini and Y. Hochberg, *J. Roy. Statist. Soc. B* 57, 1995.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

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
