"""Leaderboard: every run of a month with its figures, intervals and rank.

Ranked figures are over the three sealed cohorts; the sunset cohort's stand beside them. A track that is served the
sunset cohort alone is ranked on that. Runs in a box that is not official, runs with an unknown verdict and the
reference agent have no rank. What it shows of private tasks is rounded: figures to half a point, counts that an agent
can move to their first digit. It and its ranks are made from the rounded figures alone
(`quarterturn.leaderboard.scores`).

Of a party's runs in a track the first that was served a task counts, however it ends; the number of its runs is shown
beside it. Choosing among several runs, or leaving out one that went badly, would measure luck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quarterturn.leaderboard import scores
from quarterturn.leaderboard.scores import FIGURES, Scores, half_point, rounded, score_of
from rotation.calendar import Month
from rotation.exposure.tracks import TRACKS, UNOFFICIAL
from sandbox.results.score import Figure, Result, Score, rank, score
from sandbox.runs.store import RunRecord, RunState

if TYPE_CHECKING:
    from quarterturn.app import Application


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """One line of the leaderboard.

    Attributes:
        name: the submission.
        track: the track in which it is ranked.
        run: the run's number, or None for the reference agent.
        rank: 1 + the number of submissions whose interval lies above this one's, or None.
        whole: the score over all cohorts that the run was given.
        sealed: the score over the cohorts that stay sealed after the next turn. It is what is ranked, but for a track
            that is given none of them: of that the whole is.
        note: why there is no rank, or "".
        runs: how many runs of the month the party made in this track.
        sunset: the score over the cohort that the next turn opens, or None where it is not told.
    """

    name: str
    track: str
    run: int | None
    rank: int | None
    whole: Score
    sealed: Score
    note: str = ""
    runs: int = 1
    sunset: Score | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the line as plain JSON values, rounded as it is shown."""
        return {
            "name": self.name,
            "track": self.track,
            "run": self.run,
            "rank": self.rank,
            "note": self.note,
            "runs": self.runs,
            "whole": rounded(self.whole),
            "sealed": rounded(self.sealed),
            "sunset": rounded(self.sunset) if self.sunset else None,
        }


def of_month(house: Application, month: Month) -> list[LeaderboardLine]:
    """Give the month's lines, best first within a track."""
    made = house.runs.list(month=str(month))
    done = [r for r in made if r.state is RunState.DONE]
    parties = house.accounts.parties()
    counted = counting(made, house.exposures.runs(str(month)), parties)
    known_scores = scores.of_runs(house, [r for r in done if r.number in counted])
    whose = {r.number: (parties.get(r.submitter, r.submitter), r.track) for r in made}
    runs = Counter(whose.values())
    leaderboard = lines([(r, known_scores[r.number]) for r in done if r.number in counted])
    return [replace(line, runs=runs[whose[line.run]]) if line.run else line for line in leaderboard]


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
    ranks = _ranks([record for record, _ in scored], ranked)
    made = [
        LeaderboardLine(
            name=record.name,
            track=record.track,
            run=record.number,
            rank=place,
            whole=of["whole"],
            sealed=of["sealed"],
            note=_note(record, by),
            sunset=of.get("sunset"),
        )
        for (record, of), place, by in zip(scored, ranks, ranked, strict=True)
    ]
    return sorted(made, key=lambda line: (line.track, -(line.whole.success_rate.value or 0), line.name))


def reference_line(name: str, results: Sequence[Result]) -> LeaderboardLine:
    """Make the line of the reference agent: shown, and never ranked."""
    figures = score_of(rounded(score(results)))
    return LeaderboardLine(name, "reference", None, None, figures, figures, "reference, unranked")


def table(leaderboard: Sequence[LeaderboardLine]) -> list[str]:
    """Draw the leaderboard as text; every figure has its interval."""
    if not leaderboard:
        return ["no run of this month is finished"]
    head = f"{'rank':>4}  {'agent':<14} {'success rate':<24} {'calls used':<22} {'hallucinated':<22} {'recovery':<22}"
    return [head, *(_row(line) for line in leaderboard)]


def _ranked(of: Scores, *, reads: bool) -> Score:
    """Give the part that is ranked; an unknown verdict anywhere leaves the run without a rank."""
    return of["whole"] if reads else replace(of["sealed"], ranked=of["sealed"].ranked and of["whole"].ranked)


def _ranks(records: Sequence[RunRecord], scores: Sequence[Score]) -> list[int | None]:
    """Rank within each track; tracks never share one."""
    places: list[int | None] = [None] * len(records)
    for track in {record.track for record in records}:
        members = [i for i, record in enumerate(records) if record.track == track and _may_rank(record)]
        for i, place in zip(members, rank([scores[i] for i in members]), strict=True):
            places[i] = place
    return places


def _reads(record: RunRecord) -> bool:
    return record.track in TRACKS and TRACKS[record.track].read


def _may_rank(record: RunRecord) -> bool:
    return record.official and record.track in TRACKS and TRACKS[record.track].ranked


def _note(record: RunRecord, ranked: Score) -> str:
    if not _may_rank(record):
        return UNOFFICIAL.name
    return "" if ranked.ranked else "a verdict is unknown"


def _row(line: LeaderboardLine) -> str:
    cells = [_cell(getattr(line.whole, name)) for name in FIGURES]
    place = str(line.rank) if line.rank is not None else "-"
    parts = [line.note] if line.track in line.note else [line.track, line.note]
    note = f"  {', '.join(part for part in parts if part)}"
    return f"{place:>4}  {line.name:<14} {cells[0]:<24} {cells[1]:<22} {cells[2]:<22} {cells[3]:<22}{note}".rstrip()


def _cell(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    value, low, high = (100 * (half_point(part) or 0.0) for part in (figure.value, figure.low, figure.high))
    return f"{value:5.1f} % [{low:.1f}, {high:.1f}]"
