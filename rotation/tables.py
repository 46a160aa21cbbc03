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
    """A task's place in the promised order of its cohort."""

    __tablename__ = "rotation_member"
    __table_args__ = (UniqueConstraint("cohort_id", "position"),)

    task_id: str = Field(primary_key=True)
    cohort_id: str = Field(foreign_key="rotation_cohort.id", index=True)
    position: int
    skeleton_tag: str = Field(index=True)
    withdrawn: bool = False


class TurnRow(SQLModel, table=True):
    """A turn: unique by its month, with the steps that are done and what they fixed."""

    __tablename__ = "rotation_turn"

    month: str = Field(primary_key=True)
    started_at: datetime = Field(sa_type=UTCDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    done: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    facts: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


class SeenRow(SQLModel, table=True):
    """A skeleton that was published, or served to somebody who could read it."""

    __tablename__ = "rotation_seen"

    skeleton_tag: str = Field(primary_key=True)
    why: str
    month: str


class ExposureRow(SQLModel, table=True):
    """How often a submitter's agent was given a task, and through which channel."""

    __tablename__ = "rotation_exposure"
    __table_args__ = (UniqueConstraint("task_id", "submitter", "channel"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task_id: str = Field(index=True)
    skeleton_tag: str
    submitter: str
    channel: str
    times: int = 0


class FindingRow(SQLModel, table=True):
    """That a run had something of a kind, and how often; which tasks it was in is sealed with their results."""

    __tablename__ = "rotation_finding"
    __table_args__ = (UniqueConstraint("run", "kind"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    run: int
    kind: str = Field(max_length=24)
    submitter: str = Field(max_length=40, index=True)
    times: int = 0
