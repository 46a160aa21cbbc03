"""Runs as text for a terminal: the tasks of a dev run one by one, and the figures of a private one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.cli.daily import leaderboard_text
from quarterturn.runs.dev_runs import DevRun
from rotation.leaderboard.figures import of_json
from rotation.leaderboard.standings import lines
from sandbox.results.outcome import TaskRun
from sandbox.runs.store import RunRecord
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict


def dev(played: DevRun) -> list[str]:
    """Write each task of a dev run, and why it was not passed."""
    tasks = zip(played.tasks, played.runs, strict=True)
    text = [line for task, run in tasks for line in (_line(task, run), *_why(run))]
    score = played.score
    return [*text, "", f"{score.passed} of {score.attempted} passed. The dev set is public: no rank."]


def private(
    record: RunRecord, box: str, disclosed: Mapping[str, Any], public: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Give a private run's disclosed figures as data, and as the line that the leaderboard would show."""
    line = lines([(record, of_json(disclosed))])
    data = {"run": record.number, "month": record.month, "box": box} | line[0].as_json()
    del data["runs"], data["sunset"]  # the leaderboard counts the ones and shows the other
    text = [*leaderboard_text.table(line), *leaderboard_text.public_grammar(public)]
    return data | {"public_grammar": list(public)}, text


def _line(task: Task, run: TaskRun) -> str:
    mark = "pass" if run.passed else "????" if run.verdict is Verdict.UNKNOWN else "FAIL"
    return f"{mark}  {task.server:<10} {task.category:<12} {run.calls:>2}/{run.max_steps:<2} calls  {task.goal[:70]}"


def _why(run: TaskRun) -> list[str]:
    """Say in a line what a task was not passed for, and in another what the agent printed last."""
    if run.passed:
        return []
    printed = [line for line in run.output.splitlines() if line.strip()][-1:]
    reason = _missed(run.evidence) if run.code == "finished" else run.code
    return [
        f"      {' '.join(text.split())[:120]}"
        for text in (reason, *(f"it printed: {line}" for line in printed))
        if text
    ]


def _missed(evidence: Evidence) -> str:
    """Give what was found at the first leaf that is as the whole came out."""
    for child in evidence.children:
        if child.verdict is evidence.verdict or evidence.op == "not":
            return _missed(child)
    return evidence.found or evidence.op
