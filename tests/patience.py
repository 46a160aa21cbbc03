"""How long a test waits: one limit for every wait, and the one loop that polls.

A test waits for an event and never for a time, so a wait that ends early says nothing about a machine's speed. The
limit only tells a test that hangs from one that goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

PATIENCE = 100.0
"""Seconds; the only limit that a wait in a test may have. A test has a larger one (`limits.py`): waits fail first."""
_BETWEEN = 0.01


def crowding() -> float:
    """Return how many processes share each core now, at least 1: a limit in seconds grows by it."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(condition: Callable[[], object], what: str) -> None:
    """Poll a condition until it holds; fail the test with `what` was waited for after PATIENCE."""
    start = time.monotonic()
    while not condition():
        if (waited := time.monotonic() - start) > PATIENCE and waited > PATIENCE * crowding():
            pytest.fail(f"waited {waited:.0f} s in vain for: {what}")
        time.sleep(_BETWEEN)
