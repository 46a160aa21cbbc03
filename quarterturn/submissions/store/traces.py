"""Store of traces: what a submission's run did on public tasks, task by task."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from quarterturn.submissions.store.tables import SubmissionRow, TraceRow
from vault.database import transaction


class Trace(NamedTuple):
    """A trace, and since when it is public (None: its owner alone sees it)."""

    document: Any
    published_at: datetime | None


class TraceScore(NamedTuple):
    """How many tasks of a trace were passed."""

    passed: int
    attempted: int


class TraceStore:
    """Traces by submission."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, name: str) -> Trace | None:
        """Return the trace of a submission, or None where it has none yet."""
        with Session(self._engine) as session:
            row = session.get(TraceRow, name)
            return Trace(json.loads(zlib.decompress(row.body)), row.published_at) if row else None

    def scores(self, names: Collection[str]) -> dict[str, TraceScore]:
        """Return the scores of these submissions' traces, of those that have one."""
        query = select(TraceRow.submission, TraceRow.passed, TraceRow.attempted)
        with Session(self._engine) as session:
            rows = session.exec(query.where(col(TraceRow.submission).in_(names)))
            return {name: TraceScore(passed, attempted) for name, passed, attempted in rows}

    def published_dev_runs(self) -> Sequence[tuple[str, str, datetime]]:
        """Return id, account and moment of each published run on the whole dev set, the newest first."""
        published = col(TraceRow.published_at)
        query = (
            select(SubmissionRow.id, SubmissionRow.account, TraceRow.published_at)
            .join(TraceRow, col(TraceRow.submission) == col(SubmissionRow.id))
            .where(SubmissionRow.tasks == "dev", published.is_not(None))
            .order_by(published.desc(), col(SubmissionRow.number).desc())
        )
        with Session(self._engine) as session:
            return [(name, account, at) for name, account, at in session.exec(query) if at is not None]

    def keep(self, name: str, document: Any) -> None:
        """Store a submission's trace on public tasks; whether it is published does not change."""
        body = zlib.compress(json.dumps(document).encode())
        passed = [task["run"]["passed"] for task in document["tasks"]]
        with transaction(self._engine) as session:
            row = session.get(TraceRow, name) or TraceRow(submission=name, body=body, passed=0, attempted=0)
            row.body, row.passed, row.attempted = body, sum(passed), len(passed)
            session.add(row)

    def publish(self, name: str, at: datetime | None) -> None:
        """Make a trace public from `at` on, or with None visible to its owner alone again."""
        with transaction(self._engine) as session:
            session.get_one(TraceRow, name).published_at = at
