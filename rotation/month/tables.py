"""Database rows of cohorts, their members, turns, release pages, seen skeletons and unsettled outcomes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, Column
from sqlmodel import Field, SQLModel, UniqueConstraint
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class CohortRow(SQLModel, table=True):
    """A part of the private set that enters and retires as a whole, named by the month at whose turn it retires."""

    __tablename__ = "rotation_cohort"
    __table_args__ = (UniqueConstraint("retires"),)

    id: str = Field(primary_key=True, max_length=14)
    retires: str = Field(max_length=7)
    entered: str = Field(max_length=7)
    state: str = Field(max_length=16)  # promised, live, retired, published


class MemberRow(SQLModel, table=True):
    """A task's place in the promised order of its cohort; a refill has the position of the withdrawn task."""

    __tablename__ = "rotation_member"
    __table_args__ = (UniqueConstraint("cohort_id", "position", "since_leaf"),)

    task_id: str = Field(primary_key=True)
    cohort_id: str = Field(foreign_key="rotation_cohort.id", index=True)
    position: int
    skeleton_tag: str = Field(index=True)
    since_leaf: int = 0  # the `withdraw` leaf that gave it the place; 0 if a `set` statement did
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
    """The verification page of a release, as its software version made it; turns refer to it by its hash."""

    __tablename__ = "rotation_verification_page"

    sha256: str = Field(primary_key=True, max_length=64)
    body: str


class SeenRow(SQLModel, table=True):
    """A skeleton that was published, or served to somebody who could read it."""

    __tablename__ = "rotation_seen"

    skeleton_tag: str = Field(primary_key=True)
    why: str
    month: str


class UnsettledRow(SQLModel, table=True):
    """How many unsettled outcomes of a kind a run has; the tasks are only named in its sealed results.

    The kinds are `unknown` (a verdict) and `unclear` (a failure).
    """

    __tablename__ = "rotation_unsettled"
    __table_args__ = (UniqueConstraint("run", "kind"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    run: int
    kind: str = Field(max_length=24)
    submitter: str = Field(max_length=40, index=True)
    times: int = 0
