"""Store of notices: a row for each notice and channel, with an attempt that fences who sends it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from quarterturn.notices.contents import Notice
from quarterturn.notices.tables import NoticeRow
from vault.database import transaction

WAITS = tuple(timedelta(minutes=m) for m in (1, 5, 30, 120, 300, 600, 840, 1200, 1440))
"""How long after each try there is another: three days in all."""


@dataclass(frozen=True, slots=True)
class StoredNotice:
    """A notice on one channel.

    Attributes:
        number: of its row.
        channel: by which it is delivered.
        notice: what is told.
        created_at: when it was made.
        attempt: how often somebody began to send it.
        sent: whether it was delivered.
        error: the kind of the last failure, if there was one.
    """

    number: int
    channel: str
    notice: Notice
    created_at: datetime
    attempt: int
    sent: bool
    error: str | None

    @property
    def key(self) -> str:
        """The notice's key."""
        return self.notice.key

    @property
    def given_up(self) -> bool:
        """Whether it will not be tried again."""
        return not self.sent and self.attempt > len(WAITS)


class NoticeStore:
    """The notices of one home.

    Args:
        engine: from `vault.database.open_engine`.
        clock: the present moment, with its time zone.
    """

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._engine, self._clock = engine, clock

    def add(self, notice: Notice, channels: Collection[str]) -> None:
        """Store a notice for each of these channels, once."""
        query = select(NoticeRow.channel).where(NoticeRow.key == notice.key)
        with Session(self._engine) as session:
            known = set(session.exec(query).all())
        content = {"kind": notice.kind, "month": notice.month, "subject": notice.subject, "lines": list(notice.lines)}
        for channel in set(channels) - known:
            row = NoticeRow(
                key=notice.key, channel=channel, content=content, created_at=self._now(), next_at=self._now()
            )
            try:
                with transaction(self._engine) as session:
                    session.add(row)
            except IntegrityError:  # another process was faster
                continue

    def due(self, channels: Collection[str]) -> list[StoredNotice]:
        """List what is to be sent now on these channels, the oldest first."""
        query = select(NoticeRow).where(
            col(NoticeRow.sent_at).is_(None),
            col(NoticeRow.channel).in_(channels),
            NoticeRow.next_at <= self._now(),
            NoticeRow.attempt <= len(WAITS),
        )
        with Session(self._engine) as session:
            return [_stored(row) for row in session.exec(query.order_by(col(NoticeRow.number))).all()]

    def list(self) -> list[StoredNotice]:
        """List all of them, the oldest first."""
        with Session(self._engine) as session:
            return [_stored(row) for row in session.exec(select(NoticeRow).order_by(col(NoticeRow.number))).all()]

    def claim(self, stored: StoredNotice) -> bool:
        """Begin an attempt and postpone the next one; the answer is no where somebody else began it."""
        wait = WAITS[stored.attempt] if stored.attempt < len(WAITS) else timedelta(0)
        return self._write(stored, stored.attempt, attempt=stored.attempt + 1, next_at=self._now() + wait)

    def finish(self, claimed: StoredNotice, error: str | None) -> None:
        """Record how the attempt that was begun with `claim` ended: with an error, or delivered."""
        values = {"sent_at": self._now(), "error": None} if error is None else {"error": error[:80]}
        self._write(claimed, claimed.attempt + 1, **values)

    def _write(self, stored: StoredNotice, held: int, **values: Any) -> bool:
        statement = update(NoticeRow).where(
            col(NoticeRow.number) == stored.number, col(NoticeRow.attempt) == held, col(NoticeRow.sent_at).is_(None)
        )
        with transaction(self._engine) as session:
            return bool(session.exec(statement.values(**values)).rowcount)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _stored(row: NoticeRow) -> StoredNotice:
    content = row.content
    notice = Notice(row.key, content["kind"], content["month"], content["subject"], tuple(content["lines"]))
    sent = row.sent_at is not None
    return StoredNotice(row.number or 0, row.channel, notice, row.created_at, row.attempt, sent, row.error)
