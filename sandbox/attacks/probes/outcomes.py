"""Outcomes of an attempt, and the registry of all attempts.

`blocked` means that it was refused, `bounded` that it got so far and no further, and `escaped` that nothing stopped it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)

Ending = tuple[str, str]
Attempt = Callable[[], Ending]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(name: str) -> Callable[[Attempt], Attempt]:
    """Register an attempt under a name."""

    def keep(function: Attempt) -> Attempt:
        ATTEMPTS[name] = function
        return function

    return keep


def blocked(detail: object) -> Ending:
    """The attempt was refused."""
    return "blocked", str(detail)


def bounded(detail: object) -> Ending:
    """The attempt got so far and no further."""
    return "bounded", str(detail)


def escaped(detail: object) -> Ending:
    """Nothing stopped the attempt."""
    return "escaped", str(detail)


def setting(name: str, default: str) -> str:
    """Return what a control sets otherwise than the wall does: a port, a path, an amount."""
    return os.environ.get(f"PROBE_{name}", default)
