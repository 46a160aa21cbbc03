"""Figures of a comparison: means with intervals of each server, and paired differences of two. Pure.

Clusters of all intervals are skeletons, so trials of one task are no independent evidence. A difference is taken task
by task, between the means over trials with either server, so that an easy task helps neither. Costs are those of passed
trials: one that gave up early is not cheap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import isclose
from statistics import fmean

from quarterturn_measures.comparison.played_trial import COSTS, SCORES, PlayedTrial
from quarterturn_measures.measures.figures import clusters, pairs_by_skeleton
from quarterturn_measures.measures.pass_at_k import spread
from sandbox.results.interval import NOTHING, Figure, mean, proportion, share, unbounded_mean

Trials = Sequence[PlayedTrial]


def figures_of(trials: Trials) -> dict[str, Figure]:
    """Return each score, the grounded share of citations, and each cost of one server's trials."""
    cited = [(trial.skeleton, trial.grounding.grounded, trial.grounding.decided) for trial in trials]
    scores = {name: _score_figure(_values(trials, name)) for name in SCORES}
    costs = {name: unbounded_mean(clusters(_values(trials, name))) for name in COSTS}
    return scores | {"grounding": proportion(pairs_by_skeleton(cited))} | costs


def _score_figure(values: Sequence[tuple[str, float]]) -> Figure:
    """Return the mean of a score; where each value is 0 or 1, more trials of the same tasks make it no surer."""
    if all(value in (0, 1) for _, value in values):
        return share(int(sum(value for _, value in values)), [len(cluster) for cluster in clusters(values)])
    return mean(clusters(values))


def spread_between_trials(trials: Trials) -> dict[str, float | None]:
    """Return the sample standard deviation between trials of the mean of each score; None for fewer than two trials."""
    numbers = sorted({trial.trial for trial in trials})
    rounds = {number: [trial for trial in trials if trial.trial == number] for number in numbers}
    means: dict[str, list[float]] = {name: [] for name in SCORES}
    for name in SCORES:
        for played in rounds.values():
            values = [value for _, value in _values(played, name)]
            means[name] += [fmean(values)] if values else []
    return {name: spread(values) for name, values in means.items()}


def paired_differences(first: Trials, second: Trials) -> dict[str, Figure]:
    """Return how much more the first server has than the second, for each score and cost, over tasks that both have."""
    return {name: _paired_difference(first, second, name) for name in (*SCORES, *COSTS)}


def _paired_difference(first: Trials, second: Trials, name: str) -> Figure:
    """Return the mean difference over tasks; without an interval where all are equal, which shows no variance."""
    ours, theirs = (_mean_by_task(trials, name) for trials in (first, second))
    skeletons = {trial.task: trial.skeleton for trial in first}
    differences = [(skeletons[task], ours[task] - theirs[task]) for task in ours if task in theirs]
    if not differences:
        return NOTHING
    figure = unbounded_mean(clusters(differences))
    alike = all(isclose(difference, differences[0][1], abs_tol=1e-12) for _, difference in differences)
    return Figure(figure.value, figure.n, None, None) if alike else figure


def _mean_by_task(trials: Trials, name: str) -> dict[str, float]:
    by_task: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if (value := _value(trial, name)) is not None:
            by_task[trial.task].append(value)
    return {task: fmean(values) for task, values in by_task.items()}


def _value(trial: PlayedTrial, name: str) -> float | None:
    """Return a score of a trial, or a cost of a passed one."""
    if name in SCORES:
        score = trial.scores[name]
        return None if score is None else float(score)
    return trial.costs[name] if trial.passed else None


def _values(trials: Trials, name: str) -> list[tuple[str, float]]:
    return [(trial.skeleton, value) for trial in trials if (value := _value(trial, name)) is not None]
