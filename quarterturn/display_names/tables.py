"""Table of display names, by the key under which two names count as the same."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import quarterturn.accounts.tables  # noqa: F401 - accounts choose names


class DisplayNameRow(SQLModel, table=True):
    """A name that an account chose for an agent: `shown`, `former`, or `removed` by a maintainer."""

    __tablename__ = "quarterturn_display_name"

    key: str = Field(primary_key=True, max_length=40)
    name: str = Field(max_length=40)
    account: str = Field(foreign_key="quarterturn_account.name", max_length=40, index=True)
    agent: str = Field(max_length=40)
    state: str = Field(max_length=8)
    changed_at: datetime = Field(sa_type=UTCDateTime)
    removed_by: str | None = Field(default=None, max_length=40)
