"""What a draft must be told apart from: every task that there is, and every skeleton that is live or spent.

Skeletons are known by their keyed tags, tasks by their sketches and by the words that they are told in; all of it is
handed in, so that nothing here opens anything. Threads may share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from grammars.admission.duplicates import Neighbours, Sketch, wording
from grammars.language.grammar import Draft


class Around:
    """The tasks of one home and the public ones (`grammars.admission.gates.Surroundings`).

    Args:
        sketches: of the tasks that there are, by name.
        barred: tags of the skeletons that are live in a cohort, or were seen.
        tag: gives a skeleton's tag.
        said: the `wording` of tasks that everybody knows, with their names.
        told: gives the task of the home that is told in a draft's words (`grammars.admission.store.Drafts.told`).
    """

    def __init__(
        self,
        sketches: Mapping[str, Sketch] | None = None,
        barred: Collection[str] = (),
        tag: Callable[[str], str] = str,
        said: Mapping[str, str] | None = None,
        told: Callable[[Draft], str | None] = lambda _: None,
    ) -> None:
        self._neighbours, self._barred, self._tag = Neighbours(), frozenset(barred), tag
        self._said, self._told, self._lock = dict(said or {}), told, threading.Lock()
        for name, sketch in (sketches or {}).items():
            self._neighbours.add(name, sketch)

    def told(self, draft: Draft) -> str | None:
        """Name another task that is told in the draft's words; if there is none, the words are the draft's from now on.

        The draft must be as it was drawn, with its free values open.
        """
        with self._lock:
            first = self._said.setdefault(wording(draft.task), draft.id)
        return first if first != draft.id else self._told(draft)

    def trouble(self, draft: Draft) -> str | None:
        """Say why a draft cannot stand beside the others, or take it in among them."""
        if self._barred and self._tag(draft.skeleton) in self._barred:
            return "its skeleton is live in a cohort, or was seen"
        near = self._neighbours.join(draft.id, Sketch.of(draft.task))
        return f"it is nearly task {near.name}: they share {near.similarity:.0%} of what they say" if near else None
