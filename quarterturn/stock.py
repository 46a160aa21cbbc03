"""Keeping enough reviewed tasks for the next turn: what is missing, drawing it, and taking hand-written ones in."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from grammars.admission import admit
from grammars.grammar import Draft
from grammars.prover import Prover
from quarterturn.errors import Malformed, Refused
from quarterturn.supply import Supply, Tally
from quarterturn.wiring import House
from rotation.promise import draw_seed
from rotation.sets import COHORTS, Stratum
from sandbox.box import Box
from sandbox.prover import BoxProver
from vault.canonical import parse_object
from vault.db import transaction
from vault.lifecycle import State
from vault.store import TaskRecord

MAX_LINE = 1024 * 1024


def wanted(house: House) -> dict[Stratum, int]:
    """Count the tasks that the next turn needs of each stratum beyond those that are admitted or reviewed."""
    cohorts = 1 if house.months.cohorts() else COHORTS
    ready = Counter(
        Stratum(record.server, record.category, record.difficulty)
        for state in (State.ADMITTED, State.REVIEWED)
        for record in house.vault.records(state)
    )
    needed = {stratum: cohorts * count + house.spec.reserve for stratum, count in house.spec.per_cohort.items()}
    return {stratum: count - ready[stratum] for stratum, count in needed.items() if count > ready[stratum]}


def fill(
    house: House,
    missing: Mapping[Stratum, int],
    *,
    box: Box,
    author: str,
    on_done: Callable[[], None] = lambda: None,
) -> Tally:
    """Draw and admit what is missing, from the seed that was committed for this draw.

    The very first draw has no earlier statement that could have committed to its seed, so it takes a fresh one.
    """
    turns = house.months.turns()
    first = not any(turn.finished for turn in turns)
    seed = os.urandom(32) if first else draw_seed(turns[-1].month.plus(1), house.vault, who=author)
    ready = [r.skeleton_tag for state in (State.ADMITTED, State.REVIEWED) for r in house.vault.records(state)]
    supply = Supply(house.grammars, house.vault, house.drafts, cast("Prover", BoxProver(box)))
    return supply.fill(
        missing,
        seed,
        author=author,
        workers=house.settings.run.workers,
        barred={*house.months.taken(), *house.months.seen(), *ready},
        on_done=on_done,
    )


def read_drafts(data: bytes, what: str) -> list[Draft]:
    """Read JSON lines of `{"task": {...}, "provenance": {...}}`.

    Raises:
        Malformed: a line is not of that form; the message gives its number.
    """
    drafts = []
    for number, line in enumerate(data.splitlines(), 1):
        place = f"{what}, line {number}"
        document = parse_object(line, place, max_size=MAX_LINE)
        if set(document) != {"task", "provenance"} or not all(isinstance(part, dict) for part in document.values()):
            raise Malformed(f'{place} must be an object with "task" and "provenance", each an object')
        provenance = document["provenance"]
        missing = {"template", "skeleton", "solutions", "mutants", "given"} - set(provenance)
        if missing:
            raise Malformed(f"{place}: the provenance lacks {', '.join(sorted(missing))}")
        drafts.append(Draft(document["task"], provenance))
    if not drafts:
        raise Malformed(f"{what} is empty")
    return drafts


def take_in(house: House, drafts: Sequence[Draft], *, box: Box, author: str) -> list[TaskRecord]:
    """Admit hand-written drafts, and keep all of them or none.

    Raises:
        Refused: a draft stayed out at a gate; nothing was kept.
    """
    prover = cast("Prover", BoxProver(box))
    admissions = [admit(draft, prover) for draft in drafts]
    for draft, admission in zip(drafts, admissions, strict=True):
        for gate in admission.failed:
            raise Refused(
                f"task {draft.task.get('id', '?')} stays out at gate {gate.number} ({gate.name}): {gate.detail}"
            )
    for draft in drafts:  # the blind index is made outside of the transaction, where it may write
        house.vault.tag("skeleton", draft.skeleton)
    with transaction(house.engine) as session:
        return [
            house.drafts.keep(draft, admission, author=author, public_grammar=False, session=session)
            for draft, admission in zip(drafts, admissions, strict=True)
        ]
