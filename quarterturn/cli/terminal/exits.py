"""Exit codes of the command line, by the kind of the error.

Every room's root error has a `kind`; this table is the only place that knows the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from quarterturn.errors import ApplicationError

OK = 0
NO = 1
BUG = 70
INTERRUPTED = 130

EXITS: Mapping[str, int] = {
    "no": NO,
    "malformed": 2,
    "not-found": 3,
    "not-allowed": 4,
    "quota": 5,
    "unavailable": 6,
    "locked": 7,
    "refused": 8,
}


def exit_code(error: BaseException) -> int | None:
    """Return the exit code of one of our own errors, or None for an error that is not ours."""
    if isinstance(error, ApplicationError):  # also where a foreign `vault` stands before ours on the path
        return EXITS[error.kind]
    from vault.errors import kind_of

    return EXITS.get(str(kind_of(error)))
