"""Database rows of findings, their reviews, and the scans that made them."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel, UniqueConstraint
from sqlmodel.sql.sqltypes import UTCDateTime

from vault.store.tables import Counter


class FindingRow(SQLModel, table=True):
    """One test's result in one month, or one count; it holds ids, tags and pseudonyms, and no text of a task."""

    __tablename__ = "rotation_finding"
    __table_args__ = (UniqueConstraint("kind", "subject", "month"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    kind: str = Field(max_length=24)
    subject: str = Field(max_length=100)
    month: str = Field(max_length=7, index=True)
    status: str = Field(max_length=8)  # clean, watching, review
    p_value: float | None = None
    p_adj: float | None = None
    q: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    detail: str = Field(default="", max_length=200)
    computed_at: datetime = Field(sa_type=UTCDateTime)


class FindingReviewRow(SQLModel, table=True):
    """One entry in the review of a finding; the newest counts, and none is ever changed."""

    __tablename__ = "rotation_review"

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    finding: int = Field(foreign_key="rotation_finding.id", index=True)
    state: str = Field(max_length=12)  # open, explained, confirmed
    who: str = Field(max_length=200)
    note: str = Field(default="", max_length=500)
    at: datetime = Field(sa_type=UTCDateTime)


class FindingEvidenceRow(SQLModel, table=True):
    """One result that a finding rests on, which the release of its task's cohort gives the evidence of."""

    __tablename__ = "rotation_evidence"

    finding: int = Field(foreign_key="rotation_finding.id", primary_key=True)
    run: int = Field(primary_key=True)
    task: str = Field(primary_key=True, max_length=18)
    who: str = Field(max_length=200)
    at: datetime = Field(sa_type=UTCDateTime)


class ScanRow(SQLModel, table=True):
    """Summary of the newest scan of a month: what it read, and the error if it failed."""

    __tablename__ = "rotation_scan"

    month: str = Field(primary_key=True, max_length=7)
    at: datetime = Field(sa_type=UTCDateTime)
    runs: int = 0
    submitters: int = 0
    failed: str | None = Field(default=None, max_length=80)
    smallest: float | None = None
