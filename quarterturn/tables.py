"""Rows of the hall: who may ask, what was submitted, and what was told of it.

No row holds a word of a private task, nor a token: of a token its digest stands here, of a private run its figures as
they were told, rounded.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, Column, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

import sandbox.tables  # noqa: F401 - submissions name their runs
from vault.tables import Counter

_DIGEST = 64  # hexadecimal digits of a SHA-256


class AccountRow(SQLModel, table=True):
    """Who has tokens: a pseudonym. Accounts of one party share their quotas."""

    __tablename__ = "hall_account"

    name: str = Field(primary_key=True, max_length=40)
    party: str = Field(max_length=40, index=True)
    created_at: datetime = Field(sa_type=UTCDateTime)


class TokenRow(SQLModel, table=True):
    """A token: what it may, until when, and its digest."""

    __tablename__ = "hall_token"

    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    account: str = Field(foreign_key="hall_account.name", max_length=40, index=True)
    role: str = Field(max_length=16)
    scopes: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    digest: str = Field(max_length=_DIGEST, unique=True)
    created_at: datetime = Field(sa_type=UTCDateTime)
    expires_at: datetime = Field(sa_type=UTCDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    used_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class SubmissionRow(SQLModel, table=True):
    """What was submitted through the service; the row is the job, and `attempt` fences who works on it."""

    __tablename__ = "hall_submission"
    __table_args__ = (
        UniqueConstraint("account", "once"),
        CheckConstraint("attempt >= 0", name="attempt_not_negative"),
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    id: str = Field(max_length=18, unique=True)
    account: str = Field(foreign_key="hall_account.name", max_length=40, index=True)
    tasks: str = Field(max_length=8)  # dev, private, check
    kind: str = Field(max_length=16)  # image, endpoint
    reference: str = Field(max_length=500)
    model: str | None = Field(default=None, max_length=16)
    named: bool = False  # its figures are to count, whichever run was first
    month: str = Field(max_length=7)
    state: str = Field(max_length=12, index=True)
    code: str | None = Field(default=None, max_length=24)
    attempt: int = 0
    worker: str | None = Field(default=None, max_length=100)
    died: int = 0  # how many of those that worked on it fell silent, or came upon a mistake of ours
    lease_until: datetime | None = Field(default=None, sa_type=UTCDateTime)
    not_before: datetime | None = Field(default=None, sa_type=UTCDateTime)  # set aside after a failure of ours
    run: int | None = Field(default=None, foreign_key="sandbox_run.number", unique=True, sa_type=Counter)
    once: str | None = Field(default=None, max_length=_DIGEST)  # of the Idempotency-Key
    asked: str = Field(max_length=_DIGEST)  # of what was asked for with it
    created_at: datetime = Field(sa_type=UTCDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class ScoreRow(SQLModel, table=True):
    """The figures of a closed run, rounded as a board shows them (`quarterturn.scores`)."""

    __tablename__ = "hall_score"

    run: int = Field(primary_key=True, foreign_key="sandbox_run.number", sa_type=Counter)
    month: str = Field(max_length=7, index=True)
    figures: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    without: int = 0  # how many withdrawals they are made without


class ToldRow(SQLModel, table=True):
    """The figures of a private run as its owner was told them: rounded, and held back where they say nothing new."""

    __tablename__ = "hall_told"

    run: int = Field(primary_key=True, foreign_key="sandbox_run.number", sa_type=Counter)
    month: str = Field(max_length=7)
    track: str = Field(max_length=32)
    submitter: str = Field(max_length=40, index=True)
    figures: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


class TraceRow(SQLModel, table=True):
    """What a submission's run on public tasks came to, task by task; everybody may see it once its owner says so."""

    __tablename__ = "hall_trace"

    submission: str = Field(primary_key=True, foreign_key="hall_submission.id", max_length=18)
    body: bytes = Field(sa_type=LargeBinary)  # JSON, compressed
    published_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class NoticeRow(SQLModel, table=True):
    """A notice that one channel carries: it is there before it is sent, and `attempt` fences who sends it."""

    __tablename__ = "hall_notice"
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


class RulesRow(SQLModel, table=True):
    """Rules for two that are or were in force (`quarterturn.approvals`); the newest are."""

    __tablename__ = "hall_rules"

    number: int = Field(primary_key=True, sa_type=Counter, sa_column_kwargs={"autoincrement": False})
    body: bytes = Field(sa_type=LargeBinary)  # canonical JSON
    tag: str = Field(max_length=_DIGEST)  # keyed: nobody writes such a row who cannot open the ring
    at: datetime = Field(sa_type=UTCDateTime)


class ApprovalRow(SQLModel, table=True):
    """Something that two maintainers are asked to sign; `used_at` fences who does it."""

    __tablename__ = "hall_approval"

    id: str = Field(primary_key=True, max_length=18)
    action: str = Field(max_length=16)
    subject: str = Field(max_length=200)
    detail: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    digest: str = Field(max_length=_DIGEST, index=True)  # of the detail
    asked_by: str = Field(max_length=200)
    asked_at: datetime = Field(sa_type=UTCDateTime)
    expires_at: datetime = Field(sa_type=UTCDateTime)
    rules: int = Field(foreign_key="hall_rules.number", sa_type=Counter)  # who may sign
    log: str = Field(max_length=300)  # the log's key of that time
    used_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


class ApprovalSignatureRow(SQLModel, table=True):
    """One maintainer's signature over a request."""

    __tablename__ = "hall_approval_signature"

    approval: str = Field(primary_key=True, foreign_key="hall_approval.id", max_length=18)
    maintainer: str = Field(primary_key=True, max_length=64)
    signature: str = Field(max_length=1000)
    at: datetime = Field(sa_type=UTCDateTime)
