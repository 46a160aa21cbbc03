"""Shared/exclusive lock: held by up to a number of threads together, or by one alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Turns(Protocol):
    """Turns of those who share something, and of those who have to be alone with it."""

    def shared(self) -> AbstractContextManager[None]:
        """Hold it together with others."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Hold it alone."""
        ...


class SharedLock:
    """Shared/exclusive lock: any number of threads, or at most `most`, or one alone, which has priority."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._sharing = self._waiting = 0
        self._alone = False

    @property
    def awaited(self) -> bool:
        """Whether a thread waits for exclusive use."""
        return self._waiting > 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting and self._sharing != self._most)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock exclusively."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._alone and not self._sharing)
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
