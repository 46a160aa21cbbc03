"""Figures of tasks: means and shares with intervals whose clusters are skeletons. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from quarterturn_measures.measures.played_task import TaskMeasures
from sandbox.results.interval import NOTHING, Figure, mean, proportion, quantile
from sandbox.results.score import score

Tasks = Sequence[TaskMeasures]


def axis(name: str) -> Callable[[Tasks], Figure]:
    """Return what computes one of the four axes."""

    def figure(tasks: Tasks) -> Figure:
        value: Figure = getattr(score([task.result for task in tasks]), name)
        return value

    return figure


def mean_of(name: str) -> Callable[[Tasks], Figure]:
    """Return what computes the mean of an attribute of tasks, over those that have it."""

    def figure(tasks: Tasks) -> Figure:
        values = [(task.result.skeleton, value) for task in tasks if (value := getattr(task, name)) is not None]
        if all(value in (0, 1) for _, value in values):  # a share, whose interval has a width even at 0 and 1
            return proportion(pairs_by_skeleton((skeleton, int(value), 1) for skeleton, value in values))
        return mean(clusters((skeleton, float(value)) for skeleton, value in values))

    return figure


def token_share(kind: str) -> Callable[[Tasks], Figure]:
    """Return what computes the mean share of a kind of tokens."""

    def figure(tasks: Tasks) -> Figure:
        known = ((task.result.skeleton, task.tokens.share(kind)) for task in tasks if task.tokens)
        return mean(clusters((skeleton, float(share)) for skeleton, share in known if share is not None))

    return figure


def claim_coverage_quartile(quarter: int) -> Callable[[Tasks], Figure]:
    """Return what computes a quartile (1 to 3) of the coverage of claims."""

    def figure(tasks: Tasks) -> Figure:
        known = ((task.result.skeleton, task.claim_coverage) for task in tasks)
        return quantile(
            clusters((skeleton, float(value)) for skeleton, value in known if value is not None), quarter / 4
        )

    return figure


def grounding(tasks: Tasks) -> Figure:
    """Compute the grounded share of all citations that could be looked up."""
    known = ((task.result.skeleton, task.grounding) for task in tasks if task.grounding)
    return proportion(pairs_by_skeleton((skeleton, cited.grounded, cited.decided) for skeleton, cited in known))


def tool_recall_at(k: int) -> Callable[[Tasks], Figure]:
    """Return what computes the mean recall of needed tools among the first `k` of the shortlists."""

    def figure(tasks: Tasks) -> Figure:
        known = ((task.result.skeleton, task.tool_recall_at[k]) for task in tasks)
        return mean(clusters((skeleton, float(recall)) for skeleton, recall in known if recall is not None))

    return figure


def wrong_tool_calls(tasks: Tasks) -> Figure:
    """Compute the share of calls that went to offered tools which no reference solution calls."""
    known = ((task.result.skeleton, task.wrong_tool_calls, task.result.calls) for task in tasks)
    return proportion(pairs_by_skeleton((name, wrong, calls) for name, wrong, calls in known if wrong is not None))


def tool_call_success(tasks: Tasks) -> Figure:
    """Compute the share of calls that succeeded, of those that reached a server."""
    pairs = ((task.result.skeleton, count.ok, count.passed_on) for task in tasks for count in task.tools.values())
    return proportion(pairs_by_skeleton(pairs))


def shares(tasks: Tasks, kinds: Iterable[str], kind_of: Callable[[TaskMeasures], str | None]) -> dict[str, Figure]:
    """Return the share of each kind among the tasks that have one, such as a failure class among diagnosed failures."""
    of = [(task.result.skeleton, kind_of(task)) for task in tasks]
    known = [(skeleton, kind) for skeleton, kind in of if kind is not None]
    if not known:
        return dict.fromkeys(kinds, NOTHING)
    return {
        name: proportion(pairs_by_skeleton((skeleton, int(kind == name), 1) for skeleton, kind in known))
        for name in kinds
    }


def clusters(values: Iterable[tuple[str, float]]) -> list[list[float]]:
    """Return the values of each skeleton."""
    by_skeleton: dict[str, list[float]] = defaultdict(list)
    for skeleton, value in values:
        by_skeleton[skeleton].append(value)
    return list(by_skeleton.values())


def pairs_by_skeleton(counts: Iterable[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """Add up hits and trials of each skeleton."""
    clusters: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for skeleton, hits, trials in counts:
        clusters[skeleton][0] += hits
        clusters[skeleton][1] += trials
    return [(hits, trials) for hits, trials in clusters.values()]
