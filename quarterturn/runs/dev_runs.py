"""Runs on public tasks: the dev set, or one task of it as a check. Everything is given back, and nothing is ranked.

The first task is a smoke test: where the agent cannot start, or never asks for its task, nothing more is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from quarterturn.boxes import choose_box
from quarterturn.errors import AgentCrashed
from quarterturn.progress import NullProgress, Progress
from quarterturn.runs.hosted_endpoint import ephemeral
from quarterturn.runs.request import Facilities, RunRequest, is_held
from quarterturn.runs.run_log import ServingLog, record
from quarterturn.trace_text import error_line
from sandbox.boxes.box import Box
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.endpoint.signature import Sender
from sandbox.isolation import machine_lock
from sandbox.isolation.run_classes import RunClass
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.failure import AGENT_CRASHED
from sandbox.results.outcome import BUDGETS, TaskRun
from sandbox.results.score import Result, Score, score
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.claims import has_claims
from sandbox.runs.journal import RunJournal
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from sandbox.runs.submission import Submission
from sandbox.servings.player import ServingPlayer
from sandbox.servings.run_environment import warm
from vault.task.document import Task

if TYPE_CHECKING:  # loads SQLAlchemy, which a dev run needs for nothing
    from quarterturn.runners.fleet import RunnerFleet
    from quarterturn.runs.measures import RunMeasures
    from quarterturn.submissions.store.queue import Lease
    from quarterturn.submissions.store.requests import SubmissionRecord
    from quarterturn.submissions.store.traces import TraceStore


@dataclass(frozen=True, slots=True)
class DevRun:
    """A run on public tasks.

    Attributes:
        box: the name of the box.
        tasks: what was run.
        runs: the outcome of each task, in the same order.
        stopped: why no more was played, as a sentence, or None.
        later_trials: the outcomes of further trials of all tasks, each in the same order; none of them is scored.
        offered_tools: what each agent was offered beside the tools that its task lists.
    """

    box: str
    tasks: Sequence[Task]
    runs: Sequence[TaskRun]
    stopped: str | None = None
    later_trials: Sequence[Sequence[TaskRun]] = ()
    offered_tools: Sequence[str] = ()

    @property
    def crashed(self) -> bool:
        """Whether the agent did nothing on its first task, or ended with an error on each."""
        return self.stopped is not None or {run.code for run in self.runs} == {AGENT_CRASHED}

    @property
    def score(self) -> Score:
        """The score of the first trial on the four axes."""
        return score([result_of(task, run) for task, run in zip(self.tasks, self.runs, strict=True)])

    def as_json(self) -> dict[str, Any]:
        """Return it whole, as plain JSON values."""
        played = zip(self.tasks, self.runs, strict=True)
        data: dict[str, Any] = {
            "box": self.box,
            "score": self.score.as_json(),
            "tasks": [{"task": task.document, "run": run.as_json()} for task, run in played],
            "stopped": self.stopped,
        }
        if self.later_trials:
            data["later_trials"] = [[run.as_json() for run in trial] for trial in self.later_trials]
        if self.offered_tools:
            data["offered_tools"] = list(self.offered_tools)
        return data


class UnrecordedJournal(RunJournal):
    """Journal of a run of which nothing is recorded: shows progress, and ends where its worker's lease does.

    Args:
        lease: of the job that plays it; None: a command does.
        advance: shows that a task has ended.
    """

    def __init__(self, lease: Lease | None = None, advance: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._lease, self._advance = lease, advance
        self._log = ServingLog(**({"submission": lease.submission} if lease else {}))

    def record_serving(self, task_id: str, handle: str) -> None:  # noqa: ARG002 - a public task has no exposure
        """Log that a task is served."""
        self._log.begin(task_id)

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Log that its result was handed in."""
        self._log.hand_in(left.task_id)

    def record_outcome(self, run: TaskRun) -> None:  # noqa: ARG002 - everything is given back
        """Show that a task has ended."""
        self._advance()

    def is_ended(self) -> bool:
        """Say whether the worker has lost or given back its job."""
        return not is_held(self._lease)


def prepare(
    chosen: RunRequest, own_box: Callable[[RunClass, Callable[[], Box]], Box] = lambda _, make_box: make_box()
) -> tuple[Submission, Box]:
    """Make the submission and its box; what cannot be run is refused before any task is drawn for it.

    Args:
        chosen: what is run.
        own_box: makes the box of its class, given what makes that of this machine.

    Raises:
        Malformed, NotFound, Refused: it cannot be submitted; the message says why.
        Unavailable: the box cannot be had.
    """
    own = chosen.run_class(private=False)
    warm()
    return chosen.submission(lambda: own_box(own, lambda: choose_box(chosen.named_box or "auto", run_class=own)))


def dev(
    chosen: RunRequest,
    tasks: Sequence[Task],
    out: Progress,
    sender: Callable[[], Sender] = ephemeral,
    *,
    terms: Terms | None = None,
    lease: Lease | None = None,
    trials: int = 1,
    prepared: tuple[Submission, Box] | None = None,
    player: ServingPlayer | None = None,
    where: str = "on the dev set",
) -> DevRun:
    """Run public tasks `trials` times, here or where a `player` does.

    `sender` signs requests to an endpoint, `terms` are those of a home, and progress is shown as that of the agent
    `where`.
    """
    own = chosen.run_class(private=False)
    submitted, box = prepared or prepare(chosen)
    label = f"{submitted.name} {where}"
    terms, planned = terms or Terms(), [PlannedTask(task) for task in tasks]
    playing = nullcontext() if player else machine_lock.playing(own, lambda: not is_held(lease))
    with playing, chosen.places(sender) as places, out.progress(label, len(tasks) * trials) as advance:
        setup = RunSetup(player, terms) if player else RunSetup.supervised(box, places, terms=terms)

        def play(part: Sequence[PlannedTask]) -> list[TaskRun]:
            return run_set(part, submitted, setup, UnrecordedJournal(lease, partial(advance, 1)))

        runs = play(planned[:1])
        if why := never_asked_reason(runs, hosted=chosen.hosting is not None):
            return DevRun(box.name, tasks[:1], runs, why, offered_tools=terms.offered_tools)
        runs += play(planned[1:])
        later = [play(planned) for _ in range(trials - 1)]
    return DevRun(box.name, tasks, runs, later_trials=later, offered_tools=terms.offered_tools)


class PublicRuns:
    """Runs what is submitted on public tasks, and keeps its trace.

    Args:
        facilities: models, claim judge and tasks.
        traces: where traces are kept.
        measures: what is computed of each run.
        terms: makes the terms of the home's runs, of a model and a claim judge.
        fleet: the runners.
    """

    def __init__(
        self,
        facilities: Facilities,
        traces: TraceStore,
        measures: RunMeasures,
        terms: Callable[[ModelGateway | None, ClaimJudge | None], Terms],
        fleet: RunnerFleet,
    ) -> None:
        self._fleet = fleet
        self._facilities, self._traces, self._measures, self._terms = facilities, traces, measures, terms

    def run(self, chosen: RunRequest, submission: SubmissionRecord, lease: Lease) -> None:
        """Run the dev set, or one task of it as a check.

        Raises:
            AgentCrashed: the agent did nothing on its first task, or ended with an error on each.
        """
        own = self._facilities
        drafts = own.dev_drafts(1 if submission.tasks == "check" else None)
        tasks = [Task.parse(draft.task) for draft in drafts]
        judging = own.claim_judges.opened("dev") if any(map(has_claims, tasks)) else nullcontext()
        with own.models.gateway(submission.model, "dev") as model, judging as claims:
            record("start", submission=submission.id)
            terms = self._terms(model, claims)
            with self._on_runners(chosen, model, lease) as (prepared, player):
                run = dev(
                    chosen,
                    tasks,
                    NullProgress(),
                    own.sender,
                    terms=terms,
                    lease=lease,
                    prepared=prepared,
                    player=player,
                )
        measured = self._measures.measured(run, drafts[: len(run.tasks)])
        self._traces.keep(submission.id, run.as_json() | {"measures": measured})
        if run.crashed:
            raise AgentCrashed(run.stopped or "its program ended with an error on each task")

    @contextmanager
    def _on_runners(
        self, chosen: RunRequest, model: ModelGateway | None, lease: Lease
    ) -> Iterator[tuple[tuple[Submission, Box] | None, ServingPlayer | None]]:
        """Yield what a run is played with on runners for the block; nothing where this process plays it itself.

        A hosted endpoint is always asked from here.
        """
        from quarterturn.runners.remote_player import RemotePlayer  # noqa: PLC0415 - loads SQLAlchemy
        from quarterturn.runners.runner_box import RunnerBox  # noqa: PLC0415 - likewise

        if chosen.hosting is not None or not self._fleet.plays(chosen.run_class(private=False)):
            yield None, None
            return
        prepared = prepare(chosen, self._fleet.box)
        box = prepared[1]
        if not isinstance(box, RunnerBox):
            yield prepared, None
            return
        with box.playing(lambda: not is_held(lease)):
            yield prepared, RemotePlayer(self._fleet, box, models=model)


def never_asked_reason(runs: Sequence[TaskRun], *, hosted: bool = False) -> str | None:
    """Say how an agent ended that never asked for its first task, or a hosted one that did not take it; else None."""
    run = next(iter(runs), None)
    if hosted and run is not None and run.failed_without_a_call:
        status = run.output.partition("\n")[0] or "no answer"
        return f"the endpoint did not take its first task: {status}"
    if hosted or run is None or not run.never_asked:
        return None
    ended = {"agent-not-started": "it could not be started", **BUDGETS}.get(run.code)
    how = ended or (f"it ended with status {run.exit_code}" if run.exit_code is not None else "it ended")
    line = error_line(run.output)
    words = f"; it printed: {line}" if line else "; it printed nothing"
    return f"the agent never asked for its first task: {how}{words}"


def result_of(task: Task, run: TaskRun, skeleton: str | None = None) -> Result:
    """Return what counts of a task's run that is bound to no ledger."""
    return Result.of(run, run=1, cohort="dev", server=task.server, skeleton=skeleton or task.id)
