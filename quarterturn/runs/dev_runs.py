"""Runs on public tasks: the dev set, or one task of it as a check. Everything is given back, and nothing is ranked.

The first task is a smoke test: where the agent cannot start, or never asks for its task, nothing more is played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from quarterturn.boxes import choose_box
from quarterturn.progress import Progress
from quarterturn.runs.hosted_endpoint import ephemeral
from quarterturn.runs.request import ALONE, RunControl, RunRequest
from sandbox.boxes.box import Box
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.endpoint.signature import Sender
from sandbox.isolation import machine_lock
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.failure import AGENT_CRASHED
from sandbox.results.outcome import BUDGETS, TaskRun
from sandbox.results.score import Result, Score, score
from sandbox.runs.journal import RunJournal
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from sandbox.runs.run_environment import warm
from sandbox.runs.submission import Submission
from vault.task.document import Task

LONGEST = 300
"""Characters of a program's last line that a sentence quotes."""


@dataclass(frozen=True, slots=True)
class DevRun:
    """A run on public tasks.

    Attributes:
        box: the name of the box.
        tasks: what was run.
        runs: the outcome of each task, in the same order.
        stopped: why no more was played, as a sentence, or None.
        later_trials: the outcomes of further trials of all tasks, each in the same order; none of them is scored.
    """

    box: str
    tasks: Sequence[Task]
    runs: Sequence[TaskRun]
    stopped: str | None = None
    later_trials: Sequence[Sequence[TaskRun]] = ()

    @property
    def crashed(self) -> bool:
        """Whether the agent did nothing on its first task, or ended with an error on each."""
        return self.stopped is not None or {run.code for run in self.runs} == {AGENT_CRASHED}

    @property
    def score(self) -> Score:
        """The score of the first trial on the four axes."""
        return score([result_of(task, run) for task, run in zip(self.tasks, self.runs, strict=True)])

    def as_json(self) -> dict[str, Any]:
        """Give it whole, as plain JSON values."""
        served = [
            {"task": task.document, "run": run.as_json()} for task, run in zip(self.tasks, self.runs, strict=True)
        ]
        data = {"box": self.box, "score": self.score.as_json(), "tasks": served, "stopped": self.stopped}
        later = [[run.as_json() for run in trial] for trial in self.later_trials]
        return data | {"later_trials": later} if later else data


class HeldJournal(RunJournal):
    """Journal of a run on public tasks: it ends where its holder does.

    Args:
        hold: who controls it.
        advance: shows that a task has ended.
    """

    def __init__(self, hold: RunControl, advance: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._hold, self._advance = hold, advance

    def record_outcome(self, run: TaskRun) -> None:  # noqa: ARG002 - everything is given back
        """Show that a task has ended."""
        self._advance()

    def is_ended(self) -> bool:
        """Say whether the holder goes on."""
        return self._hold.lease_status() != "held"


def prepare(chosen: RunRequest) -> tuple[Submission, Box]:
    """Make the submission and its box; what cannot be run is refused before any task is drawn for it.

    Raises:
        Malformed, NotFound, Refused: it cannot be submitted; the message says why.
        Unavailable: the box cannot be had.
    """
    own = chosen.run_class(private=False)
    warm()
    return chosen.submission(lambda: choose_box(chosen.named_box or "auto", run_class=own))


def dev(
    chosen: RunRequest,
    tasks: Sequence[Task],
    out: Progress,
    sender: Callable[[], Sender] = ephemeral,
    model: ModelGateway | None = None,
    *,
    claims: ClaimJudge | None = None,
    hold: RunControl = ALONE,
    trials: int = 1,
    prepared: tuple[Submission, Box] | None = None,
) -> DevRun:
    """Run public tasks `trials` times, without a home; `sender` signs requests to an endpoint."""
    own = chosen.run_class(private=False)
    submitted, box = prepared or prepare(chosen)
    label = f"{submitted.name} on the dev set"
    planned = [PlannedTask(task) for task in tasks]
    playing = machine_lock.playing(own, lambda: hold.lease_status() != "held")
    with playing, chosen.places(sender) as places, out.progress(label, len(tasks) * trials) as advance:
        setup = RunSetup(box, places, terms=Terms(models=model, claims=claims))

        def play(part: Sequence[PlannedTask]) -> list[TaskRun]:
            return run_set(part, submitted, setup, HeldJournal(hold, partial(advance, 1)))

        runs = play(planned[:1])
        if why := never_asked_reason(runs, hosted=chosen.hosting is not None):
            return DevRun(box.name, tasks[:1], runs, why)
        runs += play(planned[1:])
        later = [play(planned) for _ in range(trials - 1)]
    return DevRun(box.name, tasks, runs, later_trials=later)


def never_asked_reason(runs: Sequence[TaskRun], *, hosted: bool = False) -> str | None:
    """Say how an agent ended that never asked for its first task, or a hosted one that did not take it; else None."""
    run = next(iter(runs), None)
    if hosted and run is not None and run.failed_without_a_call:
        status = run.output.partition("\n")[0] or "no answer"
        return f"the endpoint did not take its first task: {status}"
    if hosted or run is None or not run.never_asked:
        return None
    printed = run.output.split("\n")
    ended = {"agent-not-started": "it could not be started", **BUDGETS}.get(run.code)
    how = ended or (f"it ended with status {run.exit_code}" if run.exit_code is not None else "it ended")
    last = next((line.strip() for line in reversed(printed) if line.strip()), None)
    words = f"; the last line that it printed: {last[:LONGEST]}" if last else "; it printed nothing"
    return f"the agent never asked for its first task: {how}{words}"


def result_of(task: Task, run: TaskRun, skeleton: str | None = None) -> Result:
    """Give what counts of a task's run that is bound to no ledger."""
    return Result.of(run, run=1, cohort="dev", server=task.server, skeleton=skeleton or task.id)
