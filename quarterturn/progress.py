"""`Progress`: where a service says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Progress(Protocol):
    """Output for progress (`quarterturn.cli.terminal.output.Output`)."""

    def say(self, text: str) -> None:
        """Say something that belongs to no result."""
        ...

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Give a context manager that yields `advance(steps)`."""
        ...
