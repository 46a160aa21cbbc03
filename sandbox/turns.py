"""Turns: a lock that several threads share, up to a number, or that one has alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Any number of threads at a time, or at most `most`, or one alone: who wants to be alone goes first."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._sharing = self._waiting = 0
        self._alone = False

    @property
    def awaited(self) -> bool:
        """Whether somebody waits to be alone."""
        return self._waiting > 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Be one of those who share."""
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
        """Be the only one."""
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
