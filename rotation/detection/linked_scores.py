"""Linked scores: the share of the earliest month's set that a run's ability would pass, beside its raw score.

Raw scores rank, within a month; linked scores compare months. Both are over all of a run's tasks, like the
leaderboard's `whole` figure, and rounded like everything that is shown of private tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rotation.calendar import Month
from rotation.detection.sealed_results import SealedResults
from rotation.leaderboard.figures import half_point
from rotation.month.store import MonthStore
from rotation.runs.withdrawal import Withdrawals

Scores = Mapping[int, Mapping[str, Any]]
NAMES = ("raw", "linked")


def linked_scores(results: SealedResults, months: MonthStore, withdrawals: Withdrawals, month: Month) -> Scores:
    """Return the raw and the linked score of each run of the month, by its number; later months move none."""
    from rotation.detection.report.figures import scores  # noqa: PLC0415 - numpy is slow to load, and seldom needed
    from rotation.detection.statistics.linking import link  # noqa: PLC0415 - likewise

    if (start := months.first()) is None:
        return {}
    rotation = month.since(start) + 1
    broken = {entry.task for entry in withdrawals.uncounted()}
    table = results.table(f"linked board of {month}", results.runs(month), broken)
    return {
        int(row["run"]): {name: {end: half_point(share) for end, share in row[name].items()} for name in NAMES}
        for row in (scores(link(table)) if table.last == rotation else [])
        if row["rotation"] == rotation
    }
