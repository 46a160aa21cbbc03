"""Tables of submissions and of traces of public runs; no row holds a word of a private task."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import quarterturn.accounts.tables  # noqa: F401 - accounts make submissions
import sandbox.runs.tables  # noqa: F401 - submissions name their runs
from vault.store.tables import Counter

_DIGEST = 64  # hexadecimal digits of a SHA-256


class SubmissionRow(SQLModel, table=True):
    """A submission through the service; the row is the job, and `attempt` fences who works on it."""

    __tablename__ = "quarterturn_submission"
    __table_args__ = (
        UniqueConstraint("account", "idempotency_key"),
        CheckConstraint("attempt >= 0", name="attempt_not_negative"),
        Index("ix_quarterturn_submission_claim", "state", "fair_round", "number"),
        Index("ix_quarterturn_submission_of_account", "account", "state"),
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    id: str = Field(max_length=18, unique=True)
    account: str = Field(foreign_key="quarterturn_account.name", max_length=40)
    tasks: str = Field(max_length=8)  # dev, private, check
    kind: str = Field(max_length=16)  # image, endpoint
    reference: str = Field(max_length=500)
    model: str | None = Field(default=None, max_length=16)
    designated: bool = False  # to count: played before the party's other private runs
    month: str = Field(max_length=7)
    state: str = Field(max_length=12)
    fair_round: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    code: str | None = Field(default=None, max_length=24)
    attempt: int = 0
    worker: str | None = Field(default=None, max_length=100)
    failed_attempts: int = 0  # how many of its workers fell silent, or hit an internal error
    lease_until: datetime | None = Field(default=None, sa_type=UTCDateTime)
    not_before: datetime | None = Field(default=None, sa_type=UTCDateTime)  # set aside after a failure of ours
    run: int | None = Field(default=None, foreign_key="sandbox_run.number", unique=True, sa_type=Counter)
    idempotency_key: str | None = Field(default=None, max_length=_DIGEST)  # its SHA-256
    request_digest: str = Field(max_length=_DIGEST)  # of the request that came with the key
    created_at: datetime = Field(sa_type=UTCDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class TraceRow(SQLModel, table=True):
    """The trace of a submission's run on public tasks, task by task; public once its owner publishes it."""

    __tablename__ = "quarterturn_trace"

    submission: str = Field(primary_key=True, foreign_key="quarterturn_submission.id", max_length=18)
    body: bytes = Field(sa_type=LargeBinary)  # JSON, compressed
    passed: int  # of the tasks in it
    attempted: int
    published_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
