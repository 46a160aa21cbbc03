"""Protocol of progress output, which long steps report to; the command line shows it on standard error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Progress(Protocol):
    """Output for progress (`quarterturn.cli.terminal.output.Output`)."""

    def say(self, text: str) -> None:
        """Say something that belongs to no result."""
        ...

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Return a context manager that yields `advance(steps)`."""
        ...


class NullProgress:
    """Discards progress: how far a submission is must not be disclosed."""

    def say(self, text: str) -> None:
        """Discard it."""

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG002
        """Discard it."""
        return nullcontext(lambda _steps: None)
