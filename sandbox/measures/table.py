"""Table of measures: name, definition, range, direction, unit of n, source, and what computes it. Pure.

Each figure has its n and a 95 % interval whose clusters are skeletons (`sandbox.results.interval`); where nothing can
be measured it is null with n = 0, and never 0. The four axes decide a score; everything else here explains one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sandbox.measures.played_task import TaskMeasures
from sandbox.results.interval import NOTHING, Figure, mean, proportion
from sandbox.results.score import score

Direction = Literal["higher", "lower"]
Tasks = Sequence[TaskMeasures]
OURS = "the four axes"
TOOLBENCH = "MCPToolBench++ (arXiv 2508.07575)"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of one run.

    Attributes:
        name: its name in JSON.
        title: its name for people.
        definition: what it is, as a sentence's end.
        better: which direction is better.
        counts: what n counts.
        source: where the definition is from.
        before_retirement: whether a private run may show it, rounded, before its tasks retire.
        figure: computes it.
    """

    name: str
    title: str
    definition: str
    better: Direction
    counts: str
    source: str
    figure: Callable[[Tasks], Figure] = field(repr=False, compare=False)
    before_retirement: bool = False


def _axis(name: str) -> Callable[[Tasks], Figure]:
    def figure(tasks: Tasks) -> Figure:
        value: Figure = getattr(score([task.result for task in tasks]), name)
        return value

    return figure


def _mean(name: str) -> Callable[[Tasks], Figure]:
    def figure(tasks: Tasks) -> Figure:
        values = [(task.result.skeleton, value) for task in tasks if (value := getattr(task, name)) is not None]
        if all(value in (0, 1) for _, value in values):  # a share, whose interval has a width even at 0 and 1
            return proportion(_pairs((skeleton, int(value), 1) for skeleton, value in values))
        return mean(_clusters((skeleton, float(value)) for skeleton, value in values))

    return figure


def _tool_success(tasks: Tasks) -> Figure:
    pairs = ((task.result.skeleton, count.ok, count.passed_on) for task in tasks for count in task.tools.values())
    return proportion(_pairs(pairs))


MEASURES = (
    Measure(
        "success_rate",
        "success",
        "tasks passed, of all tasks of the set",
        "higher",
        "tasks",
        OURS,
        _axis("success_rate"),
        before_retirement=True,
    ),
    Measure(
        "efficiency",
        "calls used",
        "mean of tool calls / calls allowed over passed tasks",
        "lower",
        "passed tasks",
        OURS,
        _axis("efficiency"),
        before_retirement=True,
    ),
    Measure(
        "hallucinated_tool_rate",
        "unlisted calls",
        "calls to tools that the task does not list, of all calls",
        "lower",
        "calls",
        OURS,
        _axis("hallucinated_tool_rate"),
        before_retirement=True,
    ),
    Measure(
        "recovery_rate",
        "recovery",
        "recovery tasks passed, of those in which the agent saw an error",
        "higher",
        "recovery tasks",
        OURS,
        _axis("recovery_rate"),
        before_retirement=True,
    ),
    Measure(
        "tool_call_success",
        "tool-call success",
        "calls that a server answered without an error, of those passed on to one; scheduled errors do not count",
        "higher",
        "calls",
        TOOLBENCH,
        _tool_success,
    ),
    Measure(
        "call_accuracy",
        "call accuracy (AST)",
        "calls of the best reference solution that were made with equal tool and arguments, mean over tasks",
        "higher",
        "tasks",
        TOOLBENCH,
        _mean("call_accuracy"),
    ),
    Measure(
        "graph_accuracy",
        "call-graph accuracy (DAG)",
        "tasks whose calls end in the same leaves as a reference solution's graph",
        "higher",
        "tasks",
        TOOLBENCH,
        _mean("graph_accuracy"),
    ),
    Measure(
        "node_f1",
        "call-graph nodes, F1",
        "F1 of the calls made against those of the best reference solution, mean over tasks",
        "higher",
        "tasks",
        TOOLBENCH,
        _mean("node_f1"),
    ),
    Measure(
        "edge_f1",
        "call-graph edges, F1",
        "F1 of the values handed from call to call against those of the best reference solution, mean over tasks",
        "higher",
        "tasks",
        TOOLBENCH,
        _mean("edge_f1"),
    ),
)


def measured(tasks: Tasks) -> dict[str, Figure]:
    """Compute every measure of one run."""
    return {measure.name: measure.figure(tasks) for measure in MEASURES}


def shares(tasks: Tasks, kinds: Iterable[str], kind_of: Callable[[TaskMeasures], str | None]) -> dict[str, Figure]:
    """Give the share of each kind among the tasks that have one, such as a failure class among diagnosed failures."""
    of = [(task.result.skeleton, kind_of(task)) for task in tasks]
    known = [(skeleton, kind) for skeleton, kind in of if kind is not None]
    if not known:
        return dict.fromkeys(kinds, NOTHING)
    return {name: proportion(_pairs((skeleton, int(kind == name), 1) for skeleton, kind in known)) for name in kinds}


def _clusters(values: Iterable[tuple[str, float]]) -> list[list[float]]:
    clusters: dict[str, list[float]] = defaultdict(list)
    for skeleton, value in values:
        clusters[skeleton].append(value)
    return list(clusters.values())


def _pairs(counts: Iterable[tuple[str, int, int]]) -> list[tuple[int, int]]:
    clusters: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for skeleton, hits, trials in counts:
        clusters[skeleton][0] += hits
        clusters[skeleton][1] += trials
    return [(hits, trials) for hits, trials in clusters.values()]
