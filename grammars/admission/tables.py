"""Database rows of admissions and reviews; only `store.py` uses them.

No column holds text of a task: evidence and notes are sealed in the vault, and what must be compared is a keyed tag.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class AdmissionRow(SQLModel, table=True):
    """The result of a draft's admission."""

    __tablename__ = "grammars_admission"
    __table_args__ = (UniqueConstraint("task"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task: str = Field(max_length=18, foreign_key="vault_task.id")
    ok: bool
    failed_gates: str = Field(default="", max_length=20)  # their numbers, such as "3 4"
    goal_tag: str = Field(max_length=64, index=True)  # equal for goals with the same words
    at: datetime = Field(sa_type=UTCDateTime)


class TaskReviewRow(SQLModel, table=True):
    """One person's review of one task."""

    __tablename__ = "grammars_review"
    __table_args__ = (UniqueConstraint("task", "reviewer"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task: str = Field(max_length=18, foreign_key="vault_task.id", index=True)
    reviewer: str = Field(max_length=200)
    decision: str = Field(max_length=8)
    refused: str = Field(default="", max_length=200)  # keys of the questions answered with no
    at: datetime = Field(sa_type=UTCDateTime)
