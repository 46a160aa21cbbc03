"""Known tasks: what a new draft must differ from, and the skeletons from which nothing is drawn any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammars.admission.duplicates import Sketch, wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.store import Drafts
from grammars.language.derivation import skeletons
from grammars.language.grammar import Grammar
from rotation.generation import shipped_dev_sets
from rotation.month.sets import SetSpec
from rotation.month.store import MonthStore
from vault.store.tasks import Vault


@dataclass(frozen=True, slots=True)
class UsedSkeletons:
    """The ids of a grammar's skeletons that are live in a cohort, and of those that were seen."""

    live: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()


class KnownTasks:
    """The tasks of one home, and those of the dev sets, which everybody knows.

    Args:
        vault: the sealed tasks; it computes the tags.
        months: the cohorts, with the tags of their skeletons.
        drafts: the store with the sketches and wordings of all tasks.
        spec: the home's set, with a dev set of its own.
    """

    def __init__(
        self,
        vault: Vault,
        months: MonthStore,
        drafts: Drafts,
        spec: SetSpec,
    ) -> None:
        self._vault, self._months, self._drafts, self._spec = vault, months, drafts, spec

    def index(self, *, who: str) -> TaskIndex:
        """Return what a new draft must differ from: every task of the home, and the dev sets."""
        public = shipped_dev_sets.public(self._spec)
        sketches = {draft.id: Sketch.of(draft.task) for draft in public}
        return TaskIndex(
            sketches | self._drafts.sketches(who=who, why="look for near-duplicates"),
            self.spent(),
            self._tag,
            said={wording(draft.task): draft.id for draft in public},
            told=self._drafts.told,
        )

    def spent(self) -> set[str]:
        """Return the tags of the skeletons from which nothing may enter any more."""
        public = {self._tag(draft.skeleton) for draft in shipped_dev_sets.public(self._spec)}
        return {*self._months.taken(), *self._months.seen(), *public}

    def used(self, grammar: Grammar) -> UsedSkeletons:
        """Turn the home's tags back into the ids of a grammar's skeletons."""
        live, seen = self._months.taken(), self._months.seen()
        public = {draft.skeleton for draft in shipped_dev_sets.public(self._spec)}
        tags = {skeleton.id: self._tag(skeleton.id) for skeleton in skeletons(grammar)}
        return UsedSkeletons(
            frozenset(name for name, tag in tags.items() if tag in live),
            frozenset(name for name, tag in tags.items() if tag in seen or name in public),
        )

    def count_unpublished(self, skeleton_ids: Iterable[str]) -> int:
        """Count the skeletons, among those of these ids, that tasks of unpublished cohorts have."""
        taken = self._months.taken()
        return sum(self._tag(skeleton) in taken for skeleton in skeleton_ids)

    def _tag(self, skeleton: str) -> str:
        return self._vault.tag("skeleton", skeleton)
