"""What a draft must be told apart from: every task that there is, and every skeleton that is live or spent.

Skeletons are known by their keyed tags, tasks by their sketches; both are handed in, so that nothing here opens
anything. Threads may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from grammars.duplicates import Neighbours, Sketch
from grammars.grammar import Draft


class Around:
    """The tasks of one home and the public ones (`grammars.admission.Surroundings`).

    Args:
        sketches: of the tasks that there are, by name.
        barred: tags of the skeletons that are live in a cohort, or were seen.
        tag: gives a skeleton's tag.
    """

    def __init__(
        self,
        sketches: Mapping[str, Sketch] | None = None,
        barred: Collection[str] = (),
        tag: Callable[[str], str] = str,
    ) -> None:
        self._neighbours, self._barred, self._tag = Neighbours(), frozenset(barred), tag
        for name, sketch in (sketches or {}).items():
            self._neighbours.add(name, sketch)

    def trouble(self, draft: Draft) -> str | None:
        """Say why a draft cannot stand beside the others, or take it in among them."""
        if self._barred and self._tag(draft.skeleton) in self._barred:
            return "its skeleton is live in a cohort, or was seen"
        near = self._neighbours.join(draft.id, Sketch.of(draft.task))
        return f"it is nearly task {near.name}: they share {near.similarity:.0%} of what they say" if near else None
