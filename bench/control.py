"""The control measurement: one function compared with itself, which shows the machine's own noise.

Nothing of ours is in it. A difference between two figures below that is smaller than the control's span says nothing.
"""

from __future__ import annotations

import hashlib

from measure import compare
from report import Found, Line

ROUNDS = 31
DATA = bytes(2048)


def bench(rounds: int = 0) -> Found:
    """Compare SHA-256 of 2 KB with itself."""

    def work() -> None:
        hashlib.sha256(DATA).digest()

    seen = compare(work, work, rounds or ROUNDS)
    about = "The noise: one function beside itself. A perfect machine gives 1, 1 to 1."
    return Found(about, [Line("SHA-256 of 2 KB", "the same", seen)])
