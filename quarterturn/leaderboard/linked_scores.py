"""Linked scores: the share of the earliest month's set that a run's ability would pass, beside its raw score.

Raw scores rank, within a month; linked scores compare months. Both are over all of a run's tasks, like the
leaderboard's `whole` figure, and rounded like everything that is shown of private tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.app import Application
from quarterturn.leaderboard.scores import half_point
from quarterturn.leaderboard.standings import LeaderboardLine
from rotation.calendar import Month

Scores = Mapping[int, Mapping[str, Any]]
NAMES = ("raw", "linked")


def of_month(house: Application, month: Month) -> Scores:
    """Give the raw and the linked score of each of the month's runs, by its number; later months move none of them."""
    from rotation.detection.report.figures import scores  # noqa: PLC0415 - numpy is slow to load, and seldom needed
    from rotation.detection.statistics.linking import link  # noqa: PLC0415 - likewise

    if not house.months.cohorts():
        return {}
    looking = house.sealed_results
    rotation = month.since(looking.start()) + 1
    withdrawn = {entry.task for entry in house.withdrawals.listed()}
    table = looking.table(f"linked board of {month}", withdrawn).until(rotation)
    return {
        int(row["run"]): {name: {end: half_point(share) for end, share in row[name].items()} for name in NAMES}
        for row in (scores(link(table)) if table.last == rotation else [])
        if row["rotation"] == rotation
    }


def lines(leaderboard: Sequence[LeaderboardLine], linked: Scores) -> list[str]:
    """Draw the scores as text, the best linked one first."""
    rows = [(line, linked[line.run]) for line in leaderboard if line.run is not None and line.run in linked]
    if not rows:
        return ["no run of this month can be linked"]
    ordered = sorted(rows, key=lambda pair: (-(pair[1]["linked"]["value"] or 0), pair[0].name))
    head = f"{'agent':<14} {'linked':<24} raw"
    return [
        head,
        *(
            f"{line.name:<14} {_cell(figures['linked']):<24} {_cell(figures['raw'])}".rstrip()
            for line, figures in ordered
        ),
    ]


def _cell(figure: Mapping[str, float | None]) -> str:
    value, low, high = (figure[name] for name in ("value", "low", "high"))
    if value is None:
        return "-"
    between = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:5.1f} %{between}"
