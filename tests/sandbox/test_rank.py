"""Ranks at the edge: intervals that touch overlap, and only a gap between them puts one agent after another."""

from __future__ import annotations

from dataclasses import replace

from sandbox.interval import Figure
from sandbox.score import Score, rank, score


def between(low: float, high: float) -> Score:
    return replace(score([]), success_rate=Figure((low + high) / 2, 20, low, high), ranked=True)


def test_intervals_that_touch_share_a_rank():
    assert rank([between(0.4, 0.6), between(0.6, 0.8)]) == [1, 1]
    assert rank([between(0.4, 0.6), between(0.61, 0.8)]) == [2, 1]
