"""Protocols of what plays servings: here (`sandbox.servings.local_player`), or on a runner elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from sandbox.errors import Lost
from sandbox.servings.handed_in import HandIn
from sandbox.servings.serving import Serving


def require_wanted(stop: threading.Event) -> None:
    """Give a serving up where nobody wants it any more.

    Raises:
        Lost: `stop` is set.
    """
    if stop.is_set():
        raise Lost("the run was interrupted; nothing of it counts")


class PreparedServing(Protocol):
    """A serving that is ready but for the first instruction of its agent, or that could not be made ready."""

    def play(self, record_serving: Callable[[], None], stop: threading.Event) -> HandIn:
        """Play it once, and return what was left; whatever breaks on the way is a fact in there.

        Args:
            record_serving: called once, right before the agent is let go; what it raises is raised.
            stop: set when nobody wants it any more.
        """
        ...

    def close(self) -> None:
        """Take down what is left of it; safe to call twice, and where it was never played."""
        ...


class ServingPlayer(Protocol):
    """Plays servings; any number of threads may ask at a time.

    Attributes:
        workers: how many agents are at work at a time, while other servings are made ready or taken down.
    """

    @property
    def workers(self) -> int: ...  # noqa: D102

    def check(self) -> None:
        """Make sure that servings can be played.

        Raises:
            Unavailable: they cannot; the message says what to install or start.
        """
        ...

    def prepare(self, serving: Serving) -> PreparedServing:
        """Make a serving ready; what breaks is a fact in its hand-in.

        Raises:
            Malformed: its state is none that its servers know.
        """
        ...
