"""Rows of this room; they never leave `store.py`.

No column holds a word of a task: evidence and remarks are sealed through the vault, and a row says only that they are;
what must be compared is a keyed tag.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class AdmissionRow(SQLModel, table=True):
    """How a draft fared at the gates."""

    __tablename__ = "grammars_admission"
    __table_args__ = (UniqueConstraint("task"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task: str = Field(max_length=18, foreign_key="vault_task.id")
    ok: bool
    failed_gates: str = Field(default="", max_length=20)  # the numbers of those that stayed shut, such as "3 4"
    goal_tag: str = Field(max_length=64, index=True)  # the same for tasks that are told in the same words
    at: datetime = Field(sa_type=UTCDateTime)


class ReviewRow(SQLModel, table=True):
    """One person's word on one task."""

    __tablename__ = "grammars_review"
    __table_args__ = (UniqueConstraint("task", "reviewer"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    task: str = Field(max_length=18, foreign_key="vault_task.id", index=True)
    reviewer: str = Field(max_length=200)
    decision: str = Field(max_length=8)
    refused: str = Field(default="", max_length=200)  # the keys of the questions answered with no
    at: datetime = Field(sa_type=UTCDateTime)
