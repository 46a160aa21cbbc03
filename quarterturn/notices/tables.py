"""Table of notices to maintainers, one row for each channel that delivers it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import sandbox.runs.tables  # noqa: F401 - submissions name their runs
from vault.store.tables import Counter


class NoticeRow(SQLModel, table=True):
    """A notice for one channel: stored before it is sent; `attempt` fences who sends it."""

    __tablename__ = "quarterturn_notice"
    __table_args__ = (UniqueConstraint("key", "channel"),)

    number: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    key: str = Field(max_length=80)
    channel: str = Field(max_length=8)  # log, webhook, mail
    content: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    created_at: datetime = Field(sa_type=UTCDateTime)
    attempt: int = 0
    next_at: datetime = Field(sa_type=UTCDateTime)
    sent_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    error: str | None = Field(default=None, max_length=80)
