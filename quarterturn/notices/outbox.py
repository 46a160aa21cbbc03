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
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from quarterturn.notices.contents import Notice
from quarterturn.notices.store import NoticeStore, StoredNotice

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


class Outbox:
    """The outbox of one home.

    Args:
        store: its notices.
        channels: by name; a notice is told on each.
        origin: the log's name, which tells this benchmark's notices from another's.
    """

    def __init__(self, store: NoticeStore, channels: Mapping[str, NoticeChannel], origin: str) -> None:
        self._store, self._channels, self._origin = store, channels, origin

    def add(self, notice: Notice) -> None:
        """Put a notice in, once (rule 1)."""
        self._store.add(notice, self._channels)

    def deliver(self) -> None:
        """Send what is due (rules 2 to 4)."""
        for stored in self._store.due(self._channels):
            if self._store.claim(stored):
                self._send(stored)

    def posted(self) -> list[StoredNotice]:
        """List what was put in, the oldest first, on the channels that there are."""
        return [stored for stored in self._store.list() if stored.channel in self._channels]

    def _send(self, stored: StoredNotice) -> None:
        try:
            self._channels[stored.channel].send(self._message(stored))
        except Undelivered as error:
            log.warning("a notice was not sent: %s on %s, %s", stored.key, stored.channel, error)
            self._store.finish(stored, str(error))
        else:
            self._store.finish(stored, None)

    def _message(self, stored: StoredNotice) -> NoticeMessage:
        notice = stored.notice
        name = hashlib.sha256(f"{self._origin}\n{notice.key}".encode()).hexdigest()[:32]
        return NoticeMessage(f"msg_{name}", stored.created_at, notice.kind, notice.month, notice.subject, notice.lines)
