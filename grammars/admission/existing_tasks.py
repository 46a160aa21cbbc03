"""Index of existing tasks and barred skeletons that a draft is checked against for duplicates. Thread-safe.

Skeletons are identified by their keyed tags, tasks by their sketches and by the wordings of their goals; all of these
are passed in, so that nothing here opens a sealed task.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from grammars.admission.duplicates import Neighbours, Sketch, wording
from grammars.language.grammar import Draft


class TaskIndex:
    """The existing tasks of one home and the public ones; implements `grammars.admission.gates.ExistingTasks`.

    Args:
        sketches: the sketches of the existing tasks, by name.
        barred: tags of the skeletons that are live in a cohort, or were seen.
        tag: computes a skeleton's tag.
        said: maps the `wording` of each public task to its name.
        told: finds the home's task whose goal has a draft's words (`grammars.admission.store.Drafts.told`).
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
        """Name another task whose goal has the same words; if there is none, register the draft's words.

        The draft must still have the placeholders of its free parameters.
        """
        with self._lock:
            first = self._said.setdefault(wording(draft.task), draft.id)
        return first if first != draft.id else self._told(draft)

    def trouble(self, draft: Draft) -> str | None:
        """Say why a draft is refused beside the existing tasks; otherwise add it to them and give None."""
        if self._barred and self._tag(draft.skeleton) in self._barred:
            return "its skeleton is live in a cohort, or was seen"
        near = self._neighbours.join(draft.id, Sketch.of(draft.task))
        return f"near-duplicate of task {near.name}: {near.similarity:.0%} of the text is the same" if near else None
