"""Public dev sets, drawn from the shipped grammars with the fixed seed below.

They are for trying an agent out, and give everything back: verdicts, evidence and transcripts. Their tasks are public
from the start, so no score on them is ever ranked, and none of their skeletons is ever drawn for a private set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from grammars.draw.variants import base
from grammars.errors import Exhausted
from grammars.language.grammar import Draft, Grammar
from rotation.errors import NotFound
from rotation.month.draw import drafts
from rotation.month.sets import SETS, SetSpec, Stratum, TraitQuota
from rotation.month.trait_quotas import demands
from vault.task.document import Task

Shipped = Callable[[Iterable[str]], Mapping[str, Grammar]]
SEED = hashlib.sha256(b"quarterturn/dev/v1").digest()


def draw(grammars: Mapping[str, Grammar], spec: SetSpec) -> list[Draft]:
    """Draw a set's dev tasks, each of a skeleton of its own; the same ones every time.

    Raises:
        NotFound: there is no grammar for one of its servers.
        Exhausted: a grammar has too few skeletons.
    """
    spec.require_dev_grammars(grammars)
    by_server = tuple(grammars[server] for server in spec.dev_servers)
    return list(_drawn(by_server, tuple(sorted(spec.dev.items())), spec.trait_quotas))


def tasks(grammars: Mapping[str, Grammar], spec: SetSpec, *, first: int | None = None) -> list[Task]:
    """Give a set's dev tasks, or only so many of them.

    Raises:
        NotFound, Exhausted: as for `draw`.
    """
    return [Task.parse(draft.task) for draft in draw(grammars, spec)[:first]]


def public(grammars: Mapping[str, Grammar], *own: SetSpec) -> list[Draft]:
    """Give the tasks of every dev set that can be drawn, shipped or `own`: what everybody can know."""
    drawn: dict[str, Draft] = {}
    for spec in (*SETS.values(), *own):
        with suppress(NotFound, Exhausted):  # of what cannot be drawn, nobody knows anything
            drawn |= {draft.id: draft for draft in draw(grammars, spec)}
    return list(drawn.values())


def recognised(tasks: Sequence[Task], shipped: Shipped, *own: SetSpec) -> dict[str, Draft]:
    """Return by id the drafts of the dev sets, `own` or shipped, that have the ids of these tasks.

    Only what tells is drawn: sets in turn until every task was found, and of each the cells (server and category) that
    a task is of. A draw of one cell does not depend on the others, since no skeleton is of two.

    Args:
        tasks: what may be of a dev set.
        shipped: returns the shipped grammars of some servers.
        own: sets beside the shipped ones, which are looked at first.
    """
    found: dict[str, Draft] = {}
    for spec in (*own, *SETS.values()):
        cells = frozenset((task.server, task.category) for task in tasks if task.id not in found)
        mix = tuple(sorted(spec.dev.items()))
        servers = {stratum.server for stratum, _ in mix if (stratum.server, stratum.category) in cells}
        if not servers:
            continue
        if spec.trait_quotas:  # which strata they bind is drawn by lot among all
            servers = set(spec.dev_servers)
        with suppress(NotFound, Exhausted):
            grammars = shipped(sorted(servers))
            found |= {draft.id: draft for draft in _drawn(tuple(grammars.values()), mix, spec.trait_quotas, cells)}
    return found


@lru_cache(maxsize=16)
def _drawn(
    grammars: tuple[Grammar, ...],
    mix: tuple[tuple[Stratum, int], ...],
    quotas: tuple[TraitQuota, ...],
    cells: frozenset[tuple[str, str]] | None = None,
) -> tuple[Draft, ...]:
    by_server = {grammar.server: grammar for grammar in grammars}
    demanded = demands(quotas, by_server, SEED)
    chosen: list[Draft] = []
    used: set[str] = set()
    for stratum, count in mix:
        if cells is not None and (stratum.server, stratum.category) not in cells:
            continue
        stream = drafts(by_server, stratum, SEED, exclude=lambda: used, mix=dict(mix), demands=demanded)
        for _ in range(count):
            draft = base(next(stream))
            used.add(draft.skeleton)
            chosen.append(draft)
    return tuple(chosen)
