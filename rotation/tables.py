"""Rows of the rotation room; they never leave `store.py`."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, Column
from sqlmodel import Field, SQLModel, UniqueConstraint
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.tables import Counter


class CohortRow(SQLModel, table=True):
    """A quarter of the live set, named by the month at whose turn it retires."""

    __tablename__ = "rotation_cohort"
    __table_args__ = (UniqueConstraint("retires"),)

    id: str = Field(primary_key=True, max_length=14)
    retires: str = Field(max_length=7)
    entered: str = Field(max_length=7)
    state: str = Field(max_length=16)  # promised, live, retired, published


class MemberRow(SQLModel, table=True):
    """A task's place in the promised order of its cohort; who takes a withdrawn task's place has the same position."""

    __tablename__ = "rotation_member"
    __table_args__ = (UniqueConstraint("cohort_id", "position", "since_leaf"),)

    task_id: str = Field(primary_key=True)
    cohort_id: str = Field(foreign_key="rotation_cohort.id", index=True)
    position: int
    skeleton_tag: str = Field(index=True)
    since_leaf: int = 0  # the `withdraw` leaf that gave it the place; 0 for whom a `set` statement promised
    until_leaf: int | None = None  # the `withdraw` leaf that took it out


class TurnRow(SQLModel, table=True):
    """A turn: unique by its month, with the steps that are done and what they fixed."""

    __tablename__ = "rotation_turn"

    month: str = Field(primary_key=True)
    started_at: datetime = Field(sa_type=UTCDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    done: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    facts: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


class PageRow(SQLModel, table=True):
    """A page that checks a release, as some version of the software made it; turns name theirs by its hash."""

    __tablename__ = "rotation_page"

    sha256: str = Field(primary_key=True, max_length=64)
    body: str


class SeenRow(SQLModel, table=True):
    """A skeleton that was published, or served to somebody who could read it."""

    __tablename__ = "rotation_seen"

    skeleton_tag: str = Field(primary_key=True)
    why: str
    month: str


class ExposureRow(SQLModel, table=True):
    """How often a run gave its agent a task through a channel, and when it first and last did.

    `cause` is the code of the closed list for which it may be given it once more; None where it may not.
    """

    __tablename__ = "rotation_exposure"
    __table_args__ = (UniqueConstraint("task_id", "run", "channel"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task_id: str = Field(max_length=18, index=True)
    skeleton_tag: str = Field(max_length=64, index=True)
    run: int
    month: str = Field(max_length=7)
    submitter: str = Field(max_length=40, index=True)
    channel: str = Field(max_length=32)
    times: int = 0
    cause: str | None = Field(default=None, max_length=24)
    first_at: datetime = Field(sa_type=UTCDateTime)
    last_at: datetime = Field(sa_type=UTCDateTime)


class UnsettledRow(SQLModel, table=True):
    """That a run was left with something of a kind, and how often; which tasks it was in is sealed with their results.

    The kinds are `unknown` (a verdict) and `unclear` (a failure).
    """

    __tablename__ = "rotation_unsettled"
    __table_args__ = (UniqueConstraint("run", "kind"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    run: int
    kind: str = Field(max_length=24)
    submitter: str = Field(max_length=40, index=True)
    times: int = 0


class FindingRow(SQLModel, table=True):
    """What one test came to in one month, or what was counted; no word of a task, only ids, tags and pseudonyms."""

    __tablename__ = "rotation_finding"
    __table_args__ = (UniqueConstraint("kind", "subject", "month"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    kind: str = Field(max_length=24)
    subject: str = Field(max_length=100)
    month: str = Field(max_length=7, index=True)
    status: str = Field(max_length=8)  # clean, watch, review
    p_value: float | None = None
    p_adj: float | None = None
    q: float | None = None
    detail: str = Field(default="", max_length=200)
    computed_at: datetime = Field(sa_type=UTCDateTime)


class ReviewRow(SQLModel, table=True):
    """One word in the review of a finding; the newest stands, and none is ever changed."""

    __tablename__ = "rotation_review"

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    finding: int = Field(foreign_key="rotation_finding.id", index=True)
    state: str = Field(max_length=12)  # open, explained, confirmed
    who: str = Field(max_length=200)
    note: str = Field(default="", max_length=500)
    at: datetime = Field(sa_type=UTCDateTime)


class LookRow(SQLModel, table=True):
    """What the newest look of the watch at a month took in, and why it came to nothing if it did."""

    __tablename__ = "rotation_look"

    month: str = Field(primary_key=True, max_length=7)
    at: datetime = Field(sa_type=UTCDateTime)
    runs: int = 0
    submitters: int = 0
    failed: str | None = Field(default=None, max_length=80)
    smallest: float | None = None
