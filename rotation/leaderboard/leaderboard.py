"""Leaderboard of a month: which runs count, and their lines, from the stored figures alone. Opens no result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from rotation.calendar import Month
from rotation.exposure.store import Exposures
from rotation.leaderboard.standings import LeaderboardLine, counting, lines
from rotation.leaderboard.store import ScoreStore
from sandbox.runs.store import Runs, RunState


class Leaderboard:
    """Reads leaderboards.

    Args:
        scores: the figures of closed runs.
        runs: the runs.
        exposures: which runs were served a task.
        parties: gives the party of each account that shares one.
    """

    def __init__(
        self, scores: ScoreStore, runs: Runs, exposures: Exposures, parties: Callable[[], Mapping[str, str]]
    ) -> None:
        self._scores, self._runs, self._exposures, self._parties = scores, runs, exposures, parties

    def of_month(self, month: Month) -> list[LeaderboardLine]:
        """Return the month's lines, by track, best first."""
        made, parties, known = self._runs.list(month=str(month)), self._parties(), self._scores.of_month(str(month))
        counted = counting(made, self._exposures.runs(str(month)), parties)
        done = [record for record in made if record.state is RunState.DONE and record.number in counted]
        whose = {record.number: (parties.get(record.submitter, record.submitter), record.track) for record in made}
        runs = Counter(whose.values())
        leaderboard = lines([(record, known[record.number].scores) for record in done if record.number in known])
        return [replace(line, runs=runs[whose[line.run]]) if line.run else line for line in leaderboard]
