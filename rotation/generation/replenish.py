"""Replenishment of reviewed tasks for the next turn: counting what is missing, and drawing it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from rotation.calendar import Month
from rotation.generation.generate import TaskGenerator
from rotation.generation.known_tasks import KnownTasks
from rotation.generation.yield_stats import YieldStats
from rotation.month.sets import SetSpec, Stratum
from rotation.month.store import MonthStore
from rotation.turn.draw_seeds import draw_seed
from rotation.turn.plan import committed
from sandbox.boxes.box import Box
from vault.store.tasks import TaskRecord, Vault
from vault.task.lifecycle import TaskState


class Replenishment:
    """The supply of one home's next turn.

    Args:
        vault: the sealed tasks, and the seed of the next draw.
        months: cohorts and turns.
        spec: the set's composition.
        known: the skeletons from which nothing is drawn any more.
        generator: gives what generates tasks for an author and proves them in a box.
    """

    def __init__(
        self,
        vault: Vault,
        months: MonthStore,
        spec: SetSpec,
        known: KnownTasks,
        generator: Callable[[str, Box], TaskGenerator],
    ) -> None:
        self._vault, self._months, self._spec, self._known, self._generator = vault, months, spec, known, generator

    def wanted(self) -> dict[Stratum, int]:
        """Count the tasks that the next turn needs of each stratum beyond those that wait for it already.

        Only what can enter counts: a task whose skeleton was seen meanwhile, or that shares one with another, cannot,
        nor can one of an earlier draw that was not promised at its turn.
        """
        barred, month = self._known.spent(), self._promised_month()
        cohorts = self._entering(month)
        promised = {record.id for record in committed(self._vault)}
        usable = {
            (Stratum.of(record), record.skeleton_tag)
            for record in self._ready()
            if record.may_enter(month) or record.id in promised
        }
        ready = Counter(stratum for stratum, tag in usable if tag not in barred)
        spec = self._spec
        needed = {s: cohorts * count + spec.reserve.get(s, 0) for s, count in spec.per_cohort.items()}
        return {stratum: count - ready[stratum] for stratum, count in needed.items() if count > ready[stratum]}

    def fill(
        self, missing: Mapping[Stratum, int], *, box: Box, author: str, on_done: Callable[[], None] = lambda: None
    ) -> YieldStats:
        """Draw and admit what is missing, from the seed that was committed for this draw.

        The very first draw has no earlier statement that could have committed to its seed, so it takes a fresh one. A
        later draw that was interrupted gives, when it is made again, the tasks that it would have given: what the same
        seed gave already is passed over and not barred within its stratum.
        """
        month = self._promised_month()
        seed = draw_seed(Month.parse(month), self._vault, who=author) if month else os.urandom(32)
        barred, kept = self._known.spent(), defaultdict[Stratum, set[str]](set)
        for record in self._ready():
            of_this_draw = month and record.drawn_for == month
            (kept[Stratum.of(record)] if of_this_draw else barred).add(record.skeleton_tag)
        return self._generator(author, box).fill(
            missing,
            seed,
            author=author,
            around=self._known.index(who=author),
            barred=barred,
            kept=kept,
            drawn_for=month,
            on_done=on_done,
        )

    def _entering(self, month: str) -> int:
        """Count the cohorts that enter at the next turn; none does in a month in which none retires."""
        if not month:
            return self._spec.cohorts
        return 1 if self._months.cohort_retiring(Month.parse(month)) else 0

    def _promised_month(self) -> str:
        """Return the month of the next turn, for whose draw the log promised a seed; empty before the first turn."""
        turns = [turn for turn in self._months.turns() if turn.finished]
        return str(turns[-1].month.plus(1)) if turns else ""

    def _ready(self) -> Iterator[TaskRecord]:
        for state in (TaskState.ADMITTED, TaskState.REVIEWED):
            yield from self._vault.records(state)
