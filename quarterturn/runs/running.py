"""Runs of a submission: on the dev set, which discloses everything, or on the private set, which discloses figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sqlmodel import Session

from quarterturn.app import Application, shipped_grammars
from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.errors import Malformed, NotAllowed, Refused, UpstreamDown
from quarterturn.findings import detection
from quarterturn.leaderboard import caveats, disclosure, public_view, scores, standings
from quarterturn.report import Report
from quarterturn.runs import models
from quarterturn.runs.hosted_endpoint import Hosting, ephemeral
from quarterturn.tasks import dev_sets
from rotation.month.sets import DEMO, SetSpec
from rotation.runs.run_tasks import OpenRun
from sandbox.attacks import selfcheck
from sandbox.boxes.box import AgentLauncher, Box, ResourceLimits
from sandbox.endpoint import Sender
from sandbox.endpoint.address import Unresolved
from sandbox.isolation import machine_lock
from sandbox.isolation.run_classes import RunClass, run_class
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.failure import STOPS
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result, score
from sandbox.runs import submission as submissions
from sandbox.runs.run import Solution, Terms, run_set
from sandbox.runs.store import ENDED
from sandbox.runs.submission import Submission
from sandbox.transcript import ToolCall
from vault.errors import Unavailable, kind_of
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict


class Progress(Protocol):
    """Output for progress (`quarterturn.cli.terminal.output.Output`)."""

    def say(self, text: str) -> None:
        """Say something that belongs to no result."""
        ...

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Give a context manager that yields `advance(steps)`."""
        ...


LeaseStatus = Literal["held", "cancelled", "stopped", "lost"]


@dataclass(frozen=True, slots=True)
class RunControl:
    """Control of a run while it is played: resuming, cancelling and stopping it.

    Attributes:
        resume: the number of the run that an earlier attempt opened, or None.
        opened: called with the run's number within the transaction that opens it; if it raises, none is opened.
        lease_status: called once a second. A run that its owner `cancelled` is ended in the public log; one that the
            operator `stopped`, or that was `lost` to another worker, is resumed later.
        again: whether its holder resumes it without being told.
    """

    resume: int | None = None
    opened: Callable[[Session, int], None] = lambda _session, _number: None
    lease_status: Callable[[], LeaseStatus] = lambda: "held"
    again: bool = False


ALONE = RunControl()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: the agent, its submitter, its model, and the box, if one was named.

    Raises:
        Malformed: not exactly one thing is submitted, or an image for a box that has none.
    """

    image: str | None
    agent: str | None
    submitter: str
    box: BoxName | None
    hosting: Hosting | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run, before anything is started for it."""
        if self.hosting is not None and self.model is not None:
            raise Malformed("a hosted endpoint brings its own model: leave --model out")
        if sum(given is not None for given in (self.image, self.agent, self.hosting)) != 1:
            raise Malformed("name one of --image, --agent and --endpoint")
        if self.image is not None and self.box == "bwrap":
            raise Malformed("an image needs the docker box: leave --box bwrap out, or give --agent a command")

    def run_class(self, *, private: bool) -> RunClass:
        """Say which class a run of it has, on the private set or on public tasks."""
        kind = "endpoint" if self.hosting is not None else "image" if self.image is not None else "command"
        return run_class(private=private, kind=kind, model=self.model)

    def box_name(self, default: BoxName) -> BoxName:
        """Give the box to use; an image runs in the docker box only."""
        return "docker" if self.image is not None else self.box or default

    def submission(self, make_box: Callable[[], Box]) -> tuple[Submission, Box]:
        """Make the submission and then its box; an image is made the other way round, for an engine knows its digest.

        Raises:
            Malformed, NotFound, Refused: it cannot be submitted; the message says why.
            Unavailable: the box cannot be had.
        """
        if self.hosting is not None:
            return self.hosting.submission(self.submitter), make_box()
        if self.agent is not None:
            made, box = submissions.command(self.agent, submitter=self.submitter), make_box()
        else:
            box = make_box()
            resolve: Callable[[str], str] = getattr(box, "digest")  # noqa: B009 - of the docker box, which alone has images
            made = submissions.image(self.image or "", submitter=self.submitter, resolve=resolve)
        box.fits(made.program)
        return made, box

    def places(self, sender: Callable[[], Sender]) -> AbstractContextManager[AgentLauncher | None]:
        """Give where agents run, if it is not the box; an endpoint's address is pinned and its callbacks are heard."""
        return self.hosting.places(sender()) if self.hosting else nullcontext()


def dev(
    chosen: RunRequest,
    out: Progress,
    sender: Callable[[], Sender] = ephemeral,
    model: ModelGateway | None = None,
    spec: SetSpec = DEMO,
    *,
    first: int | None = None,
    hold: RunControl = ALONE,
) -> Report:
    """Run a set's dev tasks, without a home, and give everything back; `sender` signs requests to an endpoint.

    With `first`, only so many of them are run.
    """
    own = chosen.run_class(private=False)
    submitted, box = chosen.submission(lambda: choose_box(chosen.box_name("auto"), run_class=own))
    tasks = [Task.parse(draft.task) for draft in dev_sets.draw(shipped_grammars(), spec)[:first]]
    label = f"{submitted.name} on the dev set"
    stopped = lambda: hold.lease_status() != "held"  # noqa: E731 - asked once a second
    playing = machine_lock.playing(own, stopped)
    with playing, chosen.places(sender) as places, out.progress(label, len(tasks)) as advance:
        done, ours = lambda _: advance(1), Terms(models=model)
        runs = run_set(tasks, submitted, box, places=places, on_done=done, terms=ours, cancelled=stopped)
    results = [_result(task, run) for task, run in zip(tasks, runs, strict=True)]
    total = score(results)
    served = [{"task": task.document, "run": run.as_json()} for task, run in zip(tasks, runs, strict=True)]
    data = {"box": box.name, "score": total.as_json(), "tasks": served}
    lines = [line for task, run in zip(tasks, runs, strict=True) for line in (_line(task, run), *_why(run))]
    return Report(data, [*lines, "", f"{total.passed} of {total.attempted} passed. The dev set is public: no rank."])


def private(house: Application, chosen: RunRequest, out: Progress, hold: RunControl = ALONE) -> Report:
    """Run the private set: the wall is checked first, and nothing but figures comes back, as `disclosure` has them.

    Raises:
        NotAllowed: nothing is live, or a turn is under way; or the run that is to be resumed has ended, or is one that
            workers go on with.
        NotFound, Locked: the model is none of the settings, or its key was never entered.
        Refused: the wall has a hole, an endpoint is none that a task may be sent to, or a model's keys are the same.
    """
    month = house.official.month()
    own = chosen.run_class(private=True)
    if hold.resume is not None and not hold.again:
        _require_free(house, hold.resume)
    with _owner_at_fault(house, hold):
        submitted, box = chosen.submission(lambda: house.box(chosen.box_name(house.settings.run.box), own))
        if hold.again and hold.resume is not None and house.runs.get(hold.resume).submission != submitted.digest:
            raise Refused(f"run {hold.resume} was opened for a submission of another digest; it is not resumed")
    if chosen.hosting:
        chosen.hosting.require_official(box, house.spec.name)
    with ExitStack() as stack:
        stack.enter_context(machine_lock.playing(own, lambda: hold.lease_status() != "held"))
        with _owner_at_fault(house, hold):
            places = stack.enter_context(chosen.places(lambda: house.sender))
        model = stack.enter_context(models.gateway(house, chosen.model, "private"))
        require_wall(box)
        opened, _ = play(house, submitted, box, out, places=places, model=model, hold=hold)
    learnt = disclosure.figures(house, opened.record.number) or {}
    line = standings.lines([(opened.record, {part: scores.score_of(learnt[part]) for part in scores.PARTS})])
    public = caveats.public_cohorts(house, month)
    data = {"run": opened.record.number, "month": opened.record.month, "box": box.name} | line[0].as_json()
    del data["runs"], data["sunset"]  # the leaderboard counts the ones and shows the other
    return Report(data | {"public_grammar": public}, [*standings.table(line), *caveats.lines(public)])


@contextmanager
def _owner_at_fault(house: Application, hold: RunControl) -> Iterator[None]:
    """Charge the owner where the submission itself is gone: that is no cause of the closed list.

    An image may be taken away, a tag moved and a name left without an address, by whoever saw a run go badly.
    """
    try:
        yield
    except Exception as error:
        ours = kind_of(error) in {None, "unavailable"} and not isinstance(error, Unresolved)
        if hold.again and hold.resume is not None and not ours:
            house.run_tasks.forget_cause(hold.resume)
        raise


def _require_free(house: Application, number: int) -> None:
    """Refuse a run that has ended, and to take one from the workers, who would lose what they are playing of it."""
    if (record := house.runs.get(number)).state in ENDED:
        raise NotAllowed(
            f"run {number} has ended ({record.state}): nothing of it is left to play; a new run leaves --resume out"
        )
    for submission in house.submissions.unfinished():
        if submission.run == number:
            raise NotAllowed(
                f"run {number} is that of submission {submission.id}, which is {submission.state}: "
                "workers go on with it, so leave it to them"
            )


def require_wall(box: Box) -> None:
    """Run the self-check of a box before a private task is run in it.

    Raises:
        Refused: an attempt got out.
    """
    escaped = [attempt.name for attempt in selfcheck(box) if attempt.outcome == "escaped"]
    if escaped:
        raise Refused(f"the {box.name} box lets these out: {', '.join(escaped)}. No private task is run in it")


def play(
    house: Application,
    submitted: Submission,
    box: Box,
    out: Progress,
    *,
    places: AgentLauncher | None = None,
    model: ModelGateway | None = None,
    hold: RunControl = ALONE,
) -> tuple[OpenRun, tuple[Result, ...]]:
    """Open a run in the ledger, serve it every task of the private set, and close it.

    Where that fails, the cause is recorded with the run, and resuming it plays the tasks that were not served yet. At
    the latest the turn ends it: no run stays open beyond its month. A run that was served nothing is aborted at once,
    unless its holder will resume it.
    """
    upstream = model.spec.name if model else None
    if hold.resume is not None:
        opened = house.official.resume(hold.resume, submitted, box, upstream)
    else:
        opened = house.official.open(submitted, box, upstream, noted=hold.opened)
    number = opened.record.number
    try:
        tasks = house.run_tasks.prepare(opened)

        def done(run: TaskRun) -> None:
            house.run_tasks.record(opened, run)
            advance(1)
            _require_upstream(run, upstream)

        def cancelled() -> bool:
            try:
                return hold.lease_status() != "held" or not house.runs.held(number, opened.attempt)
            except Unavailable:  # nobody can tell; whatever is written is fenced
                return False

        with out.progress(submitted.name, len(tasks)) as advance:
            run_set(
                tasks,
                submitted,
                box,
                places=places,
                workers=house.settings.run.workers,
                on_done=done,
                on_serve=lambda task_id: house.run_tasks.serve(opened, task_id),
                again=lambda task_id, cause: house.run_tasks.again(opened, task_id, cause),
                on_left=lambda left: house.run_tasks.seal(opened, left),
                left=house.run_tasks.sealed(opened),
                terms=terms(house, model),
                cancelled=cancelled,
            )
        results = house.official.close(opened)
    except BaseException as error:
        with suppress(Exception):  # what went wrong first is what is said
            _after_stop(house, opened, hold, _stop_code(hold.lease_status(), error), out)
        raise
    detection.after(house, f"results of run {number}")
    public_view.after(house)
    return opened, results


def _after_stop(house: Application, run: OpenRun, hold: RunControl, code: str | None, out: Progress) -> None:
    """Record with a run why it stopped, or end it where nothing will resume it."""
    number = run.record.number
    if code is None or not house.runs.held(number, run.attempt):
        return
    if not STOPS[code].goes_on or not (hold.again or house.exposures.of_run(number)):
        house.official.end(number, code)
        public_view.after(house)
        return
    house.run_tasks.stop(run, code)
    if not hold.again:
        out.say(
            f"Run {number} stays open. Resume it with the same command and --resume {number}; tasks that were not "
            "served when the month turns count as failed."
        )


def taken_back(house: Application, number: int) -> None:
    """End a run that its owner cancelled, unless it has ended."""
    if house.runs.get(number).state not in ENDED:
        house.official.end(number, "cancelled")
        public_view.after(house)


def _require_upstream(run: TaskRun, upstream: str | None) -> None:
    """Play nothing more while the upstream of a model answers nobody."""
    if run.code == "upstream-down":
        raise UpstreamDown(f"the upstream '{upstream}' does not answer; tasks that were not served yet wait for it")


def _stop_code(lease_status: LeaseStatus, error: BaseException) -> str | None:
    """Give the code of what stopped a run; None where another worker has it."""
    if lease_status in ("lost", "cancelled"):
        return "cancelled" if lease_status == "cancelled" else None
    if lease_status == "stopped" or isinstance(error, KeyboardInterrupt):
        return "worker-stopped"
    if isinstance(error, UpstreamDown):
        return "upstream-down"
    return "machine" if kind_of(error) == "unavailable" else "mistake"


def reference(house: Application, submitted: Submission, box: Box, out: Progress) -> list[Result]:
    """Run the reference agent on the private set; it is handed the solutions, opens no run and has no rank."""
    cohorts = house.months.cohorts("live")
    opened = [
        house.vault.open(name, who=submitted.submitter, why="reference agent") for c in cohorts for name in c.tasks
    ]
    solutions = {item.task.id: _solution(item.task.in_base(item.provenance["solutions"][0])) for item in opened}
    tasks = [item.task.base() for item in opened]
    with out.progress(submitted.name, len(tasks)) as advance:
        runs = run_set(
            tasks,
            submitted,
            box,
            workers=house.settings.run.workers,
            on_done=lambda _: advance(1),
            solutions=solutions,
            terms=terms(house),
        )
    return [
        _result(item.task, run, house.vault.record(item.task.id).skeleton_tag)
        for item, run in zip(opened, runs, strict=True)
    ]


def terms(house: Application, model: ModelGateway | None = None) -> Terms:
    """Give the terms of the home's runs; `model` is what their agents may ask."""
    return Terms(agent=ResourceLimits(wall=house.settings.run.wall_seconds), models=model)


def _solution(solution: Mapping[str, Any]) -> Solution:
    return Solution([ToolCall(call["tool"], call["arguments"]) for call in solution["calls"]], solution["answer"])


def _result(task: Task, run: TaskRun, skeleton: str | None = None) -> Result:
    return Result.of(run, run=1, cohort="dev", server=task.server, skeleton=skeleton or task.id)


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
