"""Tables of accounts and tokens; of a token only the digest is stored."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, Column
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import sandbox.runs.tables  # noqa: F401 - submissions name their runs
from vault.store.tables import Counter

_DIGEST = 64  # hexadecimal digits of a SHA-256


class AccountRow(SQLModel, table=True):
    """Who has tokens: a pseudonym. Accounts of one party share their quotas."""

    __tablename__ = "quarterturn_account"

    name: str = Field(primary_key=True, max_length=40)
    party: str = Field(max_length=40, index=True)
    created_at: datetime = Field(sa_type=UTCDateTime)


class TokenRow(SQLModel, table=True):
    """A token: what it may, until when, and its digest."""

    __tablename__ = "quarterturn_token"

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    account: str = Field(foreign_key="quarterturn_account.name", max_length=40, index=True)
    role: str = Field(max_length=16)
    scopes: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    digest: str = Field(max_length=_DIGEST, unique=True)
    created_at: datetime = Field(sa_type=UTCDateTime)
    expires_at: datetime = Field(sa_type=UTCDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    used_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
