"""Tests of p-values corrected for multiple testing."""

import numpy as np
from scipy.stats import false_discovery_control

from rotation.detection.statistics.correction import benjamini_hochberg, holm


def test_holm_steps_down_and_never_falls_back():
    assert np.allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    assert holm(np.array([0.6, 0.9])).tolist() == [1, 1]


def test_one_test_is_not_corrected_and_none_is_no_mistake():
    assert holm(np.array([0.02])).tolist() == [0.02]
    assert holm(np.empty(0)).tolist() == benjamini_hochberg(np.empty(0)).tolist() == []


def test_equal_p_values_are_adjusted_alike_in_any_order():
    p_values = np.array([0.02, 0.5, 0.02, 0.001])
    turned = np.array([3, 0, 2, 1])
    assert np.array_equal(holm(p_values)[turned], holm(p_values[turned]))
    assert np.allclose(benjamini_hochberg(p_values), false_discovery_control(p_values))
