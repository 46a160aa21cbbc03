"""Runs on the private set: the wall is checked first, the run is bound to the ledger, only figures leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial

from quarterturn.errors import AgentCrashed, NotAllowed, Refused, UpstreamDown
from quarterturn.progress import Progress
from quarterturn.runs.dev_runs import HeldJournal, never_asked_reason
from quarterturn.runs.request import ALONE, Facilities, LeaseStatus, RunControl, RunRequest
from quarterturn.settings import RunSettings
from quarterturn.submissions.store.requests import SubmissionRecord
from rotation.runs.journal import OfficialJournal
from rotation.runs.official import OfficialRuns
from rotation.runs.run_tasks import OpenRun, RunTasks
from sandbox.attacks import selfcheck
from sandbox.boxes.box import AgentLauncher, Box, ResourceLimits
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.endpoint.address import Unresolved
from sandbox.isolation import machine_lock
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.failure import STOPS
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result
from sandbox.runs.claims import has_claims
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from sandbox.runs.run_environment import warm
from sandbox.runs.store import ENDED, RunRecord, Runs
from sandbox.runs.submission import Submission
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
    """A run that is being played: its rows, who controls it, its upstream, and what shows that a task has ended."""

    run: OpenRun
    runs: Runs
    hold: RunControl
    upstream: str | None
    advance: Callable[[], None]


class PrivateJournal(OfficialJournal):
    """Journal of an official run that is played here: it ends where its holder, its owner or an upstream is gone."""

    def __init__(self, run_tasks: RunTasks, context: _RunContext, judged_by: Mapping[str, str]) -> None:
        super().__init__(run_tasks, context.run, judged_by)
        self._context = context

    def record_outcome(self, run: TaskRun) -> None:
        """Seal what a task came to; then play nothing more while an upstream answers nobody.

        Raises:
            UpstreamDown: that of the agents' language model, or of the claim judge.
        """
        super().record_outcome(run)
        self._context.advance()
        down = f"the upstream '{self._context.upstream}'" if run.code == "upstream-down" else None
        if any(exchange.outcome == "down" for exchange in run.claims):
            down = "the claim judge's upstream"
        if down is not None:
            raise UpstreamDown(f"{down} does not answer; tasks that were not served yet wait for it")

    def is_ended(self) -> bool:
        """Say whether another worker, its owner or the turn has ended this attempt."""
        run, context = self._context.run, self._context
        try:
            return context.hold.lease_status() != "held" or not context.runs.held(run.record.number, run.attempt)
        except Unavailable:  # nobody can tell; whatever is written is fenced
            return False


@dataclass(frozen=True, slots=True)
class AfterRun:
    """What follows a run.

    Attributes:
        closed: called with the number of a run that was played to its end.
        ended: called after a run was ended without that.
    """

    closed: Callable[[int], None]
    ended: Callable[[], None]


class RunPlayer:
    """Plays official runs: opens them in the ledger, serves every task of the private set, and closes them.

    Args:
        official: the runs that are bound to the ledger.
        run_tasks: their tasks, as they are served.
        runs: their rows.
        settings: how many tasks are played at a time, and for how long.
        after: what follows a run.
    """

    def __init__(
        self, official: OfficialRuns, run_tasks: RunTasks, runs: Runs, settings: RunSettings, after: AfterRun
    ) -> None:
        self._official, self._run_tasks, self._runs = official, run_tasks, runs
        self._settings, self._after = settings, after

    def play(
        self,
        submitted: Submission,
        box: Box,
        out: Progress,
        *,
        places: AgentLauncher | None = None,
        model: ModelGateway | None = None,
        claims: ClaimJudge | None = None,
        hold: RunControl = ALONE,
    ) -> tuple[OpenRun, tuple[Result, ...]]:
        """Open a run, or resume one, serve it every task, and close it.

        Where that fails, the cause is recorded with the run, and resuming it plays the tasks that were not served yet.
        At the latest the turn ends it: no run stays open beyond its month. A run that was served nothing is aborted at
        once, unless its holder will resume it.
        """
        official, upstream = self._official, model.spec.name if model else None
        if hold.resume is not None:
            opened = official.resume(hold.resume, submitted, box, upstream)
        else:
            opened = official.open(submitted, box, upstream, noted=hold.opened)
        number = opened.record.number
        try:
            tasks = self._run_tasks.prepare(opened)
            setup = RunSetup(box, places, self._settings.workers, terms=self.terms(model, claims))
            with out.progress(submitted.name, len(tasks)) as advance:
                context = _RunContext(opened, self._runs, hold, upstream, partial(advance, 1))
                run_set(tasks, submitted, setup, PrivateJournal(self._run_tasks, context, _judged_by(tasks, claims)))
            hold.before_close()
            results = official.close(opened)
        except BaseException as error:
            with suppress(Exception):  # what went wrong first is what is said
                self._after_stop(opened, hold, _stop_code(hold.lease_status(), error), out)
            raise
        self._after.closed(number)
        return opened, results

    def end(self, number: int) -> None:
        """End a run that its owner cancelled, unless it has ended."""
        if self._runs.get(number).state not in ENDED:
            self._official.end(number, "cancelled")
            self._after.ended()

    def forget_cause(self, number: int) -> None:
        """Clear a cause of the closed list that stopped a run: from now on its owner keeps it from continuing."""
        self._run_tasks.forget_cause(number)

    def terms(self, model: ModelGateway | None = None, claims: ClaimJudge | None = None) -> Terms:
        """Give the terms of the home's runs; `model` is what their agents may ask, `claims` judges claims."""
        return Terms(agent=ResourceLimits(wall=self._settings.wall_seconds), models=model, claims=claims)

    def _after_stop(self, run: OpenRun, hold: RunControl, code: str | None, out: Progress) -> None:
        """Record with a run why it stopped, or end it where nothing will resume it."""
        number = run.record.number
        if code is None or not self._runs.held(number, run.attempt):
            return
        if not STOPS[code].goes_on or not (hold.again or self._run_tasks.was_served(number)):
            self._official.end(number, code)
            self._after.ended()
            return
        self._run_tasks.stop(run, code)
        if not hold.again:
            out.say(
                f"Run {number} stays open. Resume it with the same command and --resume {number}; tasks that were not "
                "served when the month turns count as failed."
            )


class PrivateRuns:
    """Runs what is submitted on the private set.

    Args:
        player: plays the run.
        official: the runs that are bound to the ledger.
        runs: their rows.
        facilities: boxes, signer, models, and public tasks, on one of which a program must do something first.
        unfinished: lists the submissions that workers go on with.
    """

    def __init__(
        self,
        player: RunPlayer,
        official: OfficialRuns,
        runs: Runs,
        facilities: Facilities,
        unfinished: Callable[[], Iterable[SubmissionRecord]],
    ) -> None:
        self._player, self._official, self._runs = player, official, runs
        self._facilities, self._unfinished = facilities, unfinished

    def run(self, chosen: RunRequest, out: Progress, hold: RunControl = ALONE) -> tuple[RunRecord, Box]:
        """Run the private set; give the run and its box.

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
        if hold.resume is not None and not hold.again:
            self._require_free(hold.resume)
        with self._owner_at_fault(hold):
            submitted, box = chosen.submission(lambda: self._facilities.box(chosen.named_box, own))
            if hold.again and hold.resume is not None and self._runs.get(hold.resume).submission != submitted.digest:
                raise Refused(f"run {hold.resume} was opened for a submission of another digest; it is not resumed")
        if chosen.hosting:
            chosen.hosting.require_official(box, self._facilities.of_set)
        with ExitStack() as stack:
            stack.enter_context(machine_lock.playing(own, lambda: hold.lease_status() != "held"))
            with self._owner_at_fault(hold):
                places = stack.enter_context(chosen.places(self._facilities.sender))
            model = stack.enter_context(self._facilities.model(chosen.model, "private"))
            claims = stack.enter_context(self._facilities.claims("private") if judge else nullcontext())
            if claims and not claims.check():
                raise UpstreamDown(f"the claim judge's upstream '{claims.spec.upstream.name}' does not answer")
            out.say("checking that nothing gets out of the box")
            require_wall(box)
            if hold.resume is None:
                out.say("trying the agent on a task of the dev set, then opening the run")
                first = [PlannedTask(task) for task in self._facilities.dev_tasks(1)]
                setup = RunSetup(box, places, terms=self._player.terms(model))
                play = partial(run_set, first, submitted, setup, HeldJournal(hold))
                require_smoke_test(play, hosted=chosen.hosting is not None)
            opened, _ = self._player.play(submitted, box, out, places=places, model=model, claims=claims, hold=hold)
        return opened.record, box

    @contextmanager
    def _owner_at_fault(self, hold: RunControl) -> Iterator[None]:
        """Charge the owner where the submission itself is gone: that is no cause of the closed list.

        An image may be taken away, a tag moved and a name left without an address, by whoever saw a run go badly.
        """
        try:
            yield
        except Exception as error:
            ours = kind_of(error) in {None, "unavailable"} and not isinstance(error, Unresolved)
            if hold.again and hold.resume is not None and not ours:
                self._player.forget_cause(hold.resume)
            raise

    def _require_free(self, number: int) -> None:
        """Refuse a run that has ended, and to take one from the workers, who would lose what they are playing of it."""
        if (record := self._runs.get(number)).state in ENDED:
            raise NotAllowed(
                f"run {number} has ended ({record.state}): nothing of it is left to play; a new run leaves --resume out"
            )
        for submission in self._unfinished():
            if submission.run == number:
                raise NotAllowed(
                    f"run {number} is that of submission {submission.id}, which is {submission.state}: workers go on "
                    "with it, so leave it to them"
                )


def _judged_by(tasks: Sequence[PlannedTask], claims: ClaimJudge | None) -> dict[str, str]:
    """Map each task whose answer a claim judge reads to that judge's upstream."""
    judged = [planned.task.id for planned in tasks if has_claims(planned.task)] if claims else []
    return dict.fromkeys(judged, claims.spec.upstream.name) if claims else {}


def _stop_code(lease_status: LeaseStatus, error: BaseException) -> str | None:
    """Give the code of what stopped a run; None where another worker has it."""
    if lease_status in ("lost", "cancelled"):
        return "cancelled" if lease_status == "cancelled" else None
    if lease_status == "stopped" or isinstance(error, KeyboardInterrupt):
        return "worker-stopped"
    if isinstance(error, UpstreamDown):
        return "upstream-down"
    return "machine" if kind_of(error) == "unavailable" else "mistake"
