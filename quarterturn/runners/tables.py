"""Tables of runners and of the servings that they started; no row holds a word of a task."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import sandbox.runs.tables  # noqa: F401 - servings name their runs
from vault.store.tables import Counter


class RunnerRow(SQLModel, table=True):
    """A runner: its token, what it last said about itself, and when it was last heard of."""

    __tablename__ = "quarterturn_runner"

    token: int = Field(primary_key=True, foreign_key="quarterturn_token.id", sa_type=Counter)
    name: str = Field(max_length=40, unique=True)
    box: str | None = Field(default=None, max_length=16)  # None until it has registered
    run_class: str | None = Field(default=None, max_length=12)
    places: int = 0  # how many servings it plays at a time
    programs: str | None = Field(default=None, max_length=64)  # SHA-256 of the servers and locks that it has
    seen_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class ServingRow(SQLModel, table=True):
    """A serving that a runner started: whose it is, and until when what it left is waited for."""

    __tablename__ = "quarterturn_serving"

    handle: str = Field(primary_key=True, max_length=40)
    run: int | None = Field(
        default=None, foreign_key="sandbox_run.number", index=True, sa_type=Counter
    )  # None: of none
    task: str = Field(max_length=18)
    runner: int = Field(foreign_key="quarterturn_runner.token", index=True, sa_type=Counter)
    state: str = Field(max_length=10)  # started, handed-in, unbegun, lost, closed
    started_at: datetime = Field(sa_type=UTCDateTime)
    due: datetime = Field(sa_type=UTCDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
