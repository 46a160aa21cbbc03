"""Response models of documents that other packages write, for the description: figures, leaderboards, findings, turns.

A document may have more members than its model names; those that are named are always there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class Figure(BaseModel):
    """A figure with its interval; null where nothing was counted."""

    value: float | None
    low: float | None
    high: float | None
    n: int = Field(description="About how many observations it rests on.")


class Figures(BaseModel):
    """The rounded figures of a part of a run."""

    success_rate: Figure
    efficiency: Figure
    hallucinated_tool_rate: Figure
    recovery_rate: Figure
    attempted: int
    unknown: int
    spec: str = Field(description="Version of the benchmark's specification.")


class Disclosed(BaseModel):
    """The disclosed figures of a private run."""

    whole: Figures = Field(description="Over all cohorts.")
    sealed: Figures = Field(
        description="Over the cohorts that stay sealed after the next turn: the success rate alone."
    )


class LeaderboardLineShape(BaseModel):
    """A run on the leaderboard."""

    submitter: str
    name: str = Field(description="Of the agent: the image's repository or the endpoint's host.")
    display_name: str | None = Field(description="The name that its owner chose and that it has now.")
    track: str
    run: int | None
    rank: int | None
    ranked_on: Literal["sealed", "whole"]
    note: str
    runs: int | None
    whole: Figures
    sealed: Figures
    sunset: Figures | None


class LeaderboardChange(BaseModel):
    """A change of the set within the month, as the public log has it."""

    kind: str
    subject: str
    leaf: int
    tasks: int
    cause: str | None
    why: str


class LeaderboardShape(BaseModel):
    """A month's leaderboard."""

    month: str
    sunset: str | None
    lines: list[LeaderboardLineShape]
    changes: list[LeaderboardChange]
    public_grammar: list[str] = Field(description="The cohorts whose tasks come from public grammars.")


class BenchmarkShape(BaseModel):
    """The benchmark."""

    origin: str
    first_month: str
    measures: str = ""
    operator: str = ""
    score_meaning: str = ""


class NextTurn(BaseModel):
    """When the next turn is due."""

    turn: str
    due: datetime


class PublicTurn(BaseModel):
    """A turn."""

    month: str
    started_at: datetime
    finished: bool
    release: str | None


class Cohort(BaseModel):
    """A cohort and its size."""

    id: str
    state: str
    entered: str
    retires: str
    tasks: int


class PublicCohort(Cohort):
    """A cohort as everybody may see it."""

    public_grammar: bool


class Rotations(BaseModel):
    """The turns and the cohorts."""

    benchmark: BenchmarkShape
    live: str | None
    next: NextTurn
    turns: list[PublicTurn]
    cohorts: list[PublicCohort]


class FindingCounts(BaseModel):
    """For each month that is over, the number of findings of each kind and status."""

    months: dict[str, dict[str, Any]]


class Digests(BaseModel):
    """Digests of a subject."""

    sha256: str


class Subject(BaseModel):
    """A subject of an in-toto statement: a task's id and digest."""

    name: str
    digest: Digests


class Statement(BaseModel):
    """An in-toto statement of the tasks that a release published."""

    type: str = Field(alias="_type")
    predicateType: str  # noqa: N815 - in-toto's own name
    predicate: dict[str, Any]
    subject: list[Subject]


class FindingReview(BaseModel):
    """An entry in the review of a finding."""

    state: Literal["open", "explained", "confirmed"]
    who: str
    at: datetime
    note: str


class FindingShape(BaseModel):
    """A finding of the detectors."""

    number: int
    month: str
    kind: str
    subject: str
    status: str
    state: str | None = Field(description="The state of its review; null while there is none.")
    p_value: float | None
    p_adj: float | None
    q: float | None
    effect: float | None
    low: float | None
    high: float | None
    detail: str
    computed_at: datetime
    reviews: list[FindingReview]


class ScanShape(BaseModel):
    """A run of the detectors over a month."""

    month: str
    at: datetime
    runs: int
    submitters: int
    failed: str | None
    smallest: float | None
    too_few_peers: bool


class FindingListShape(BaseModel):
    """The newest detector run of each month, and findings."""

    looks: list[ScanShape]
    findings: list[FindingShape]


class TurnShape(BaseModel):
    """A turn as a maintainer sees it."""

    month: str
    finished: bool
    steps: list[str]
    spot_check: dict[str, Any] | None


class PendingReview(BaseModel):
    """Runs of a submitter that wait for a maintainer's review."""

    submitter: str
    kind: str
    runs: list[int]


class TurnStatus(BaseModel):
    """The turns that were made, the cohorts, and what waits for a maintainer."""

    turns: list[TurnShape]
    cohorts: list[Cohort]
    reviews: list[PendingReview]


class TaskRunShape(BaseModel):
    """A run of one public task: its verdict, and the calls of its agent."""

    task_id: str
    verdict: Literal["true", "false", "unknown"]


class TraceTask(BaseModel):
    """A task of a trace."""

    run: TaskRunShape
    transcript_salt: str | None = None


class Trace(BaseModel):
    """The public tasks of a run, and of one on a dev set its measures."""

    tasks: list[TraceTask]
    measures: dict[str, Any] | None = None


class ManifestShape(BaseModel):
    """A release's manifest."""

    format: str
    month: str
    origin: str
    cohort: str
    files: dict[str, dict[str, Any]]
