"""Database rows of exposures: which run served its agent which task, and how often."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel, UniqueConstraint
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class ExposureRow(SQLModel, table=True):
    """How often a run served its agent a task through a channel, and when first and last.

    `cause` is the code of the closed list that allows one more serving; None if none does.
    """

    __tablename__ = "rotation_exposure"
    __table_args__ = (UniqueConstraint("task_id", "run", "channel"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task_id: str = Field(max_length=18, index=True)
    skeleton_tag: str = Field(max_length=64, index=True)
    run: int = Field(index=True)
    month: str = Field(max_length=7)
    submitter: str = Field(max_length=40, index=True)
    channel: str = Field(max_length=32)
    times: int = 0
    cause: str | None = Field(default=None, max_length=24)
    first_at: datetime = Field(sa_type=UTCDateTime)
    last_at: datetime = Field(sa_type=UTCDateTime)
