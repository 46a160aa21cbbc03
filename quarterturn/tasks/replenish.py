"""Replenishment of reviewed tasks for the next turn: counting what is missing, and drawing it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from grammars.admission.duplicates import Sketch, wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.language.grammar import Grammar
from quarterturn.app import Application
from quarterturn.tasks import dev_sets
from quarterturn.tasks.generate import TaskGenerator
from quarterturn.tasks.yield_stats import YieldStats
from rotation.month.sets import COHORTS, Stratum
from rotation.turn.promise import draw_seed
from sandbox.boxes.box import Box
from sandbox.runs.prover import BoxProver
from vault.store.tasks import TaskRecord
from vault.task.lifecycle import TaskState


def wanted(house: Application) -> dict[Stratum, int]:
    """Count the tasks that the next turn needs of each stratum beyond those that wait for it already.

    Only what can enter counts: a task whose skeleton was seen meanwhile, or that shares one with another, cannot.
    """
    cohorts = 1 if house.months.cohorts() else COHORTS
    barred = _spent(house)
    usable = {(Stratum.of(record), record.skeleton_tag) for record in _ready(house)}
    ready = Counter(stratum for stratum, tag in usable if tag not in barred)
    needed = {stratum: cohorts * count + house.spec.reserve for stratum, count in house.spec.per_cohort.items()}
    return {stratum: count - ready[stratum] for stratum, count in needed.items() if count > ready[stratum]}


def fill(
    house: Application,
    missing: Mapping[Stratum, int],
    *,
    box: Box,
    author: str,
    on_done: Callable[[], None] = lambda: None,
) -> YieldStats:
    """Draw and admit what is missing, from the seed that was committed for this draw.

    The very first draw has no earlier statement that could have committed to its seed, so it takes a fresh one. A later
    draw that was interrupted gives, when it is made again, the tasks that it would have given: what the same seed gave
    already is passed over and not barred within its stratum.
    """
    turns = [turn for turn in house.months.turns() if turn.finished]
    seed = draw_seed(turns[-1].month.plus(1), house.vault, who=author) if turns else os.urandom(32)
    barred, kept = set(_spent(house)), defaultdict[Stratum, set[str]](set)
    for record in _ready(house):
        of_this_draw = turns and record.created_at >= turns[-1].started_at
        (kept[Stratum.of(record)] if of_this_draw else barred).add(record.skeleton_tag)
    supply = TaskGenerator(
        grammars(house, who=author), house.vault, house.drafts, BoxProver(box), house.spec.per_cohort
    )
    return supply.fill(
        missing,
        seed,
        author=author,
        around=around(house, who=author),
        workers=house.settings.run.workers,
        barred=barred,
        kept=kept,
        on_done=on_done,
    )


def grammars(house: Application, *, who: str) -> dict[str, Grammar]:
    """Give the grammars that tasks are drawn from: the home's own where it has one, else the shipped, public ones."""
    return {**house.grammars, **house.imported.in_force(who=who, why="draw tasks")}


def around(house: Application, *, who: str) -> TaskIndex:
    """Give what a new draft must differ from: every task of the home, and the dev sets, which are public."""
    public = dev_sets.public(house.grammars)
    sketches = {draft.id: Sketch.of(draft.task) for draft in public}
    return TaskIndex(
        sketches | house.drafts.sketches(who=who, why="look for near-duplicates"),
        _spent(house),
        lambda skeleton: house.vault.tag("skeleton", skeleton),
        said={wording(draft.task): draft.id for draft in public},
        told=house.drafts.told,
    )


def _spent(house: Application) -> set[str]:
    """Give the tags of the skeletons from which nothing may enter any more."""
    public = {house.vault.tag("skeleton", draft.skeleton) for draft in dev_sets.public(house.grammars)}
    return {*house.months.taken(), *house.months.seen(), *public}


def _ready(house: Application) -> Iterator[TaskRecord]:
    for state in (TaskState.ADMITTED, TaskState.REVIEWED):
        yield from house.vault.records(state)
