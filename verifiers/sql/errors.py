"""Errors of SQL: what is refused when a predicate is read, and what fails when it is evaluated."""

from __future__ import annotations

from verifiers.errors import Malformed, TargetMissing


class NotSupported(Malformed):
    """The text is no query, or asks for something that this evaluator does not have; the message says what and where.

    It quotes nothing of the query but words of SQL, because the query of a private task is secret.

    Attributes:
        place: the character where it is, from 0.
    """

    def __init__(self, message: str, place: int | None = None) -> None:
        super().__init__(message if place is None else f"{message} (at character {place + 1})")
        self.place = place


class QueryFailed(TargetMissing):
    """A query fails on this database, as it would in PostgreSQL: a table, a column or a type is not what it needs."""
