"""Token budget of one task, held under concurrent requests.

Each request reserves before it is sent: the estimated tokens that it will be charged for input, and the most that the
answer may have. What it used is settled when it ends. So the sum of what is used and what is reserved never exceeds the
budget by more than an estimate's error.

The estimate is one token for four bytes of JSON. It also stands for an upstream's own count where a stream broke before
that came: then what was sent and what was received is counted, which may be less than what an upstream charges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BYTES_A_TOKEN = 4
DEFAULT_ANSWER = 4096
"""What an answer may cost where the request names no limit."""
LEAST_ANSWER = 16
"""What an upstream takes as a limit at the least; with less than this left, nothing is sent."""


def estimate(size: int) -> int:
    """Estimate how many tokens so many bytes are."""
    return math.ceil(size / BYTES_A_TOKEN)


@dataclass(frozen=True, slots=True)
class Reserved:
    """Tokens that one request reserves: to be read, and to be written."""

    read: int
    written: int


@dataclass
class TokenBudget:
    """The tokens of one task."""

    tokens: int
    used: int = 0
    held: int = 0

    def reserve(self, size: int, asked: int | None) -> Reserved | None:
        """Hold what a request of `size` bytes may cost at the most, or give None where not even a little is left.

        The answer's limit is what was asked for (or DEFAULT_ANSWER), clamped to what is left.
        """
        read = estimate(size)
        left = self.tokens - self.used - self.held - read
        if left < LEAST_ANSWER:
            return None
        reserved = Reserved(read, min(asked or DEFAULT_ANSWER, left))
        self.held += reserved.read + reserved.written
        return reserved

    def settle(self, reserved: Reserved, read: int, written: int) -> None:
        """Let go of what was held and count what was used."""
        self.held -= reserved.read + reserved.written
        self.used += read + written
