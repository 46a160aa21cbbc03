"""Rate limiter: counts requests a minute by address or token, in fixed windows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from quarterturn.http.responses.problems import Limit, Members

WINDOW = 60
MAX_COUNTED_KEYS = 100_000
_OTHERS = "others"  # where so many ask in a minute, the rest share one allowance


class Rate:
    """Counts requests in fixed windows.

    Args:
        limit: requests a minute for each key.
        clock: seconds that only grow.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self._clock = limit, clock
        self._window, self._asked = -1, Counter[str]()

    def take(self, who: str) -> tuple[int, int]:
        """Count a request; give how many are left in this window (negative: it is refused) and its seconds."""
        now = self._clock()
        window = int(now // WINDOW)
        if window != self._window:
            self._window, self._asked = window, Counter()
        if who not in self._asked and len(self._asked) >= MAX_COUNTED_KEYS:
            who = _OTHERS
        self._asked[who] += 1
        return self.limit - self._asked[who], WINDOW - int(now % WINDOW)


def members(rate: Rate, wait: int, who: str = "this address") -> Members:
    """Explain a refused request: `wait` is the seconds until its window ends."""
    detail = f"At most {rate.limit} requests a minute are answered to {who}. Wait {wait} seconds, then try again."
    return {
        "detail": detail,
        "limit": Limit(name="requests", value=rate.limit, unit="requests a minute", retry_after=wait),
    }
