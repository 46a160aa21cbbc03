"""Clock of the forge: dates come from the state, never from the machine, and advance a second with every write."""

from __future__ import annotations

from datetime import UTC, datetime


def written(seconds: int) -> str:
    """Write seconds since 1970 as the API does (`2024-01-01T09:00:00Z`)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> int:
    """Read a date, or a date with a time, as seconds since 1970; without a zone it is UTC.

    Raises:
        ValueError: it is neither.
    """
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
