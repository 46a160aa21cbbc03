"""Measures of the runs of one source: a run on a dev set with its trials, or the runs of a release.

A release opens no transcripts, so measures of calls are null there, with n = 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from quarterturn.public_records.records import PublicRecords, PublicResult, PublicRun, PublicTask
from quarterturn_measures.measures.cited_files import cited_files
from quarterturn_measures.measures.failure_class import TITLES
from quarterturn_measures.measures.figures import shares
from quarterturn_measures.measures.pass_at_k import pass_at_k, spread
from quarterturn_measures.measures.played_task import Reference, TaskMeasures, measure_task
from quarterturn_measures.measures.root_causes import CAUSES
from quarterturn_measures.measures.table import measured
from sandbox.results.interval import Figure, share
from sandbox.results.score import Result
from sandbox.servers.registry import SERVERS, tool_table
from sandbox.transcript import ToolCall
from vault.task.variant import filled
from verifiers.language.verdict import Verdict

Schemas = Mapping[str, Mapping[str, Any]]
Coverages = Mapping[tuple[int, str], Fraction]
"""Share of a task's claims that a judge found in the answer, by run number and task."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run with what is measured of it.

    Attributes:
        run: the run.
        tasks: the measures of each task, in the run's order.
        by_id: its tasks by their ids.
    """

    run: PublicRun
    tasks: Sequence[TaskMeasures]
    by_id: Mapping[str, PublicTask] = field(repr=False)

    @property
    def figures(self) -> dict[str, Figure]:
        """Every measure of the run."""
        return measured(self.tasks)

    @property
    def profile(self) -> dict[str, Figure]:
        """The share of each failure class among the diagnosed failures."""
        return shares(self.tasks, TITLES, lambda task: task.failure.primary if task.failure else None)

    @property
    def class_shares(self) -> dict[str, float]:
        """The shares alone; a run without a diagnosed failure has none."""
        return {name: figure.value for name, figure in self.profile.items() if figure.value is not None}

    @property
    def diagnosed(self) -> int:
        """How many failures have a class."""
        return sum(task.failure is not None for task in self.tasks)

    @property
    def root_causes(self) -> list[dict[str, Any]]:
        """How many calls failed for each cause, with the tools; the most frequent first."""
        failed = [call for task in self.tasks for call in task.failed_calls]
        rows = [
            {"cause": cause, "calls": len(of_it), "tools": dict(Counter(call.tool for call in of_it).most_common())}
            for cause in CAUSES
            if (of_it := [call for call in failed if call.cause == cause])
        ]
        return sorted(rows, key=lambda row: sum(row["tools"].values()), reverse=True)

    def groups(self, name: str) -> dict[str, dict[str, Figure]]:
        """Return the measures of each group of tasks: by `server`, `category`, `difficulty` or `language`."""
        of: dict[str, list[TaskMeasures]] = {}
        for task in self.tasks:
            of.setdefault(getattr(self.by_id[task.result.task].task, name), []).append(task)
        return {group: measured(of[group]) for group in sorted(of)}

    @property
    def played(self) -> list[tuple[Mapping[str, Any], dict[str, Any]]]:
        """Each task's document and its run, of tasks whose calls are public."""
        results = [result for result in self.run.results if result.played is not None]
        return [(self.by_id[result.task].task.document, result.played.as_json()) for result in results if result.played]

    def as_json(self, by: str | None = None) -> dict[str, Any]:
        """Return it as plain JSON values, with the measures of each group of tasks where they are asked for."""
        groups = {group: _plain(figures) for group, figures in self.groups(by).items()} if by else {}
        return {
            "run": self.run.number,
            "submitter": self.run.submitter,
            "attempt": self.run.attempt,
            "measures": _plain(self.figures),
            "groups": groups,
            "failures": {"diagnosed": self.diagnosed, "classes": _plain(self.profile)},
            "root_causes": self.root_causes,
            "tasks": [
                task.as_json() | {"reference_answer": self._reference_answer(task)}
                for task, result in zip(self.tasks, self.run.results, strict=True)
                if result.played is not None
            ],
        }

    def _reference_answer(self, task: TaskMeasures) -> str | None:
        """Return the answer of the solution that the run's calls are nearest to."""
        solutions = self.by_id[task.result.task].solutions
        place = task.graph.solution if task.graph else 0
        answer: str | None = solutions[place].get("answer") if solutions else None
        return answer


def measure(
    records: PublicRecords, schemas: Schemas | None = None, coverages: Coverages | None = None
) -> list[MeasuredRun]:
    """Measure every run of a source.

    Args:
        records: the public tasks and runs.
        schemas: the tools' input schemas; those of the known servers if there are none.
        coverages: of runs and tasks whose claims a judge decided, the share that it found in the answer.
    """
    if schemas is None:
        schemas = {tool: described["inputSchema"] for tool, described in tool_table().items()}
    by_id = {task.task.id: task for task in records.tasks}
    compare = partial(_measured, schemas=schemas, coverages=coverages or {})
    return [
        MeasuredRun(run, [compare(result, run, by_id[result.task]) for result in run.results], by_id)
        for run in records.runs
    ]


def trials(runs: Sequence[MeasuredRun]) -> dict[str, Any] | None:
    """Return Pass@K of the trials of one agent for each K up to their number, and the spread; None of one trial."""
    if len(runs) < 2:  # noqa: PLR2004 - one trial says nothing of another
        return None
    passed = [Counter(task.result.task for task in run.tasks if task.result.passed) for run in runs]
    skeletons = {task.result.task: task.result.skeleton for task in runs[0].tasks}
    figures = {k: _pass_at_k(skeletons, sum(passed, Counter()), len(runs), k) for k in range(1, len(runs) + 1)}
    rates = [sum(task.result.passed for task in run.tasks) / len(run.tasks) for run in runs]
    return {"trials": len(runs), "pass_at": _plain(figures), "success_rates": rates, "spread": spread(rates)}


def _measured(
    result: PublicResult, run: PublicRun, public: PublicTask, *, schemas: Schemas, coverages: Coverages
) -> TaskMeasures:
    counted = Result(
        run=run.number,
        task=result.task,
        cohort="public",
        server=public.task.server,
        category=public.task.category,
        verdict=Verdict(result.verdict),
        passed=result.passed,
        calls=result.calls,
        max_steps=result.max_steps,
        unlisted=result.unlisted,
        errors_seen=int(result.saw_error),
        skeleton=(public.provenance or {}).get("skeleton", result.task),
    )
    if result.played is None:
        return TaskMeasures(counted)
    coverage = coverages.get((run.number, result.task))
    return measure_task(counted, result.played, _reference(public, result.values, schemas), coverage)


def _reference(public: PublicTask, values: Mapping[str, str] | None, schemas: Schemas) -> Reference:
    """Return what a task is compared with, in the variant of these values."""
    solutions = public.solutions_in(values)
    state = public.task.document["initial_state"]
    served = filled(state, values) if values is not None else public.task.in_base(state)
    return Reference(
        solutions=[[ToolCall(call["tool"], call["arguments"]) for call in one["calls"]] for one in solutions],
        answers=[one.get("answer") for one in solutions],
        files=cited_files(served, {name: (server.kind, server.root) for name, server in SERVERS.items()}),
        schemas=schemas,
    )


def _pass_at_k(skeletons: Mapping[str, str], passes: Mapping[str, int], n: int, k: int) -> Figure:
    values = [value for task in skeletons if (value := pass_at_k(n, passes[task], k)) is not None]
    return share(sum(values), list(Counter(skeletons.values()).values()))


def _plain(figures: Mapping[Any, Figure]) -> dict[str, Any]:
    return {str(name): asdict(figure) for name, figure in figures.items()}
