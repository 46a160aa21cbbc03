"""Outbox: each notice is a row for each channel before it is sent, and is sent by one process, with retries.

1. A notice is a row for each channel, unique by its key: making it again, by this process or another, adds nothing.
2. A sender first raises the row's *attempt*, in one `UPDATE … WHERE attempt = ?`, which also postpones the next try.
   Of two senders, one sends.
3. A notice counts as sent once that is recorded. If the process dies in between, it is sent again under the same id,
   by which the receiver recognizes it.
4. A notice that cannot be sent is retried after `WAITS`, and then given up; `doctor` says so. Of an error its kind is
   stored, and no text of the other side's.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Engine, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from quarterturn.notices.contents import Notice
from quarterturn.notices.tables import NoticeRow
from vault.database import transaction

WAITS = tuple(timedelta(minutes=m) for m in (1, 5, 30, 120, 300, 600, 840, 1200, 1440))
"""How long after each try there is another: three days in all."""

log = logging.getLogger("quarterturn.notices")


class Undelivered(Exception):
    """A channel could not deliver a message; the text is ours, not the other side's."""


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """A notice as it is sent.

    Attributes:
        id: by which a receiver knows one that comes twice.
        at: when it was made.
        kind, month, subject, lines: the notice's.
    """

    id: str
    at: datetime
    kind: str
    month: str
    subject: str
    lines: tuple[str, ...]


class NoticeChannel(Protocol):
    """A way of delivering notices."""

    def send(self, message: NoticeMessage) -> None:
        """Carry a message.

        Raises:
            Undelivered: it did not arrive, as far as we know.
        """
        ...


@dataclass(frozen=True, slots=True)
class Posted:
    """The delivery state of one notice on one channel."""

    key: str
    channel: str
    sent: bool
    tries: int
    given_up: bool
    error: str | None


class Outbox:
    """The outbox of one home.

    Args:
        engine: from `vault.database.open_engine`.
        channels: by name; a notice is told on each.
        origin: the log's name, which tells this benchmark's notices from another's.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, engine: Engine, channels: Mapping[str, NoticeChannel], origin: str, clock: Callable[[], datetime]
    ) -> None:
        self._engine, self._channels, self._origin, self._clock = engine, channels, origin, clock

    def add(self, notice: Notice) -> None:
        """Put a notice in, once (rule 1)."""
        query = select(NoticeRow.channel).where(NoticeRow.key == notice.key)
        with Session(self._engine) as session:
            known = set(session.exec(query).all())
        content = {"kind": notice.kind, "month": notice.month, "subject": notice.subject, "lines": list(notice.lines)}
        for channel in self._channels.keys() - known:
            row = NoticeRow(
                key=notice.key, channel=channel, content=content, created_at=self._now(), next_at=self._now()
            )
            try:
                with transaction(self._engine) as session:
                    session.add(row)
            except IntegrityError:  # another process was faster
                continue

    def deliver(self) -> None:
        """Send what is due (rules 2 to 4)."""
        query = select(NoticeRow).where(
            col(NoticeRow.sent_at).is_(None),
            col(NoticeRow.channel).in_(self._channels),
            NoticeRow.next_at <= self._now(),
            NoticeRow.attempt <= len(WAITS),
        )
        with Session(self._engine) as session:
            due = session.exec(query.order_by(col(NoticeRow.number))).all()
        for row in due:
            if self._claim(row):
                self._send(row)

    def posted(self) -> list[Posted]:
        """List what was put in, the oldest first, on the channels that there are."""
        with Session(self._engine) as session:
            rows = session.exec(select(NoticeRow).order_by(col(NoticeRow.number))).all()
        return [
            Posted(row.key, row.channel, row.sent_at is not None, row.attempt, _given_up(row), row.error)
            for row in rows
            if row.channel in self._channels
        ]

    def _claim(self, row: NoticeRow) -> bool:
        wait = WAITS[row.attempt] if row.attempt < len(WAITS) else timedelta(0)
        return self._write(row, row.attempt, attempt=row.attempt + 1, next_at=self._now() + wait)

    def _send(self, row: NoticeRow) -> None:
        assert row.number is not None  # noqa: S101 - it was read
        message = self._message(row)
        try:
            self._channels[row.channel].send(message)
        except Undelivered as error:
            log.warning("a notice was not sent: %s on %s, %s", row.key, row.channel, error)
            self._write(row, row.attempt + 1, error=str(error)[:80])
        else:
            self._write(row, row.attempt + 1, sent_at=self._now(), error=None)

    def _message(self, row: NoticeRow) -> NoticeMessage:
        name = hashlib.sha256(f"{self._origin}\n{row.key}".encode()).hexdigest()[:32]
        content = row.content
        return NoticeMessage(
            f"msg_{name}",
            row.created_at,
            content["kind"],
            content["month"],
            content["subject"],
            tuple(content["lines"]),
        )

    def _write(self, row: NoticeRow, held: int, **values: Any) -> bool:
        statement = update(NoticeRow).where(
            col(NoticeRow.number) == row.number, col(NoticeRow.attempt) == held, col(NoticeRow.sent_at).is_(None)
        )
        with transaction(self._engine) as session:
            return bool(session.exec(statement.values(**values)).rowcount)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _given_up(row: NoticeRow) -> bool:
    return row.sent_at is None and row.attempt > len(WAITS)
