"""Tables of approval rules, of approval requests and of their signatures."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, LargeBinary
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import sandbox.runs.tables  # noqa: F401 - submissions name their runs
from vault.store.tables import Counter

_DIGEST = 64  # hexadecimal digits of a SHA-256


class RulesRow(SQLModel, table=True):
    """Rules for two that are or were in force (`quarterturn.approvals.approvals`); the newest are."""

    __tablename__ = "quarterturn_rules"

    number: int = Field(primary_key=True, sa_type=Counter, sa_column_kwargs={"autoincrement": False})
    body: bytes = Field(sa_type=LargeBinary)  # canonical JSON
    tag: str = Field(max_length=_DIGEST)  # keyed: nobody writes such a row who cannot open the ring
    at: datetime = Field(sa_type=UTCDateTime)


class ApprovalRow(SQLModel, table=True):
    """Something that two maintainers are asked to sign; `used_at` fences who does it."""

    __tablename__ = "quarterturn_approval"

    id: str = Field(primary_key=True, max_length=18)
    action: str = Field(max_length=16)
    subject: str = Field(max_length=200)
    detail: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    digest: str = Field(max_length=_DIGEST, index=True)  # of the detail
    asked_by: str = Field(max_length=200)
    asked_at: datetime = Field(sa_type=UTCDateTime)
    expires_at: datetime = Field(sa_type=UTCDateTime)
    rules: int = Field(foreign_key="quarterturn_rules.number", sa_type=Counter)  # who may sign
    log: str = Field(max_length=300)  # the log's key of that time
    used_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class ApprovalSignatureRow(SQLModel, table=True):
    """One maintainer's signature over a request."""

    __tablename__ = "quarterturn_approval_signature"

    approval: str = Field(primary_key=True, foreign_key="quarterturn_approval.id", max_length=18)
    maintainer: str = Field(primary_key=True, max_length=64)
    signature: str = Field(max_length=1000)
    at: datetime = Field(sa_type=UTCDateTime)
