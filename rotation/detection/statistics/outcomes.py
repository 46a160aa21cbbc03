"""Builder of the detectors' `ResultTable` from single task outcomes in any order. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Ints, ResultTable


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The outcome of one task in one run; for the meaning of each field see `ResultTable`.

    `run` is the run's name: runs of one submitter and rotation are sorted by the bytes of their names. `tools` are the
    names of the called tools, in order.
    """

    rotation: int
    submitter: str
    run: str
    task: str
    family: str
    server: str
    first: int
    cap: int
    passed: bool
    calls: int
    tools: tuple[str, ...]
    exposed: bool


def table_of(outcomes: Collection[TaskOutcome]) -> ResultTable:
    """Arrange outcomes as a table of runs by tasks; each run has at most one outcome per task."""
    runs = sorted({(outcome.rotation, outcome.submitter.encode(), outcome.run.encode()) for outcome in outcomes})
    tasks = {
        outcome.task: outcome
        for outcome in sorted(outcomes, key=lambda outcome: (outcome.task.encode(), outcome.first))
    }
    submitters = _names(outcome.submitter for outcome in outcomes)
    servers = _names(outcome.server for outcome in tasks.values())
    families = _names(outcome.family for outcome in tasks.values())
    place = {run: index for index, run in enumerate(runs)}
    column = {task: index for index, task in enumerate(tasks)}
    shape = (len(runs), len(tasks))
    taken, passed, exposed = (np.zeros(shape, dtype=np.bool_) for _ in range(3))
    calls, sequence = np.zeros((2, *shape), dtype=np.int64)
    sequences = {tools: index for index, tools in enumerate(sorted({outcome.tools for outcome in outcomes}))}
    for outcome in outcomes:
        cell = place[outcome.rotation, outcome.submitter.encode(), outcome.run.encode()], column[outcome.task]
        taken[cell], passed[cell], calls[cell], exposed[cell] = True, outcome.passed, outcome.calls, outcome.exposed
        sequence[cell] = sequences[outcome.tools]
    return ResultTable(
        runs=tuple(name.decode() for _, _, name in runs),
        submitter=_ints([submitters[who.decode()] for _, who, _ in runs]),
        rotation=_ints([rotation for rotation, _, _ in runs]),
        submitters=tuple(submitters),
        tasks=tuple(tasks),
        family=_ints([families[outcome.family] for outcome in tasks.values()]),
        families=tuple(families),
        server=_ints([servers[outcome.server] for outcome in tasks.values()]),
        first=_ints([outcome.first for outcome in tasks.values()]),
        cap=_ints([outcome.cap for outcome in tasks.values()]),
        taken=taken,
        passed=passed,
        calls=calls,
        sequence=sequence,
        exposed=exposed,
    )


def _names(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(sorted(set(names), key=str.encode))}


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
