"""Tables of the rounded scores of closed runs, and of the scores disclosed to their owners."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column
from sqlmodel import Field, SQLModel

import sandbox.runs.tables  # noqa: F401 - submissions name their runs
from vault.store.tables import Counter


class ScoreRow(SQLModel, table=True):
    """The figures of a closed run, rounded as the leaderboard shows them (`rotation.leaderboard.figures`)."""

    __tablename__ = "rotation_score"

    run: int = Field(primary_key=True, foreign_key="sandbox_run.number", sa_type=Counter)
    month: str = Field(max_length=7, index=True)
    figures: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    without: int = 0  # how many tasks, withdrawn as broken, they are made without


class DisclosedScore(SQLModel, table=True):
    """The figures of a private run as disclosed to its owner: rounded, and new only where they differ from noise."""

    __tablename__ = "rotation_disclosed_score"

    run: int = Field(primary_key=True, foreign_key="sandbox_run.number", sa_type=Counter)
    month: str = Field(max_length=7)
    track: str = Field(max_length=32)
    submitter: str = Field(max_length=40, index=True)
    figures: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
