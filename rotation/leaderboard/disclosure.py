"""Disclosure of a private run's figures while its tasks are live: new only where they differ from noise. Pure.

Asking for figures again and again, with answers changed a little each time, would reveal the tasks by the differences.
So a later run of the same party, month and track is shown the figures of the one before, except where its own differ by
more than their standard error: the Ladder of Blum and Hardt (2015, https://arxiv.org/abs/1502.04585). Linked accounts
share one ladder. It works on the figures rounded to half a point: what rounding removed is not disclosed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rotation.leaderboard.figures import FIGURES, PARTS, rounded
from sandbox.results.score import Figure, Score

_BOTH_SIDES = 2 * 1.959964  # from the ends of a 95 % interval to the standard error

Disclosed = Mapping[str, Any]
"""The disclosed figures of a run by part, as plain JSON values."""


def ladder(earlier: Disclosed | None, fresh: Mapping[str, Score]) -> dict[str, Any]:
    """Return the figures to disclose for `fresh` after `earlier` was disclosed."""
    disclosed: dict[str, Any] = {}
    for part in PARTS:
        disclosed[part] = rounded(fresh[part])
        for name in FIGURES:
            before = earlier[part][name] if earlier else None
            if before is not None and not _new(before, getattr(fresh[part], name)):
                disclosed[part][name] = before
    return disclosed


def _new(before: Mapping[str, Any], now: Figure) -> bool:
    """Say whether a figure differs from the disclosed one by more than its standard error."""
    if before["value"] is None or now.value is None or now.low is None or now.high is None:
        return True
    error = (now.high - now.low) / _BOTH_SIDES
    return abs(now.value - float(before["value"])) > error
