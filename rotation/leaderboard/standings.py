"""Leaderboard lines: the figures, interval and rank of each run of a month. Pure.

Ranked figures are over the sealed cohorts; the sunset cohort's stand beside them. A track that is served the
sunset cohort alone is ranked on that. Runs in a box that is not official, runs with an unknown verdict and the
reference agent have no rank. What it shows of live tasks is rounded: figures to half a point, counts that an agent can
move to their first digit. Ranks are made from the rounded figures alone, so whoever has a leaderboard can rank it
again.

Of a party's runs in a track the first that was served a task counts, however it ends; the number of its runs is shown
beside it. Choosing among several runs, or leaving out one that went badly, would measure luck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rotation.exposure.tracks import TRACKS, UNOFFICIAL
from rotation.leaderboard.figures import Scores, rounded, score_of
from sandbox.results.score import Result, Score, rank, score
from sandbox.runs.store import RunRecord

RankRange = tuple[int, int]
"""The best and the worst rank that the intervals allow."""


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """One line of the leaderboard.

    Attributes:
        submitter: the pseudonym of whoever answers for it.
        name: the submission; two submitters may give theirs the same name.
        track: the track in which it is ranked.
        run: the run's number, or None for the reference agent.
        rank_range: the best and the worst rank that the intervals allow, or None: 1 + the number of submissions whose
            interval lies above this one's, and the number of those whose interval does not lie below it.
        whole: the score over all cohorts that the run was given.
        sealed: the score over the cohorts that stay sealed after the next turn.
        ranked_on: the part whose success rate is ranked: `sealed`, but in a track that is given no sealed cohort.
        note: why there is no rank, or "".
        runs: how many runs of the month the party made in this track.
        sunset: the score over the cohort that the next turn opens, or None where it is not told.
    """

    submitter: str
    name: str
    track: str
    run: int | None
    rank_range: RankRange | None
    whole: Score
    sealed: Score
    ranked_on: Literal["sealed", "whole"] = "sealed"
    note: str = ""
    runs: int = 1
    sunset: Score | None = None

    @property
    def rank(self) -> int | None:
        """The best rank that the intervals allow, or None."""
        return self.rank_range[0] if self.rank_range else None

    @property
    def ranked(self) -> Score:
        """The score whose success rate is ranked."""
        return self.whole if self.ranked_on == "whole" else self.sealed

    def as_json(self) -> dict[str, Any]:
        """Return the line as plain JSON values, rounded as it is shown."""
        return {
            "submitter": self.submitter,
            "name": self.name,
            "track": self.track,
            "run": self.run,
            "rank": self.rank,
            "rank_range": list(self.rank_range) if self.rank_range else None,
            "ranked_on": self.ranked_on,
            "note": self.note,
            "runs": self.runs,
            "whole": rounded(self.whole),
            "sealed": rounded(self.sealed),
            "sunset": rounded(self.sunset) if self.sunset else None,
        }


def counting(made: Sequence[RunRecord], served: Sequence[int], parties: Mapping[str, str]) -> set[int]:
    """Choose the runs that count, one a party and track; runs that are never ranked are all shown.

    Args:
        made: the runs of a month, ended or not.
        served: their numbers, as far as they were served a task, in the order in which they first were.
        parties: the party of each account that shares one; any other submitter is a party of its own.
    """
    chosen: dict[tuple[str, str], int] = {}
    records = {record.number: record for record in made}
    for record in (records[number] for number in served):
        if _may_rank(record):
            chosen.setdefault((parties.get(record.submitter, record.submitter), record.track), record.number)
    return {record.number for record in made if not _may_rank(record)} | set(chosen.values())


def lines(scored: Sequence[tuple[RunRecord, Scores]]) -> list[LeaderboardLine]:
    """Make the lines of runs whose figures are known."""
    ranked = [_ranked(of, reads=_reads(record)) for record, of in scored]
    ranges = _rank_ranges([record for record, _ in scored], ranked)
    made = [
        LeaderboardLine(
            submitter=record.submitter,
            name=record.name,
            track=record.track,
            run=record.number,
            rank_range=rank_range,
            whole=of["whole"],
            sealed=of["sealed"],
            ranked_on="whole" if _reads(record) else "sealed",
            note=_note(record, by),
            sunset=of.get("sunset"),
        )
        for (record, of), rank_range, by in zip(scored, ranges, ranked, strict=True)
    ]
    return sorted(made, key=_order)


def reference_line(name: str, results: Sequence[Result]) -> LeaderboardLine:
    """Make the line of the reference agent: shown, and never ranked."""
    figures = score_of(rounded(score(results)))
    return LeaderboardLine("reference", name, "reference", None, None, figures, figures, note="reference, unranked")


def _ranked(of: Scores, *, reads: bool) -> Score:
    """Return the part that is ranked; an unknown verdict anywhere leaves the run without a rank."""
    return of["whole"] if reads else replace(of["sealed"], ranked=of["sealed"].ranked and of["whole"].ranked)


def _order(line: LeaderboardLine) -> tuple[str, bool, int, float, str]:
    """Order lines by track; within one by rank, then by the success rate that is ranked, those without a rank last."""
    return line.track, line.rank is None, line.rank or 0, -(line.ranked.success_rate.value or 0), line.name


def _rank_ranges(records: Sequence[RunRecord], scores: Sequence[Score]) -> list[RankRange | None]:
    """Return the best and the worst rank of each within its track; tracks never share one."""
    ranges: list[RankRange | None] = [None] * len(records)
    for track in {record.track for record in records}:
        members = [i for i, record in enumerate(records) if record.track == track and _may_rank(record)]
        best = zip(members, rank([scores[i] for i in members]), strict=True)
        places = {i: place for i, place in best if place is not None}
        for i, place in places.items():
            low = scores[i].success_rate.low
            below = sum(_is_below(scores[other].success_rate.high, low) for other in places)
            ranges[i] = (place, len(places) - below)
    return ranges


def _is_below(high: float | None, low: float | None) -> bool:
    return high is not None and low is not None and high < low


def _reads(record: RunRecord) -> bool:
    return record.track in TRACKS and TRACKS[record.track].read


def _may_rank(record: RunRecord) -> bool:
    return record.official and record.track in TRACKS and TRACKS[record.track].ranked


def _note(record: RunRecord, ranked: Score) -> str:
    if not _may_rank(record):
        return UNOFFICIAL.name
    return "" if ranked.ranked else "a verdict is unknown"
