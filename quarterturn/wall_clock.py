"""Wall clock of an open home."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time in UTC, to the second: finer time says more than a record needs."""
    return datetime.now(UTC).replace(microsecond=0)
