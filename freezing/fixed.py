"""Fixed time and randomness for frozen files: streams and a clock to hand in, and a fallback for other code.

The month is made with arguments alone. The command line opens homes by itself, so `hold` replaces what it reads: the
home's clock and every source of randomness. It runs in a process of its own, before anything of the product is
imported, because default arguments are bound when their function is made.
"""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

WIDTH = "100"  # columns of a terminal
ROOMS = ("vault", "verifiers", "grammars", "sandbox", "rotation", "quarterturn")


class Stream:
    """Repeatable bytes; each length has a sequence of its own, so that one more nonce changes no key and no salt."""

    def __init__(self, label: str) -> None:
        self._label, self._drawn = label, Counter[int]()

    def __call__(self, size: int) -> bytes:
        self._drawn[size] += 1
        seed = f"test-{self._label}/{size}/{self._drawn[size]}"
        return hashlib.shake_256(seed.encode()).digest(size)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, at: str) -> None:
        self.set(at)

    def set(self, at: str) -> None:
        self._at = datetime.fromisoformat(at).astimezone(UTC)

    def __call__(self) -> datetime:
        return self._at

    def forward(self, **by: float) -> None:
        self._at += timedelta(**by)


class Held:
    """What the process reads instead of the machine's time and randomness."""

    def __init__(self, at: str) -> None:
        self.clock, self._stream = Clock(at), Stream("process")

    def entropy(self, size: int) -> bytes:
        return self._stream(size)

    def begin(self, label: str, at: str) -> None:
        """Start over, so that what is drawn for one command does not depend on earlier ones."""
        self.clock.set(at)
        self._stream = Stream(label)


def hold(at: str) -> Held:
    """Replace time, randomness and account in this process, before anything of the product is imported."""
    if early := [name for name in ROOMS if name in sys.modules]:
        raise RuntimeError(f"hold time and randomness before {early[0]} is imported: its defaults are bound by then")
    held = Held(at)

    def choice(items: Sequence[Any]) -> Any:
        return items[int.from_bytes(held.entropy(8), "big") % len(items)]

    for name in [name for name in os.environ if name.startswith("QUARTERTURN_")]:
        del os.environ[name]
    os.environ |= {"LOGNAME": "test-house", "COLUMNS": WIDTH}  # who it runs as stands in the access log
    os.urandom = held.entropy
    import multiprocessing.process  # noqa: F401 - draws a key when it is first imported, whoever does that

    random._urandom = held.entropy  # type: ignore[attr-defined]  # `secrets` and `random.SystemRandom` draw from it
    secrets.choice, secrets.token_bytes = choice, held.entropy  # type: ignore[assignment]
    secrets.token_hex = lambda nbytes=32: held.entropy(nbytes).hex()
    time.time = lambda: held.clock().timestamp()
    _fix_keys(held.entropy)
    _fix_clock(held.clock)
    return held


def _fix_keys(entropy: Callable[[int], bytes]) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.from_private_bytes
    Ed25519PrivateKey.generate = staticmethod(lambda: made(entropy(32)))  # type: ignore[method-assign, assignment]


def _fix_clock(clock: Clock) -> None:
    import quarterturn.wall_clock

    quarterturn.wall_clock.now = clock
