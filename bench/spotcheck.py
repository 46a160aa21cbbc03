"""Measures the cost of spot checks: keeping a month's states, and judging one result in twenty again.

Drafts of each shipped grammar, drawn with fixed seeds, are played by the reference agent in the bwrap box; what each
left is packed as an official run seals it, and judged again as a turn does (`sandbox.runs.rejudge`). *Sealed* is what
the home grows by; *run* is all phases of a task's run; *again* is judging it once more. There is no floor to stand
beside: bytes are what they are, and what a turn takes is the share of *again*, for one result in twenty, in *run*.
*Said* is the search of the session for choices of free parameters, which every run makes (`sandbox.judge.said_values`),
and *of the run* its share. The reference agent makes no call more than it must: any other takes longer.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from random import Random
from typing import Any

from report import Failed, Found, Table

from grammars.draw.sample import sample
from grammars.draw.variants import base
from grammars.language.load import library, load
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import submission
from sandbox.runs.job import PlannedTask, RunSetup, Solution
from sandbox.runs.journal import MemoryJournal
from sandbox.runs.rejudge import JudgeAgain
from sandbox.runs.run import run_set
from sandbox.transcript import ToolCall
from vault.ledger.statements.spot_check import ONE_IN
from vault.task.document import Task

ROUNDS = 3
TASKS = 200
COLUMNS = ("server", "state", "sealed", "run", "first verdict", "again", "share", "said", "of the run")
MEASURED = ("state", "sealed", "run", "first verdict", "again", "said")
ORACLE = Path(__file__).parents[1] / "examples" / "agents" / "oracle" / "agent.py"


def bench(rounds: int = 0) -> Found:
    """Play and rejudge so many drafts of each server."""
    box, rows = BwrapBox(), []
    with JudgeAgain(lambda _: box) as again:
        for server in library():
            seen = [_played(box, again, server, seed) for seed in range(1, (rounds or ROUNDS) + 1)]
            rows.append((server, {name: statistics.mean(one[name] for one in seen) for name in MEASURED}))
    whole = {name: statistics.mean(row[name] for _, row in rows) for name in MEASURED}
    table = [_row(name, row) for name, row in [*rows, ("all", whole)]]
    kept, spent = whole["sealed"] * TASKS / 1e6, whole["again"] * TASKS / ONE_IN
    about = (
        f"A run of {TASKS} such tasks keeps {kept:.1f} MB sealed until the turn, which takes {spent:.1f} s longer for "
        f"it: one result in {ONE_IN} is judged again."
    )
    return Found(about, [], tables=[Table(f"Means of {rounds or ROUNDS} drafts of each server:", COLUMNS, table)])


def _row(name: str, means: dict[str, float]) -> dict[str, str]:
    sizes = {key: f"{means[key] / 1e3:,.1f} kB" for key in ("state", "sealed")}
    seconds = {key: f"{means[key]:.3f} s" for key in ("run", "first verdict", "again", "said")}
    shares = {"share": means["again"] / ONE_IN / means["run"], "of the run": means["said"] / means["run"]}
    return {"server": name, **sizes, **seconds, **{key: f"{share:.2%}" for key, share in shares.items()}}


def _played(box: BwrapBox, again: JudgeAgain, server: str, seed: int) -> dict[str, float]:
    drawn = sample(load(server), Random(seed))
    draft, free = base(drawn), Task.parse(drawn.task).free
    task, journal = Task.parse(draft.task), MemoryJournal()
    agent, solution = submission.reference(f"python3 {ORACLE}"), _solution(draft.provenance["solutions"][0])
    (run,) = run_set([PlannedTask(task, free, solution)], agent, RunSetup.in_box(box, workers=1), journal)
    if not run.passed or journal.left is None:
        raise Failed(f"the reference agent ended a task of {server} with {run.code}, and not with a pass")
    sealed, started = journal.left.to_bytes(), time.monotonic()
    if again.verdict(box.name, task, UnjudgedResult.from_bytes(sealed)) is not run.verdict:
        raise Failed(f"a state of {server} was judged another way the second time")
    took, phases = time.monotonic() - started, run.phases
    figures = {"state": len(journal.left.state.tar), "sealed": len(sealed), "run": sum(phases.values())}
    return figures | {"first verdict": phases["verdict"], "again": took, "said": phases.get("said", 0.0)}


def _solution(solution: dict[str, Any]) -> Solution:
    return Solution(
        [ToolCall(call["tool"], call.get("arguments", {})) for call in solution["calls"]], solution["answer"]
    )
