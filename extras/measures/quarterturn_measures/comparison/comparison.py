"""Comparison of servers: plays each task with each server as a run on public tasks, and measures every trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from grammars.language.grammar import Draft
from quarterturn.errors import AgentCrashed, Malformed, Unavailable
from quarterturn.runs.dev_runs import DevRun
from quarterturn_measures.comparison.figures import figures_of, paired_differences, spread_between_trials
from quarterturn_measures.comparison.played_trial import PlayedTrial, ServedTask
from quarterturn_measures.comparison.rewritten_task import rewrite_task
from quarterturn_measures.process import CHILD_ERRORS, ask_child
from sandbox.results.interval import Figure
from sandbox.servers.server import Server
from vault.task.document import Task

MEASURING = "quarterturn_measures.comparison.process"
Play = Callable[[Sequence[Task], Server], DevRun]


@dataclass(frozen=True, slots=True)
class ServerTrials:
    """All trials with one server.

    Attributes:
        server: the server.
        is_baseline: whether the others are compared with it.
        listing_bytes: bytes of its listed tools, as an agent is shown them.
        trials: every trial, in the order of the runs.
        runs: what was played, in the same order.
    """

    server: Server
    is_baseline: bool
    listing_bytes: int
    trials: Sequence[PlayedTrial]
    runs: Sequence[Mapping[str, Any]] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "server": self.server.name,
            "package": self.server.package,
            "version": self.server.version,
            "baseline": self.is_baseline,
            "tools": len(self.server.tools),
            "listing_bytes": self.listing_bytes,
            "figures": plain(figures_of(self.trials)),
            "spread_between_trials": spread_between_trials(self.trials),
            "unknown": sum(trial.passed is None for trial in self.trials),
            "trials": [trial.as_json() | {"run": run} for trial, run in zip(self.trials, self.runs, strict=True)],
        }


def compare_servers(
    drafts: Sequence[Draft], servers: Sequence[Server], baseline: Server | None, play: Play
) -> list[ServerTrials]:
    """Play every task with every server, the baseline last, and measure each trial.

    Args:
        drafts: comparable tasks (`rewritten_task.why_not_comparable`).
        servers: the servers, of one state kind.
        baseline: what the others are compared with, or None.
        play: plays tasks that are rewritten for a server, each so many times.

    Raises:
        Malformed: the servers are of several state kinds, or one lacks a predicate that a task needs.
        AgentCrashed: the agent did not ask for its first task.
        Unavailable: the trials could not be measured.
    """
    every = [*servers, *([baseline] if baseline else ())]
    for server in every:
        if server.kind != every[0].kind:
            raise Malformed(
                f"{server.name} is of the state kind {server.kind} and {every[0].name} of {every[0].kind}: servers are "
                "compared on one kind of state, on which one predicate judges all of them"
            )
    rewritten = {server.name: [rewrite_task(draft, server) for draft in drafts] for server in every}
    return [_play(drafts, rewritten[server.name], server, play, is_baseline=server is baseline) for server in every]


def _play(
    drafts: Sequence[Draft], tasks: Sequence[Task], server: Server, play: Play, *, is_baseline: bool
) -> ServerTrials:
    played = play(tasks, server)
    if played.stopped:
        raise AgentCrashed(f"with the server {server.name}, {played.stopped}")
    served = [
        ServedTask.of(task, server, draft.provenance["skeleton"], is_baseline=is_baseline)
        for draft, task in zip(drafts, tasks, strict=True)
    ]
    runs = [run for outcomes in (played.runs, *played.later_trials) for run in outcomes]
    try:
        rows = ask_child(MEASURING, [asdict(task) for task in served], runs)
    except CHILD_ERRORS as error:
        raise Unavailable(f"the trials with {server.name} could not be measured: {type(error).__name__}") from None
    trials = [PlayedTrial.from_json(row) for row in rows]
    return ServerTrials(server, is_baseline, served[0].listing_bytes, trials, [run.as_json() for run in runs])


def report(
    drafts: Sequence[Draft], compared: Sequence[ServerTrials], *, agent: str, model: str | None, trials: int
) -> dict[str, Any]:
    """Return all figures of a comparison as plain JSON values.

    Args:
        drafts: the tasks.
        compared: what was played.
        agent: the name of the agent.
        model: the name of its model's upstream, or None.
        trials: how often each task was played with each server.
    """
    differences = [
        {
            "first": one.server.name,
            "second": two.server.name,
            "figures": plain(paired_differences(one.trials, two.trials)),
        }
        for one, two in combinations(compared, 2)
    ]
    tasks = [
        {"task": draft.id, "skeleton": draft.provenance["skeleton"], "goal": draft.task["goal"]} for draft in drafts
    ]
    servers = [server.as_json() for server in compared]
    return {
        "agent": agent,
        "model": model,
        "trials": trials,
        "kind": compared[0].server.kind,
        "tasks": tasks,
        "servers": servers,
        "differences": differences,
    }


def plain(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """Return figures as plain JSON values."""
    return {name: asdict(figure) for name, figure in figures.items()}
