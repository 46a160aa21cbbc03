"""Runs as text for a terminal: the tasks of a dev run one by one, and the figures of a private run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterturn import trace_text
from quarterturn.cli.daily import leaderboard_text
from quarterturn.runs.dev_runs import DevRun
from rotation.leaderboard.figures import of_json
from rotation.leaderboard.standings import lines
from sandbox.runs.store import RunRecord


def dev(played: DevRun, *, traced: bool = False) -> list[str]:
    """Write each task of a dev run, with `traced` call by call; then the totals, and why the first failed task did."""
    pairs = [(task.document, run.as_json()) for task, run in zip(played.tasks, played.runs, strict=True)]
    text = []
    for (task, run), passed in zip(pairs, (run.passed for run in played.runs), strict=True):
        text += trace_text.trace(task, run) if traced else [trace_text.headline(task, run)]
        text += [] if passed or traced else trace_text.failed(task, run)
    score = played.score
    if played.stopped:
        return [*text, "", f"Nothing more was played: {played.stopped}."]
    total = f"{score.passed} of {score.attempted} passed. The dev set is public: no rank."
    failed = [run.as_json() for run in played.runs if not run.passed]
    why = [trace_text.failure_sentence(failed[0], len(failed))] if failed else []
    return [*text, "", *trace_text.subtotals(pairs), total, *_offer(played), *_trials(played), *why]


def _offer(played: DevRun) -> Iterator[str]:
    """Say what the agent was offered, where that is more than each task lists."""
    if tools := played.offered_tools:
        servers = len({tool.partition(".")[0] for tool in tools})
        yield f"Each task offered the {len(tools)} tools of {servers} servers: compare it with such runs alone."


def _trials(played: DevRun) -> Iterator[str]:
    """Say how many tasks each trial passed; the headlines and totals above are of the first one."""
    if played.later_trials:
        trials = [played.runs, *played.later_trials]
        counts = ", ".join(str(sum(run.passed for run in trial)) for trial in trials)
        yield f"{len(trials)} trials passed {counts} of {len(played.tasks)} tasks; what is shown above is the first."


def private(
    record: RunRecord, box: str, disclosed: Mapping[str, Any], public: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a private run's disclosed figures as data, and as the line that the leaderboard would show."""
    line = lines([(record, of_json(disclosed))])
    data = {"run": record.number, "month": record.month, "box": box} | line[0].as_json()
    for name in ("runs", "sunset", "rank_range", "submitter"):  # what only a leaderboard tells
        del data[name]
    text = [*leaderboard_text.table(line), *leaderboard_text.public_grammar(public)]
    return data | {"public_grammar": list(public)}, text
