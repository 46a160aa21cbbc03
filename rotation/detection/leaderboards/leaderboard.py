"""A leaderboard: one result for each agent and task, the days of tasks, and the last day that agents could know. Pure.

A task is *old* to an agent if it was published up to the agent's cutoff. That is the last day of its training data or,
where nobody says so, the day on which it was submitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from rotation.detection.statistics.outcomes import TaskOutcome, table_of
from rotation.detection.statistics.table import ResultTable
from rotation.errors import Malformed

ROTATION = 2  # of all results: old tasks are of the rotation before it


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one agent on one task.

    Attributes:
        place: where it was read, for messages.
        agent: who made it.
        task: the task's name.
        share: of the agent's samples that passed; 0 or 1 for a single one.
        day: on which the task was published.
        calls: how many tool calls the agent made.
        group: what the agent stands on: a model, a base.
        server: what the task is of: a server, a platform.
        cutoff: the last day of what the agent could have known.
    """

    place: str
    agent: str
    task: str
    share: float
    day: date | None = None
    calls: int | None = None
    group: str = ""
    server: str = ""
    cutoff: date | None = None


@dataclass(frozen=True)
class ScannedLeaderboard:
    """The results of a leaderboard, checked against each other.

    Attributes:
        results: one for each agent and task.
        day: task -> when it was published.
        cutoff: agent -> the last day of what it could have known, where that is known.
        group: agent -> what it stands on, where that is known.
        server: task -> its server, where that is known.
    """

    results: Sequence[TaskResult]
    day: Mapping[str, date]
    cutoff: Mapping[str, date]
    group: Mapping[str, str]
    server: Mapping[str, str]

    @property
    def agents(self) -> list[str]:
        """The agents, by name."""
        return sorted({result.agent for result in self.results})

    @property
    def with_calls(self) -> bool:
        """Whether every result says how many calls were made."""
        return all(result.calls is not None for result in self.results)

    def old(self, until: date) -> frozenset[str]:
        """Return the tasks that were published up to a day."""
        return frozenset(task for task, day in self.day.items() if day <= until)

    def table(self, until: date) -> ResultTable:
        """Return the detectors' table, in which the tasks published up to a day are exposed to everybody.

        Each task is a family of its own, since a leaderboard does not say which tasks belong together.
        """
        old, limit = self.old(until), dict.fromkeys(self.day, 1)
        for result in self.results:
            limit[result.task] = max(limit[result.task], result.calls or 0)
        table = table_of(
            [
                TaskOutcome(
                    rotation=ROTATION,
                    submitter=result.agent,
                    run=result.agent,
                    task=result.task,
                    family=result.task,
                    server=self.server.get(result.task, ""),
                    first=ROTATION - (result.task in old),
                    cap=limit[result.task],
                    passed=result.share >= 0.5,  # noqa: PLR2004 - of several samples the shares below are read
                    calls=result.calls or 1,
                    tools=(),
                    exposed=result.task in old,
                )
                for result in self.results
            ]
        )
        groups = tuple(self.group.get(agent, "") for agent in table.submitters) if self.group else ()
        if all(result.share in {0, 1} for result in self.results):
            return replace(table, groups=groups)
        row = {agent: number for number, agent in enumerate(table.submitters)}
        column = {task: number for number, task in enumerate(table.tasks)}
        rates = np.zeros(table.taken.shape)
        for result in self.results:
            rates[row[result.agent], column[result.task]] = result.share
        return replace(table, groups=groups, rates=rates)


def gather(results: Iterable[TaskResult], days: Mapping[str, date], until: date | None) -> ScannedLeaderboard:
    """Put results together into a leaderboard.

    Args:
        results: in any order.
        days: task -> when it was published, for results that do not say so.
        until: the cutoff of agents that name none.

    Raises:
        Malformed: results contradict each other, or a day is missing.
    """
    read = list(results)
    first: dict[tuple[str, str], TaskResult] = {}
    for result in read:
        before = first.setdefault((result.agent, result.task), result)
        if before is not result:
            raise Malformed(
                f"{result.place}: {result.agent!r} has a result of {result.task!r} already, in {before.place}; keep "
                "one line for each agent and task, and give the share of several samples that passed as 'rate'"
            )
    day = {**days, **_require_agreement(read, "task", "day")}
    cutoff = _require_agreement(read, "agent", "cutoff")
    for result in read:
        if result.task not in day:
            raise Malformed(
                f"{result.place}: nothing says when {result.task!r} was published; name a CSV of task and day with "
                "--days"
            )
    if until is None and not cutoff:
        raise Malformed(
            f"{read[0].place.rpartition(', ')[0] or read[0].place}: nothing says which tasks agents could have known; "
            "name a day with --exposed-until, or give each agent's day in a column 'cutoff'"
        )
    given = dict.fromkeys((result.agent for result in read), until) if until else {}
    return ScannedLeaderboard(
        results=read,
        day={result.task: day[result.task] for result in read},
        cutoff={**given, **cutoff},
        group=_require_agreement(read, "agent", "group"),
        server=_require_agreement(read, "task", "server"),
    )


def _require_agreement(results: Sequence[TaskResult], owner: str, name: str) -> dict[str, Any]:
    """Return what results say of each agent or task; all that say something have to say the same."""
    first: dict[str, TaskResult] = {}
    for result in results:
        if getattr(result, name):
            before = first.setdefault(getattr(result, owner), result)
            if getattr(before, name) != getattr(result, name):
                raise Malformed(
                    f"{result.place}, column '{name}': {getattr(result, owner)!r} has {getattr(result, name)} here and "
                    f"{getattr(before, name)} in {before.place}; correct one of them"
                )
    return {who: getattr(result, name) for who, result in first.items()}
