"""Synthetic benchmarks in which every submitter is served their own values, and agents say values that they were not
shown: by chance, from habit, or because they learned a leaked text.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rotation.detection.statistics.served_values import SaidValues, dated, served_values
from rotation.detection.statistics.table import ResultTable

from .worlds import table_of

HONEST = ("quiet", "stray", "favourites", "spray", "scaffold", "habits")


@dataclass(frozen=True)
class EchoWorld:
    """A benchmark of some months; a quarter of its tasks is new in each.

    Attributes:
        choices: of each parameter of a task.
        manners: what honest agents do, in turn: say nothing (`quiet`), random values (`stray`), their favourite ones
            (`favourites`), half of a list (`spray`), the same as others with their scaffold (`scaffold`), or what they
            said before (`habits`).
        stray: values that an agent of any manner but `quiet` says in a month.
        known: share of the exposed tasks that the first submitter learned; 0 if nothing leaked.
        repeated: share of the known tasks in which they repeat the text in a month.
        together: values that one text holds.
        sources: of how many submitters' variants of the month before they learned; 0 for their own earlier month.
        begins: the month in which they begin to repeat.
    """

    submitters: int = 20
    live: int = 200
    months: int = 4
    choices: tuple[int, ...] = (512, 512, 512)
    manners: tuple[str, ...] = ("stray",)
    stray: int = 20
    known: float = 0.0
    repeated: float = 0.0
    together: int = 3
    sources: int = 1
    begins: int = 2

    def live_in(self, month: int) -> range:
        quarter = self.live // 4
        return range((month - 1) * quarter, (month + 3) * quarter)


@dataclass(frozen=True)
class EchoRow:
    """One result: who ran which task in which month, and the `foreign` field of its line."""

    month: int
    submitter: str
    task: int
    foreign: list[dict[str, Any]]


def play(world: EchoWorld, seed: int, redrawn: int = 0) -> ResultTable:
    """Play a world, and give its table; only what the echo detector reads of it is filled in.

    With `redrawn` the values of all others are drawn again, and what was said and served to oneself stays: as honest as
    the draw itself, whatever the agents do.
    """
    said = tuple(
        SaidValues(row.month, row.submitter, str(row.task), dated(served_values(row.foreign), row.month))
        for row in rows(world, seed, redrawn, silent=False)
    )
    runs = [(month, who) for month in range(1, world.months + 1) for who in range(world.submitters)]
    nothing = np.zeros((len(runs), 0), dtype=bool)
    return table_of(
        nothing,
        nothing,
        runs=tuple(f"{month}-{who}" for month, who in runs),
        submitter=np.array([who for _, who in runs], dtype=np.int64),
        rotation=np.array([month for month, _ in runs], dtype=np.int64),
        submitters=tuple(f"s{who:02}" for who in range(world.submitters)),
        said=said,
    )


def rows(world: EchoWorld, seed: int, redrawn: int = 0, *, silent: bool = True) -> Iterator[EchoRow]:
    """Yield the results of a world, by month, submitter and task; for `redrawn` see `play`.

    Without `silent`, results in which nothing foreign is said are left out.
    """
    chance, drawn = random.Random(f"agents-{seed}"), _drawn(world, (seed, 1))
    others = _drawn(world, (seed, 1, redrawn)) if redrawn else drawn
    agents = [_Agent(world, world.manners[who % len(world.manners)], who, seed) for who in range(world.submitters)]
    notebook = _notebook(world, drawn, chance)
    for month in range(1, world.months + 1):
        for who, agent in enumerate(agents):
            said = agent.said(month)
            if who == 0 and month >= world.begins:
                for task, values in notebook.items():
                    if task in world.live_in(month - 1) and chance.random() < world.repeated:
                        for parameter, choice in values:
                            said[task, parameter].add(choice)
            spoken = {task for task, _ in said}
            for task in world.live_in(month):
                if silent or task in spoken:
                    foreign = list(_foreign(world, drawn, others, said, month, who, task))
                    if silent or any(values["said"] for values in foreign):
                        yield EchoRow(month, f"s{who:02}", task, foreign)


def _drawn(world: EchoWorld, seed: tuple[int, ...]) -> Any:
    """Draw the choices that each submitter is served: by month, submitter, task and parameter."""
    drawing, tasks = np.random.default_rng(seed), world.live_in(world.months).stop
    shape = (world.months + 1, world.submitters, tasks)
    return np.stack([drawing.integers(0, n, shape) for n in world.choices], axis=-1).tolist()


def _notebook(world: EchoWorld, drawn: Any, chance: random.Random) -> dict[int, list[tuple[int, int]]]:
    """Choose which tasks the leaker knows, from whom, and which of their values one text holds."""
    book = {}
    others = chance.sample(range(1, world.submitters), world.sources) if world.sources else [0]
    for task in range(world.live_in(world.months).stop):
        if chance.random() < world.known:
            first = max(1, task // (world.live // 4) - 2)
            month = max(first, world.begins - 1)
            values = drawn[month][chance.choice(others)][task]
            held = chance.sample(range(len(world.choices)), min(world.together, len(world.choices)))
            book[task] = [(parameter, values[parameter]) for parameter in held]
    return book


class _Agent:
    """What one honest agent says in a month, whatever it was served."""

    def __init__(self, world: EchoWorld, manner: str, who: int, seed: int) -> None:
        self._world, self._manner = world, manner
        self._chance = random.Random(f"{seed}-scaffold" if manner == "scaffold" else f"{seed}-{who}")
        self._favourites = [self._chance.sample(range(n), min(8, n)) for n in world.choices]
        self._before: dict[tuple[int, int], set[int]] = defaultdict(set)

    def said(self, month: int) -> dict[tuple[int, int], set[int]]:
        world, chance, said = self._world, self._chance, defaultdict(set)
        for _ in range(0 if self._manner == "quiet" else world.stray):
            task, parameter = chance.choice(world.live_in(month)), chance.randrange(len(world.choices))
            n = world.choices[parameter]
            if self._manner == "favourites":
                said[task, parameter] |= set(self._favourites[parameter])
            elif self._manner == "spray":
                said[task, parameter] |= set(chance.sample(range(n), n // 2))
            else:
                said[task, parameter].add(chance.randrange(n))
        if self._manner == "habits":
            for place, values in self._before.items():
                if place[0] in world.live_in(month):
                    said[place] |= values
            for place, values in said.items():
                self._before[place] |= values
        return said


def _foreign(  # noqa: PLR0917 - the place of one value
    world: EchoWorld, drawn: Any, others: Any, said: dict[tuple[int, int], set[int]], month: int, who: int, task: int
) -> Iterator[dict[str, Any]]:
    served = [past for past in range(1, month + 1) if task in world.live_in(past)]
    for parameter, choices in enumerate(world.choices):
        own: dict[str, list[int]] = defaultdict(list)
        elsewhere: dict[int, list[str]] = defaultdict(list)
        words = said.get((task, parameter), set()) - {drawn[month][who][task][parameter]}
        if words:
            for past in served:
                for other in range(world.submitters):
                    if other != who:
                        elsewhere[others[past][other][task][parameter]].append(f"s{other:02}|{past}")
        for past in served:
            own[str(drawn[past][who][task][parameter])].append(past)
        yield {
            "parameter": f"p{parameter}",
            "choices": choices,
            "own": dict(own),
            "said": sorted(words),
            "elsewhere": {str(choice): elsewhere[choice] for choice in sorted(words & set(elsewhere))},
            "drawn": sorted(elsewhere),
        }
