"""Run of the reference agent on the private set: it is handed the solutions, opens no run and has no rank."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from quarterturn.progress import Progress
from quarterturn.runs.dev_runs import UnrecordedJournal, result_of
from rotation.month.store import MonthStore
from sandbox.boxes.box import Box, WorldLauncher
from sandbox.results.score import Result
from sandbox.runs.run import PlannedTask, RunSetup, Solution, Terms, run_set
from sandbox.runs.submission import Submission
from sandbox.transcript import ToolCall
from vault.store.tasks import Vault


def reference(
    vault: Vault,
    months: MonthStore,
    submitted: Submission,
    box: Box,
    out: Progress,
    *,
    terms: Terms,
    workers: int,
    kept: WorldLauncher,
) -> list[Result]:
    """Run the reference agent on every private task, in worlds that `kept` has, or that it keeps."""
    cohorts = months.cohorts("live")
    opened = [vault.open(name, who=submitted.submitter, why="reference agent") for c in cohorts for name in c.tasks]
    planned = [
        PlannedTask(item.task.base(), solution=_solution(item.task.in_base(item.provenance["solutions"][0])))
        for item in opened
    ]
    with out.progress(submitted.name, len(planned)) as advance:
        setup = RunSetup.in_box(box, workers=workers, kept=kept, terms=terms)
        journal = UnrecordedJournal(advance=partial(advance, 1))
        runs = run_set(planned, submitted, setup, journal)
    return [
        result_of(item.task, run, vault.record(item.task.id).skeleton_tag)
        for item, run in zip(opened, runs, strict=True)
    ]


def _solution(solution: Mapping[str, Any]) -> Solution:
    return Solution([ToolCall(call["tool"], call["arguments"]) for call in solution["calls"]], solution["answer"])
