"""Database tables of the runs; their rows never leave `store.py`.

While its tasks are live, a run of private tasks shows only its state here: no verdict, no call, no duration of a task.
The result of a task is a sealed blob, and a row says only that there is one.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class RunRow(SQLModel, table=True):
    """One submission's run of one set."""

    __tablename__ = "sandbox_run"
    __table_args__ = (
        CheckConstraint("number > 0", name="number_positive"),
        CheckConstraint("attempt >= 0", name="attempt_not_negative"),
    )

    number: int = Field(primary_key=True, sa_type=Counter, sa_column_kwargs={"autoincrement": False})
    month: str = Field(max_length=7, index=True)
    track: str = Field(max_length=32)
    box: str = Field(max_length=16)
    official: bool
    submitter: str = Field(max_length=40, index=True)
    name: str = Field(max_length=40)
    kind: str = Field(max_length=16)
    submission: str = Field(max_length=71)
    tasks: int
    state: str = Field(max_length=16, index=True)
    attempt: int = Field(default=0)
    code: str | None = Field(default=None, max_length=40)
    cause: str | None = Field(default=None, max_length=24)
    opened_at: datetime = Field(sa_type=UTCDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class ResultRow(SQLModel, table=True):
    """Marker that a run has a result for a task, and of which attempt; the result itself is sealed."""

    __tablename__ = "sandbox_result"
    __table_args__ = (UniqueConstraint("run", "task"), UniqueConstraint("blob"))

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    run: int = Field(foreign_key="sandbox_run.number", index=True)
    task: str = Field(max_length=18)
    attempt: int
    blob: str = Field(max_length=300)
