"""Pseudonyms: names of accounts, submitters and agents, in the one form that a statement and a leaderboard can hold."""

from __future__ import annotations

import re

from sandbox.errors import Malformed

PATTERN = "[a-z0-9][a-z0-9-]{0,39}"
_FORM = re.compile(PATTERN)


def require_pseudonym(value: str, what: str) -> None:
    """Refuse a name that may not appear on a leaderboard or in a statement.

    Raises:
        Malformed: it has another form.
    """
    if not _FORM.fullmatch(value):
        raise Malformed(f"the {what} {value!r} must be 1 to 40 of a-z, 0-9 and '-', and not begin with '-'")
