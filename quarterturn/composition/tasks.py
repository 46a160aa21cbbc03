"""Services of the tasks: boxes that prove them, grammars, drafts, the supply of the next turn, imports, reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, cast

from quarterturn.choices import BoxName
from quarterturn.composition.auth import AuthServices
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.keys import KeyServices

if TYPE_CHECKING:
    from grammars.admission.store import Drafts
    from grammars.language.grammar import Grammar
    from grammars.language.imported import Imported
    from quarterturn.tasks.review import TaskReviews
    from rotation.generation.generate import TaskGenerator
    from rotation.generation.import_tasks import TaskImport
    from rotation.generation.known_tasks import KnownTasks
    from rotation.generation.replenish import Replenishment
    from sandbox.boxes.box import Box
    from sandbox.isolation.run_classes import RunClass
    from sandbox.runs.rejudge import JudgeAgain
    from sandbox.servings.kept_worlds import KeptWorlds


@dataclass
class TaskServices:
    """How a home gets its tasks."""

    home: OpenHome
    keys: KeyServices
    auth: AuthServices
    benchmark: BenchmarkServices
    _kept_worlds: dict[int, KeptWorlds] = field(default_factory=dict)

    def close(self) -> None:
        """End the worlds of proofs."""
        for kept in self._kept_worlds.values():
            kept.close()

    def box(self, name: BoxName | None = None, run_class: RunClass = "sealed") -> Box:
        """Return the box that was asked for, else the one that the settings name, for a class of runs."""
        from quarterturn.boxes import choose_box

        run = self.home.settings.run
        return choose_box(name or run.box, run.runtime, run_class)

    def kept_worlds(self, box: Box) -> KeptWorlds:
        """Return the worlds of proofs in a box, which all draws share until this home is closed."""
        from sandbox.servings.kept_worlds import KeptWorlds

        if id(box) not in self._kept_worlds:
            self._kept_worlds[id(box)] = KeptWorlds(box)  # it holds the box, so no other one gets that id
        return self._kept_worlds[id(box)]

    def judge_again(self) -> JudgeAgain:
        """Return what judges runs again, each in a box of the kind that it was played in."""
        from quarterturn.boxes import choose_box
        from sandbox.runs.rejudge import JudgeAgain

        return JudgeAgain(cache(lambda name: choose_box(cast("BoxName", name), self.home.settings.run.runtime)))

    @cached_property
    def grammars(self) -> Imported:
        """The grammars of its own."""
        from grammars.language.imported import Imported
        from sandbox.servers.registry import tool_table
        from verifiers.language.catalogue import CATALOGUE

        return Imported(self.home.vault, tool_table(), CATALOGUE)

    def drawn_grammars(self, who: str) -> Mapping[str, Grammar]:
        """Return the grammars that tasks are drawn from: the home's own where it has one, else the shipped ones."""
        from rotation.generation.grammars import shipped_among

        return {**shipped_among(self.benchmark.spec.servers), **self.grammars.in_force(who=who, why="draw tasks")}

    @cached_property
    def drafts(self) -> Drafts:
        """Admissions and reviews."""
        from grammars.admission.store import Drafts

        return Drafts(self.home.engine, self.home.vault, self.home.now)

    @cached_property
    def known_tasks(self) -> KnownTasks:
        """What a new draft must differ from."""
        from rotation.generation.known_tasks import KnownTasks

        return KnownTasks(self.home.vault, self.benchmark.months, self.drafts, self.benchmark.spec)

    @cached_property
    def replenishment(self) -> Replenishment:
        """The supply of the next turn."""
        from rotation.generation.replenish import Replenishment

        months, spec = self.benchmark.months, self.benchmark.spec
        return Replenishment(self.home.vault, months, spec, self.known_tasks, self._generator)

    def _generator(self, author: str, box: Box) -> TaskGenerator:
        from rotation.generation.generate import TaskGenerator
        from sandbox.runs.job import Terms
        from sandbox.runs.prover import BoxProver

        prover = BoxProver(box, Terms(claims=self.keys.admission_judge), self.kept_worlds(box))
        spec = self.benchmark.spec
        return TaskGenerator(
            self.drawn_grammars(author),
            self.home.vault,
            self.drafts,
            prover,
            mix=spec.per_cohort,
            quotas=spec.trait_quotas,
            workers=self.home.settings.run.workers,
        )

    @cached_property
    def imports(self) -> TaskImport:
        """The import of hand-written tasks."""
        from rotation.generation.import_tasks import TaskImport

        return TaskImport(self.home.vault, self.drafts, self.known_tasks, lambda: self.keys.admission_judge)

    @cached_property
    def reviews(self) -> TaskReviews:
        """The reviews of tasks."""
        from quarterturn.tasks.review import TaskReviews

        return TaskReviews(self.home.vault, self.drafts, self.auth.approvals.require, self.home.now)

    def prove_broken(self, task: str, who: str, box: BoxName | None) -> Mapping[str, Any]:
        """Prove a task again, and return what shows that it is broken.

        Raises:
            NotAllowed: the proof succeeds, so it is not.
        """
        from rotation.runs.broken import evidence_of
        from sandbox.runs.job import Terms
        from sandbox.runs.prover import BoxProver

        prover = BoxProver(self.box(box), Terms(claims=self.keys.admission_judge))
        return evidence_of(task, self.home.vault, prover, who=who)
