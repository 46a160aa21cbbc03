"""Runs on the private set: the wall is checked first, the run is bound to the ledger, only figures leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

from sqlmodel import Session

from quarterturn.errors import AgentCrashed, NotAllowed, Refused, UpstreamDown
from quarterturn.findings.detection import Detection
from quarterturn.progress import Progress
from quarterturn.public_view import PublicViewWriter
from quarterturn.runners.fleet import RunnerFleet
from quarterturn.runners.remote_player import RemotePlayer
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runs.dev_runs import UnrecordedJournal, never_asked_reason
from quarterturn.runs.request import Facilities, RunRequest, is_held
from quarterturn.runs.run_log import ServingLog, record
from quarterturn.settings import RunSettings
from quarterturn.submissions.store.queue import Lease
from quarterturn.submissions.store.requests import Submissions
from rotation.runs.official import OfficialRuns
from rotation.runs.run_tasks import OfficialJournal, OpenRun, RunTasks
from sandbox.attacks import selfcheck
from sandbox.boxes.box import AgentLauncher, Box, ResourceLimits
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.endpoint.address import Unresolved
from sandbox.isolation import machine_lock
from sandbox.isolation.run_classes import RunClass
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.failure import STOPS
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.claims import has_claims
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from sandbox.runs.store import ENDED, RunRecord, Runs
from sandbox.runs.submission import Submission
from sandbox.servings.run_environment import warm
from vault.errors import Unavailable, kind_of


def require_wall(box: Box) -> None:
    """Run the self-check of a box before a private task is run in it.

    Raises:
        Refused: an attempt got out.
    """
    escaped = [attempt.name for attempt in selfcheck(box) if attempt.outcome == "escaped"]
    if escaped:
        raise Refused(f"the {box.name} box lets these out: {', '.join(escaped)}. No private task is run in it")


def require_smoke_test(play: Callable[[], Sequence[TaskRun]], *, hosted: bool) -> None:
    """Play a public task before a run is opened: it must at least be asked for, and by a hosted agent be taken.

    Raises:
        AgentCrashed: it was not.
    """
    if why := never_asked_reason(play(), hosted=hosted):
        raise AgentCrashed(f"{why}. This was a public task: no run was opened, and none is counted")


@dataclass(frozen=True, slots=True)
class _RunContext:
    """A run that is being played: its rows, its worker's lease, its upstream, and what shows that a task has ended.

    Where it is played on runners, `fleet` has them.
    """

    run: OpenRun
    runs: Runs
    lease: Lease | None
    upstream: str | None
    advance: Callable[[], None]
    fleet: RunnerFleet | None = None


class PrivateJournal(OfficialJournal):
    """Journal of an official run of this service: it ends where its lease, its owner or an upstream is gone."""

    def __init__(self, run_tasks: RunTasks, context: _RunContext, judged_by: Mapping[str, str]) -> None:
        super().__init__(run_tasks, context.run, judged_by)
        self._context = context
        self._log = ServingLog(run=context.run.record.number, attempt=context.run.attempt)

    def record_serving(self, task_id: str, handle: str) -> None:
        """Record one more exposure of a task."""
        super().record_serving(task_id, handle)
        self._log.begin(task_id)

    def allow_retry(self, task_id: str, cause: str) -> bool:
        """Say whether a task may be served again, and record the cause if it may."""
        allowed = super().allow_retry(task_id, cause)
        if allowed:
            self._settle(task_id)
        return allowed

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Seal what an attempt left."""
        super().keep_unjudged(left)
        self._log.hand_in(left.task_id)

    def record_exposure(self, session: Session, task_id: str, handle: str) -> None:
        """Record one more exposure of a task, and which runner has it, if one has."""
        super().record_exposure(session, task_id, handle)
        if self._context.fleet:
            number = self._context.run.record.number
            self._context.fleet.record_start(handle, run=number, task=task_id, session=session)

    def record_outcome(self, run: TaskRun) -> None:
        """Seal what a task came to; then play nothing more while an upstream answers nobody.

        Raises:
            UpstreamDown: that of the agents' language model, or of the claim judge.
        """
        super().record_outcome(run)
        self._settle(run.task_id)
        self._context.advance()
        down = f"the upstream '{self._context.upstream}'" if run.code == "upstream-down" else None
        if any(exchange.outcome == "down" for exchange in run.claims):
            down = "the claim judge's upstream"
        if down is not None:
            raise UpstreamDown(f"{down} does not answer; tasks that were not served yet wait for it")

    def _settle(self, task_id: str) -> None:
        """Close what a runner played of a task; a process that dies before this leaves it to the next one."""
        if self._context.fleet:
            self._context.fleet.settle(self._context.run.record.number, task_id)

    def is_ended(self) -> bool:
        """Say whether another worker, its owner or the turn has ended this attempt."""
        run, context = self._context.run, self._context
        try:
            return not is_held(context.lease) or not context.runs.held(run.record.number, run.attempt)
        except Unavailable:  # nobody can tell; whatever is written is fenced
            return False


class PrivateRuns:
    """Plays official runs: opens them in the ledger, serves every task of the private set, and closes them.

    Args:
        official: the runs that are bound to the ledger.
        run_tasks: their tasks, as they are served.
        runs: their rows.
        settings: how many tasks are played at a time, and for how long.
        facilities: boxes, signer, models, and public tasks, on one of which a program must do something first.
        submissions: those that workers go on with.
        detection: looks at the results of a closed run.
        public_view: shows what is public of a run that has ended.
        fleet: the runners; None: everything is played by this process.
    """

    def __init__(
        self,
        official: OfficialRuns,
        run_tasks: RunTasks,
        runs: Runs,
        *,
        settings: RunSettings,
        facilities: Facilities,
        submissions: Submissions,
        detection: Detection,
        public_view: PublicViewWriter,
        fleet: RunnerFleet | None = None,
    ) -> None:
        self._official, self._run_tasks, self._runs, self._settings = official, run_tasks, runs, settings
        self._facilities, self._submissions = facilities, submissions
        self._detection, self._public_view, self._fleet = detection, public_view, fleet

    def run(
        self, chosen: RunRequest, out: Progress, resume: int | None = None, lease: Lease | None = None
    ) -> tuple[RunRecord, Box]:
        """Run the private set, or go on with the run of this number; return the run and its box.

        Raises:
            NotAllowed: nothing is live, or a turn is under way; or the run that is to be resumed has ended, or is one
                that workers go on with.
            NotFound, Locked: the model is none of the settings, or its key or the claim judge's was never entered.
            UpstreamDown: the claim judge does not answer; no run was opened.
            Refused: the wall has a hole, an endpoint is none that a task may be sent to, or a model's keys are the
                same.
            AgentCrashed: the agent never asked for a public task, or the endpoint did not take it; no run was opened.
        """
        self._official.require_live()
        warm()
        judge = self._official.require_judge()
        own = chosen.run_class(private=True, judged=judge is not None)
        if resume is not None and not lease:
            self._require_free(resume)
        resumed = resume if lease else None
        with self._owner_at_fault(resumed):
            submitted, box = chosen.submission(lambda: self._box(chosen, own, lease))
            if resumed is not None and self._runs.get(resumed).submission != submitted.digest:
                raise Refused(f"run {resumed} was opened for a submission of another digest; it is not resumed")
        if chosen.hosting:
            chosen.hosting.require_official(box, self._facilities.spec.name)
        with ExitStack() as stack:
            runners = box if isinstance(box, RunnerBox) else None
            take_turn = runners.playing if runners else partial(machine_lock.playing, own)
            stack.enter_context(take_turn(lambda: not is_held(lease)))
            with self._owner_at_fault(resumed):
                places = stack.enter_context(chosen.places(self._facilities.sender))
            model = stack.enter_context(self._facilities.models.gateway(chosen.model, "private"))
            claims = stack.enter_context(self._facilities.claim_judges.opened("private") if judge else nullcontext())
            if claims and not claims.check():
                raise UpstreamDown(f"the claim judge's upstream '{claims.spec.upstream.name}' does not answer")
            if (box_here := runners.local_box if runners else box) is not None:
                out.say("checking that nothing gets out of the box")
                require_wall(box_here)
            if resume is None:
                out.say("trying the agent on a task of the dev set, then opening the run")
                first = [PlannedTask(task) for task in self._facilities.dev_tasks(1)]
                setup = self._setup(box, places, self.terms(model))
                play = partial(run_set, first, submitted, setup, UnrecordedJournal(lease))
                require_smoke_test(play, hosted=chosen.hosting is not None)
            opened, _ = self.play(
                submitted, box, out, places=places, model=model, claims=claims, resume=resume, lease=lease
            )
        return opened.record, box

    def play(
        self,
        submitted: Submission,
        box: Box,
        out: Progress,
        *,
        places: AgentLauncher | None = None,
        model: ModelGateway | None = None,
        claims: ClaimJudge | None = None,
        resume: int | None = None,
        lease: Lease | None = None,
    ) -> tuple[OpenRun, tuple[Result, ...]]:
        """Open a run, or resume the one of this number, serve it every task, and close it.

        Where that fails, the cause is recorded with the run, and resuming it plays the tasks that were not served yet.
        At the latest the turn ends it: no run stays open beyond its month. A run that was served nothing is aborted at
        once, unless workers will resume it: a job has a lease, a command has none.
        """
        upstream = model.spec.name if model else None
        if resume is not None:
            opened = self._official.resume(resume, submitted, box, upstream, self._playing(resume))
        else:
            with self._official.opening(submitted, box, upstream) as opening:
                if lease:
                    lease.record_run(opening.record, opening.session)
            opened = opening.run
        number = opened.record.number
        record("start", run=number, attempt=opened.attempt)
        try:
            handles = self._playing(number)
            tasks = [replace(task, handle=handles.get(task.task.id)) for task in self._run_tasks.prepare(opened)]
            setup = self._setup(box, places, self.terms(model, claims), number)
            with out.progress(submitted.name, len(tasks)) as advance:
                fleet = self._fleet if isinstance(box, RunnerBox) else None
                context = _RunContext(opened, self._runs, lease, upstream, partial(advance, 1), fleet)
                run_set(tasks, submitted, setup, PrivateJournal(self._run_tasks, context, _judged_by(tasks, claims)))
            if lease:
                lease.wait_to_close()
            results = self._official.close(opened)
        except BaseException as error:
            stop = partial(self._after_stop, opened, lease, error, out)
            with suppress(Exception):  # what went wrong first is what is said
                if lease:
                    lease.outlast(stop)  # unwritten, an outage of ours would fail what was in play
                else:
                    stop()
            raise
        self._detection.run(f"results of run {number}")
        self._public_view.update()
        return opened, results

    def settle(self) -> None:
        """Publish what a run that has ended left unpublished: the disk failed, or the turn ended it."""
        self._official.publish()
        self._public_view.update()

    def terms(self, model: ModelGateway | None = None, claims: ClaimJudge | None = None) -> Terms:
        """Return the terms of the home's runs; `model` is what their agents may ask, `claims` judges claims."""
        return Terms(agent=ResourceLimits(wall=self._settings.wall_seconds), models=model, claims=claims)

    def _box(self, chosen: RunRequest, run_class: RunClass, lease: Lease | None) -> Box:
        """Return the box of a run: of runners elsewhere or of this machine's own, for a job of the service.

        A hosted endpoint is asked from here, because the key that signs its requests is here and none of its programs
        runs here.
        """
        make_box = partial(self._facilities.box, chosen.named_box, run_class)
        return self._fleet.box(run_class, make_box) if self._fleet and lease and not chosen.hosting else make_box()

    def _setup(self, box: Box, places: AgentLauncher | None, terms: Terms, run: int | None = None) -> RunSetup:
        """Return where and how tasks are played, of the official run of this number, or of none."""
        workers = self._settings.workers
        if self._fleet and isinstance(box, RunnerBox):
            return RunSetup(RemotePlayer(self._fleet, box, run, workers, terms.models), terms)
        return RunSetup.supervised(box, places, workers=workers, terms=terms)

    def _playing(self, number: int) -> dict[str, str]:
        """Map the tasks of a run that runners play, or have handed in, to the handles of their newest servings."""
        return {row.task: row.handle for row in self._fleet.runners.outstanding(number)} if self._fleet else {}

    @contextmanager
    def _owner_at_fault(self, resumed: int | None) -> Iterator[None]:
        """Charge the owner where the submission itself is gone: that is no cause of the closed list.

        An image may be taken away, a tag moved and a name left without an address, by whoever saw a run go badly.
        """
        try:
            yield
        except Exception as error:
            ours = kind_of(error) in {None, "unavailable"} and not isinstance(error, Unresolved)
            if resumed is not None and not ours:
                self._run_tasks.forget_cause(resumed)
            raise

    def _require_free(self, number: int) -> None:
        """Refuse a run that has ended, and to take one from the workers, who would lose what they are playing of it."""
        if (record := self._runs.get(number)).state in ENDED:
            raise NotAllowed(
                f"run {number} has ended ({record.state}): nothing of it is left to play; a new run leaves --resume out"
            )
        for submission in self._submissions.unfinished():
            if submission.run == number:
                raise NotAllowed(
                    f"run {number} is that of submission {submission.id}, which is {submission.state}: workers go on "
                    "with it, so leave it to them"
                )

    def _after_stop(self, run: OpenRun, lease: Lease | None, error: BaseException, out: Progress) -> None:
        """Record with a run why it stopped, or end it where nothing will resume it."""
        number, code = run.record.number, _stop_code(lease, error)
        if code is None or not self._runs.held(number, run.attempt):
            return
        if not STOPS[code].goes_on or not (lease or self._run_tasks.was_served(number)):
            self._official.end(number, code)
            self._public_view.update()
            return
        self._run_tasks.stop(run, code, self._playing(number))
        if not lease:
            out.say(
                f"Run {number} stays open. Resume it with the same command and --resume {number}; tasks that were not "
                "served when the month turns count as failed."
            )


def _judged_by(tasks: Sequence[PlannedTask], claims: ClaimJudge | None) -> dict[str, str]:
    """Map each task whose answer a claim judge reads to that judge's upstream."""
    judged = [planned.task.id for planned in tasks if has_claims(planned.task)] if claims else []
    return dict.fromkeys(judged, claims.spec.upstream.name) if claims else {}


def _stop_code(lease: Lease | None, error: BaseException) -> str | None:
    """Return the code of what stopped a run; None where another worker has it."""
    lease_status = lease.status() if lease else "held"
    if lease_status in ("lost", "cancelled"):
        return "cancelled" if lease_status == "cancelled" else None
    if lease_status == "stopped" or isinstance(error, KeyboardInterrupt):
        return "worker-stopped"
    if isinstance(error, UpstreamDown):
        return "upstream-down"
    return "machine" if kind_of(error) == "unavailable" else "mistake"
