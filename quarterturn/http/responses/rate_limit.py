"""Rate limiter: counts requests a minute by address or token, in fixed windows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

WINDOW = 60
MOST = 100_000
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
        if who not in self._asked and len(self._asked) >= MOST:
            who = _OTHERS
        self._asked[who] += 1
        return self.limit - self._asked[who], WINDOW - int(now % WINDOW)
