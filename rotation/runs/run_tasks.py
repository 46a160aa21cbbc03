"""Tasks of an open official run: given out, served, retried, and their outcomes recorded.

Step numbers are those of `rotation.runs.official`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotAllowed, Refused
from rotation.exposure.store import UPSTREAM, Exposures
from rotation.exposure.tracks import TRACKS
from rotation.month.store import Cohort, MonthStore
from rotation.runs import withdrawal
from rotation.runs.run_ledger import WHO, RunResult
from sandbox.results.bound_transcript import transcript_bytes
from sandbox.results.failure import RETRIES, STOPS, Failure
from sandbox.results.outcome import TaskRun, unplayed
from sandbox.results.said import united
from sandbox.results.score import Result
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.claims import has_claims
from sandbox.runs.job import PlannedTask
from sandbox.runs.journal import RunJournal
from sandbox.runs.store import RunRecord, Runs
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState
from verifiers.language.verdict import Verdict

UNSETTLED = ("unknown", "unclear")
"""Kinds of task outcomes that are counted by run for a person to review."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """An opened run, with what a worker needs to serve its tasks.

    Attributes:
        record: its row.
        attempt: the fencing token under which results are written.
        cohorts: the cohorts that it is served, the next to retire first.
        upstream: the language model that its agents may call, or None.
        done: the tasks that already have a result.
        sealed: the other tasks that an earlier attempt played and whose sealed state waits to be judged.
        judge: the digest of the claim judge that its opening names, or None.
    """

    record: RunRecord
    attempt: int
    cohorts: tuple[Cohort, ...]
    upstream: str | None = None
    done: frozenset[str] = frozenset()
    sealed: frozenset[str] = frozenset()
    judge: str | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the ids of its tasks."""
        return tuple(task_id for cohort in self.cohorts for task_id in cohort.tasks)

    @property
    def left(self) -> tuple[str, ...]:
        """Return the ids of the tasks without a result."""
        return tuple(task_id for task_id in self.tasks if task_id not in self.done)


class RunTasks:
    """Service for the tasks of open runs: serves them and records what came of them."""

    def __init__(self, vault: Vault, ledger: PublicLog, months: MonthStore, runs: Runs, exposures: Exposures) -> None:
        self._vault, self._ledger, self._months = vault, ledger, months
        self._runs, self._exposures = runs, exposures

    def transaction(self) -> AbstractContextManager[Session]:
        """Begin a write transaction, in which a serving can be recorded with what else belongs to it."""
        return self._months.transaction()

    def prepare(self, run: OpenRun) -> list[PlannedTask]:
        """Decrypt the run's tasks that have no result, in the variants that they are served in.

        A task with enough free parameters is served in one variant per submitter and month, in every run and retry.
        What an earlier attempt left unjudged is opened with its task; each opening is an entry in the access log.

        Raises:
            Refused: a task is neither live nor was withdrawn since the run was opened for it, or its commitment is not
                under a published checkpoint; or it has claims, and the run was opened without a claim judge.
        """
        size = self._ledger.published.size
        for task_id in run.left:
            state = self._vault.record(task_id).state
            withdrawn = state is TaskState.WITHDRAWN and self._ledger.find(withdrawal.leaf_key(task_id)) is not None
            if state is not TaskState.LIVE and not withdrawn:
                raise Refused(f"task {task_id} is {state}, not live: only live tasks are served")
            if self._ledger.index_of(f"commit/{task_id}") >= size:
                raise Refused(f"the commitment of task {task_id} is not published yet: nothing is served before it is")
        why = f"serve run {run.record.number}"
        opened = [self._vault.open(task_id, who=WHO, why=why).task for task_id in run.left]
        if run.judge is None and (judged := [task.id for task in opened if has_claims(task)]):
            raise Refused(
                f"{len(judged)} tasks of this set (the first is {judged[0]}) have claims that a language model judges, "
                "and the month's set names no judge: name one in [claim_judge]; the next turn's set will name it"
            )
        return [
            PlannedTask(
                self._vault.served(task, run.record.submitter, run.record.month),
                free=task.free if task.variant_key else {},
                left=self._open_left(run, task.id) if task.id in run.sealed else None,
            )
            for task in opened
        ]

    def serve(self, run: OpenRun, *task_ids: str, judged_by: str | None = None, session: Session | None = None) -> None:
        """Record one more exposure of these tasks, the last check before an agent sees them (step 3); thread-safe.

        Args:
            run: the run.
            task_ids: the tasks.
            judged_by: the upstream of the claim judge that will read their goals and the answers, or None.
            session: the caller's write transaction, or None.

        Raises:
            NotAllowed: a task was served before and has no recorded cause of the closed list; or another worker has
                taken the run over, or it has ended.
        """
        number = run.record.number
        with nullcontext(session) if session else self._months.transaction() as own:
            self._runs.require(number, run.attempt, own)
            served = self._exposures.of_run(number, own)
            for task_id in task_ids:
                if task_id in served and served[task_id].cause is None:
                    raise NotAllowed(f"run {number} was already served task {task_id}; a run is served a task once")
                self._expose(own, run, task_id, judged_by)

    def was_served(self, number: int, session: Session | None = None) -> bool:
        """Say whether a run was served any task."""
        return bool(self._exposures.of_run(number, session))

    def again(self, run: OpenRun, task_id: str, cause: str) -> bool:
        """Say whether a task may be served again for a cause of the closed list, and record the cause if it may.

        All attempts at a run share `sandbox.results.failure.RETRIES`. Thread-safe.
        """
        number = run.record.number
        with self._months.transaction() as session:
            self._runs.require(number, run.attempt, session)
            return self._again(session, number, task_id, cause)

    def stop(self, run: OpenRun, code: str, playing: Collection[str] = ()) -> None:
        """Record why the run is stopped for now (`sandbox.results.failure.STOPS`), for whoever resumes it.

        If the cause is on the closed list, the tasks in play may be served again, up to RETRIES; but for those that are
        still `playing` on a runner, whose end is waited for.
        """
        number, closed_list = run.record.number, STOPS[code].closed_list
        with self._months.transaction() as session:
            self._runs.require(number, run.attempt, session)
            self._runs.note(number, code if closed_list else None, session)
            done, sealed = self._runs.finished(number, session), self._runs.left(number)
            for task_id, servings in self._exposures.of_run(number, session).items() if closed_list else ():
                if servings.cause is None and task_id not in done | sealed | set(playing):
                    self._again(session, number, task_id, code)

    def forget_cause(self, number: int) -> None:
        """Clear a cause of the closed list that stopped a run: from now on its owner keeps it from continuing."""
        with self._months.transaction() as session:
            self._runs.note(number, None, session)

    def seal(self, run: OpenRun, left: UnjudgedResult) -> None:
        """Seal the final state that an attempt left, before it is judged (step 6); thread-safe."""
        self._runs.seal(run.record.number, run.attempt, left)

    def record(self, run: OpenRun, outcome: TaskRun) -> None:
        """Seal one task's outcome, and count it if it is unknown or unclear.

        Raises:
            Refused: the run was not opened for this task.
        """
        if outcome.task_id not in run.tasks:
            raise Refused(f"run {run.record.number} was not opened for task {outcome.task_id}")
        with self._months.transaction() as session:
            self._runs.record(run.record.number, run.attempt, outcome, session=session)
            kind = "unknown" if outcome.verdict is Verdict.UNKNOWN else outcome.failure
            if kind in UNSETTLED:
                self._months.unsettle(session, run.record.number, run.record.submitter, kind)

    def fail(self, run: OpenRun, task_ids: Iterable[str], failure: Failure, code: str) -> None:
        """Record the outcome of tasks that no attempt finished."""
        why = f"end run {run.record.number}"
        for task_id in task_ids:
            task = self._vault.open(task_id, who=WHO, why=why).task
            self.record(run, unplayed(task, failure, code))

    def fail_lost(self, run: OpenRun, playing: Collection[str] = ()) -> OpenRun:
        """Fail the tasks that an earlier attempt was playing.

        Those with a recorded cause of the closed list, and those that are still `playing` on a runner, are left.
        """
        served = self._exposures.of_run(run.record.number)
        unfinished = [task_id for task_id, servings in served.items() if servings.cause is None]
        waits = run.sealed | set(playing)
        lost = [task_id for task_id in unfinished if task_id in run.left and task_id not in waits]
        self.fail(run, lost, "unclear", "worker-lost")
        return replace(run, done=run.done | frozenset(lost))

    def results(self, run: OpenRun) -> list[RunResult]:
        """Open the results of a run, each with the commitment to its task; the access log records it."""
        number = run.record.number
        return [
            self._result(number, outcome) for outcome in self._runs.results(number, who=WHO, why=f"score run {number}")
        ]

    def _result(self, number: int, outcome: TaskRun) -> RunResult:
        task = self._vault.record(outcome.task_id)
        home = self._months.home_of(outcome.task_id) or ""
        result = Result.of(outcome, run=number, cohort=home, server=task.server, skeleton=task.skeleton_tag)
        said = united(attempt.said for attempt in (*outcome.earlier, outcome))
        return RunResult(
            result, outcome.transcript.tools, task.commitment, outcome.code, transcript_bytes(outcome), said
        )

    def _open_left(self, run: OpenRun, task_id: str) -> UnjudgedResult:
        number = run.record.number
        return self._runs.open_left(number, task_id, who=WHO, why=f"judge run {number}")

    def _again(self, session: Session, number: int, task_id: str, cause: str) -> bool:
        served = self._exposures.of_run(number, session)
        if sum(servings.retries for servings in served.values()) >= RETRIES:
            return False
        self._exposures.allow_retry(session, number, task_id, cause)
        self._runs.forget_left(number, task_id, session)  # or it would be judged where the next serving is lost
        return True

    def _expose(self, session: Session, run: OpenRun, task_id: str, judged_by: str | None) -> None:
        """Record a serving; on a track whose tasks are read, the skeleton is seen from now on."""
        tag, track = self._vault.record(task_id).skeleton_tag, TRACKS[run.record.track]
        upstreams = [f"{UPSTREAM}{name}" for name in dict.fromkeys((run.upstream, judged_by)) if name is not None]
        for channel in (track.channel or run.record.box, *upstreams):
            self._exposures.expose(session, run.record, task_id, tag, channel=channel)
        if track.read:
            self._months.see(session, [tag], track.name, Month.parse(run.record.month))


class OfficialJournal(RunJournal):
    """Journal of one attempt at an official run; what a later attempt has taken over, it refuses to write.

    Args:
        run_tasks: the tasks of official runs.
        run: the run.
        judged_by: by task, the upstream of the claim judge that will read its goal and its answer.
    """

    def __init__(self, run_tasks: RunTasks, run: OpenRun, judged_by: Mapping[str, str]) -> None:
        super().__init__()
        self._run_tasks, self._run, self._judged_by = run_tasks, run, judged_by

    def record_serving(self, task_id: str, handle: str) -> None:
        """Record one more exposure of a task."""
        with self._run_tasks.transaction() as session:
            self.record_exposure(session, task_id, handle)

    def record_exposure(self, session: Session, task_id: str, handle: str) -> None:  # noqa: ARG002 - here nobody asks
        """Record one more exposure of a task, in a transaction that may hold what else belongs to its serving."""
        self._run_tasks.serve(self._run, task_id, judged_by=self._judged_by.get(task_id), session=session)

    def allow_retry(self, task_id: str, cause: str) -> bool:
        """Say whether a task may be served again for a cause of the closed list, and record the cause if it may."""
        return self._run_tasks.again(self._run, task_id, cause)

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Seal what an attempt left."""
        self._run_tasks.seal(self._run, left)

    def record_outcome(self, run: TaskRun) -> None:
        """Seal what a task came to."""
        self._run_tasks.record(self._run, run)
