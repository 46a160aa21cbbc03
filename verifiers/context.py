"""What one evaluation shares between its probes: the views, and what was opened to look at them.

A repository or a database is opened once however many predicates ask about it. Whether opening it worked or failed, the
next probe gets the same outcome, and everything is closed when the evaluation ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import TypeVar, cast

from verifiers.errors import Unreadable, VerifierError
from verifiers.views import Tree, Views

T = TypeVar("T")


class Context:
    """The views and a cache; use it as a context manager."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._outcomes: dict[Hashable, object] = {}
        self.closing = ExitStack()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()

    @property
    def answer(self) -> str | None:
        """What the agent answered, or None."""
        return self._views.answer

    def tree(self, namespace: str) -> Tree:
        """Give a namespace's state.

        Raises:
            Unreadable: it was not read out.
        """
        tree = self._views.states.get(namespace)
        if tree is None:
            raise Unreadable(f"the state of {namespace} is not among the views: it could not be read out")
        return tree

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give what `make` gave, or raise what it raised, the first time that it was asked for under `key`."""
        if key not in self._outcomes:
            try:
                self._outcomes[key] = make()
            except VerifierError as error:
                self._outcomes[key] = error
        outcome = self._outcomes[key]
        if isinstance(outcome, VerifierError):
            raise outcome
        return cast("T", outcome)
