"""Official runs: opened and closed in the ledger, so that no run can be dropped or improved afterwards.

    1. a run is opened: its row, its sealed opening and its `run-open` leaf are one transaction
    2. the checkpoint that covers the leaf is published; only then is a task served
    3. each serving is recorded as an exposure before the agent sees the task. A task is served once per run, and again
       only for a recorded cause of the closed list; the number of such retries per run is limited
    4. a run is closed: its results, their salts and the `score` leaf are one transaction, and published
    5. a run that was served anything is never aborted: what it did not finish when the month turns is failed, or
       unknown if a cause of the closed list stopped it. A run that was served nothing is aborted with a public leaf;
       an audit reports an opening without an end
    6. a run whose worker died is taken over by the next attempt: a task with a result is not served again, a task that
       was played and awaits its verdict is judged from the sealed state, and a task that was being played is failed
    7. a run is served the tasks that were live when it was opened, also those withdrawn since; later runs are not
       served withdrawn tasks

An opening names an earlier checkpoint that covers the month's `set` statement and every `commit` leaf it relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotAllowed, Refused
from rotation.exposure.store import UPSTREAM
from rotation.exposure.tracks import TRACKS, track_of
from rotation.month.store import Cohort
from rotation.runs import openings, withdrawal
from rotation.runs.books import Books
from sandbox.boxes.box import Box
from sandbox.results.failure import RETRIES, STOPS, Failure
from sandbox.results.outcome import TaskRun, unplayed
from sandbox.results.score import Result
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.store import RunRecord, RunState
from sandbox.runs.submission import Submission, must_be_submittable
from vault.canonical import canonical
from vault.commitment import commitment, new_salt
from vault.database import transaction
from vault.ledger.statements import leaf
from vault.ledger.statements.results import in_order, results_root, totals_of
from vault.task.document import Task
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
    """

    record: RunRecord
    attempt: int
    cohorts: tuple[Cohort, ...]
    upstream: str | None = None
    done: frozenset[str] = frozenset()
    sealed: frozenset[str] = frozenset()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Give the ids of its tasks."""
        return tuple(task_id for cohort in self.cohorts for task_id in cohort.tasks)

    @property
    def left(self) -> tuple[str, ...]:
        """Give the ids of the tasks without a result."""
        return tuple(task_id for task_id in self.tasks if task_id not in self.done)


@dataclass(frozen=True, slots=True)
class _Bound:
    """One result with the salt and the task commitment that bind it to the ledger."""

    result: Result
    salt: bytes = field(repr=False)
    task_commitment: bytes

    @property
    def commitment(self) -> bytes:
        return commitment("result", canonical(self.result.document()), self.salt)


class OfficialRuns:
    """Service for official runs: opens, serves, resumes, records, closes and ends them.

    Args:
        books: the stores and services of the home.
        scored: makes and discloses the figures of a run, within the transaction that closes it.
    """

    def __init__(
        self,
        books: Books,
        scored: Callable[[Session, RunRecord, Sequence[Result]], None] = lambda _session, _record, _results: None,
    ) -> None:
        self._books, self._scored = books, scored

    def month(self) -> Month:
        """Give the month whose set is live.

        Raises:
            NotAllowed: nothing is live yet, or a turn is under way.
        """
        turns = self._books.months.turns()
        if not turns:
            raise NotAllowed("no set is live yet: run the first turn with `quarterturn turn run`")
        if not turns[-1].finished:
            raise NotAllowed(f"the turn of {turns[-1].month} is under way: finish it with `quarterturn turn run`")
        return turns[-1].month.plus(1)

    def open(
        self,
        submission: Submission,
        box: Box,
        upstream: str | None = None,
        *,
        noted: Callable[[Session, int], None] = lambda _session, _number: None,
    ) -> OpenRun:
        """Open a run of the live cohorts that its track is served, and publish the opening (steps 1 and 2).

        Args:
            submission: what is run.
            box: the box that it runs in.
            upstream: the language model that its agents may call, or None.
            noted: records the run's number within the transaction that opens it, so that a process killed right
                after leaves no orphaned run. If it raises, no run is opened.

        Raises:
            Refused: the submission is the reference agent.
            NotAllowed: nothing is live, or a turn is under way.
            Unavailable: the log cannot be written, or too few witnesses cosigned its head; no run was opened.
        """
        must_be_submittable(submission)
        month = self.month()
        track = track_of(submission, box, upstream)
        facts = self._books.months.turn(month.plus(-1)).facts
        head = self._books.ledger.publish()  # all that was recorded, with the cosignatures that it needs
        with transaction(self._books.engine) as session:
            if self.month() != month:  # asked again under the lock: a turn that begins now sees this run, or we see it
                raise NotAllowed(f"the month turned from {month} while the run was being opened; open it again")
            cohorts = track.cohorts(self._books.months.cohorts("live"), month)  # without what is withdrawn by now
            size = sum(len(cohort.tasks) for cohort in cohorts)
            record = self._books.runs.open(
                submission, month=str(month), track=track.name, tasks=size, box=box, session=session
            )
            opening, salt = self._opening(record), new_salt(self._books.entropy)
            openings.seal(self._books, f"opening/{record.number}", {"opening": opening, "salt": salt.hex()}, session)
            statement = leaf.run_open(
                run=record.number,
                commitment=commitment("run-open", canonical(opening), salt),
                month=str(month),
                track=track.name,
                set_root=bytes.fromhex(facts["set_root"]),
                cohorts=[cohort.id for cohort in cohorts],
                size=head.size,
                root=head.root,
            )
            self._books.ledger.record(f"run-open/{record.number}", statement, session=session)
            noted(session, record.number)
        self._books.ledger.publish()
        withdrawal.settle(self._books)
        started = self._books.runs.start(record.number)
        return OpenRun(started, started.attempt, cohorts, upstream)

    def resume(self, number: int, submission: Submission, box: Box, upstream: str | None = None) -> OpenRun:
        """Take over a run whose worker died (step 6); the earlier attempt can no longer write results.

        Raises:
            NotFound: there is no such run.
            NotAllowed: the run or its month has ended.
            Refused: the submission, its submitter, the box or the track differs from what the run was opened for.
        """
        record = self._books.runs.get(number)
        if str(self.month()) != record.month:
            raise NotAllowed(f"run {number} was opened in {record.month}, which is over")
        expected = (submission.digest, submission.submitter, box.name, track_of(submission, box, upstream).name)
        if (record.submission, record.submitter, record.box, record.track) != expected:
            raise Refused(
                f"run {number} was opened for another submitter, submission, box or track: resume it with the same "
                "ones, or let the turn end it"
            )
        self._books.ledger.publish()  # the worker may have died before it could
        withdrawal.settle(self._books)
        run = self._taken_over(number, upstream)
        with transaction(self._books.engine) as session:
            self._books.runs.note(number, None, session)  # from here on it is played
        return run

    def _taken_over(self, number: int, upstream: str | None = None) -> OpenRun:
        """Start the next attempt; tasks in play are failed, except those with a recorded cause of the closed list."""
        started = self._books.runs.start(number)
        served, at = openings.cohorts_of(self._books, number), self._books.leaf_index(f"run-open/{number}")
        cohorts = tuple(cohort for cohort in self._books.months.cohorts("live", at=at) if cohort.id in served)
        done, sealed = self._books.runs.finished(number), self._books.runs.left(number)
        run = OpenRun(started, started.attempt, cohorts, upstream, done, sealed - done)
        unfinished = [task for task, servings in self._books.exposures.of_run(number).items() if servings.cause is None]
        lost = [task for task in unfinished if task in run.left and task not in sealed]
        self._fill(run, lost, "unclear", "worker-lost")
        return replace(run, done=done | frozenset(lost))

    def prepare(self, run: OpenRun) -> list[Task]:
        """Decrypt the run's tasks that have no result, in the variants that they are served in.

        A task with enough free parameters is served in one variant per submitter and month, in every run and retry.

        Raises:
            Refused: a task is neither live nor was withdrawn since the run was opened for it, or its commitment is not
                under a published checkpoint.
        """
        size = self._books.ledger.published.size
        for task_id in run.left:
            state = self._books.vault.record(task_id).state
            withdrawn = state is TaskState.WITHDRAWN and withdrawal.is_withdrawn(self._books, task_id)
            if state is not TaskState.LIVE and not withdrawn:
                raise Refused(f"task {task_id} is {state}, not live: only live tasks are served")
            if self._books.leaf_index(f"commit/{task_id}") >= size:
                raise Refused(f"the commitment of task {task_id} is not published yet: nothing is served before it is")
        why = f"serve run {run.record.number}"
        vault, month, submitter = self._books.vault, run.record.month, run.record.submitter
        opened = [vault.open(task_id, who=openings.WHO, why=why).task for task_id in run.left]
        return [vault.served(task, submitter, month) for task in opened]

    def serve(self, run: OpenRun, *task_ids: str) -> None:
        """Record one more exposure of these tasks, the last check before an agent sees them (step 3); thread-safe.

        Raises:
            NotAllowed: a task was served before and has no recorded cause of the closed list; or another worker has
                taken the run over, or it has ended.
        """
        number = run.record.number
        with transaction(self._books.engine) as session:
            self._books.runs.require(number, run.attempt, session)
            served = self._books.exposures.of_run(number, session)
            for task_id in task_ids:
                if task_id in served and served[task_id].cause is None:
                    raise NotAllowed(f"run {number} was already served task {task_id}; a run is served a task once")
                self._expose(session, run, task_id)

    def again(self, run: OpenRun, task_id: str, cause: str) -> bool:
        """Say whether a task may be served again for a cause of the closed list, and record the cause if it may.

        All attempts at a run share `sandbox.results.failure.RETRIES`. Thread-safe.
        """
        number = run.record.number
        with transaction(self._books.engine) as session:
            self._books.runs.require(number, run.attempt, session)
            return self._again(session, number, task_id, cause)

    def stop(self, run: OpenRun, code: str) -> None:
        """Record why the run is stopped for now (`sandbox.results.failure.STOPS`), for whoever resumes it.

        If the cause is on the closed list, the tasks in play may be served again, up to RETRIES.
        """
        number, closed_list = run.record.number, STOPS[code].closed_list
        with transaction(self._books.engine) as session:
            self._books.runs.require(number, run.attempt, session)
            self._books.runs.note(number, code if closed_list else None, session)
            done, sealed = self._books.runs.finished(number, session), self._books.runs.left(number)
            for task_id, servings in self._books.exposures.of_run(number, session).items() if closed_list else ():
                if servings.cause is None and task_id not in done | sealed:
                    self._again(session, number, task_id, code)

    def forget_cause(self, number: int) -> None:
        """Clear a cause of the closed list that stopped a run: from now on its owner keeps it from continuing."""
        with transaction(self._books.engine) as session:
            self._books.runs.note(number, None, session)

    def seal(self, run: OpenRun, left: UnjudgedResult) -> None:
        """Seal the final state that an attempt left, before it is judged (step 6); thread-safe."""
        self._books.runs.seal(run.record.number, run.attempt, left)

    def sealed(self, run: OpenRun) -> dict[str, UnjudgedResult]:
        """Open the unjudged final states of an earlier attempt, by task; each is an entry in the access log."""
        number, why = run.record.number, f"judge run {run.record.number}"
        return {
            task_id: self._books.runs.open_left(number, task_id, who=openings.WHO, why=why)
            for task_id in run.left
            if task_id in run.sealed
        }

    def record(self, run: OpenRun, outcome: TaskRun) -> None:
        """Seal one task's outcome, and count it if it is unknown or unclear.

        Raises:
            Refused: the run was not opened for this task.
        """
        if outcome.task_id not in run.tasks:
            raise Refused(f"run {run.record.number} was not opened for task {outcome.task_id}")
        with transaction(self._books.engine) as session:
            self._books.runs.record(run.record.number, run.attempt, outcome, session=session)
            kind = "unknown" if outcome.verdict is Verdict.UNKNOWN else outcome.failure
            if kind in UNSETTLED:
                self._books.months.unsettle(session, run.record.number, run.record.submitter, kind)

    def close(self, run: OpenRun) -> tuple[Result, ...]:
        """Commit to the results in a `score` leaf and publish it (step 4); give the results for scoring."""
        number, month = run.record.number, run.record.month
        played = self._books.runs.results(number, who=openings.WHO, why=f"score run {number}")
        results = tuple(self._result(number, task_run) for task_run in played)
        bound = [self._bind(result) for result in results]
        ordered = in_order((item.task_commitment, item.commitment) for item in bound)
        totals = {
            cohort.id: (self._totals(number, cohort.id, bound), new_salt(self._books.entropy)) for cohort in run.cohorts
        }
        sealed = {
            "commitments": [item.hex() for item in ordered],
            "results": [
                {"result": item.result.document(), "salt": item.salt.hex(), "tools": task_run.transcript.tools}
                for item, task_run in zip(bound, played, strict=True)
            ],
            "totals": {name: {"totals": document, "salt": salt.hex()} for name, (document, salt) in totals.items()},
        }
        statement = leaf.score(
            run=number,
            month=month,
            track=run.record.track,
            count=len(bound),
            results_root=results_root(ordered),
            totals=[
                (name, commitment("totals", canonical(document), salt)) for name, (document, salt) in totals.items()
            ],
        )
        with transaction(self._books.engine) as session:
            self._books.runs.finish(number, run.attempt, session=session)
            openings.seal(self._books, f"closing/{number}", sealed, session)
            self._books.ledger.record(f"score/{number}", statement, session=session)
            self._scored(session, run.record, results)
        self._books.ledger.publish()
        return results

    def served(self, number: int) -> bool:
        """Say whether a run was served a task."""
        return bool(self._books.exposures.of_run(number))

    def end(self, number: int, code: str) -> RunRecord:
        """End a run that nobody goes on with, for a reason of `failure.STOPS`, whoever holds it (step 5).

        One that was served nothing is aborted. Else what it did not finish is failed, or unknown where what stopped it
        last is on the closed list and its owner did not take it back; and it is closed.
        """
        if self.served(number) or not self._aborted(number, code):
            run = self._taken_over(number)
            waits = run.record.cause is not None and code != "cancelled"
            failure: Failure = "ours" if waits else "theirs"
            self._fill(run, run.left, failure, run.record.cause or code if waits else code)
            self.close(run)
        return self._books.runs.get(number)

    def end_open(self, month: Month, code: str) -> list[int]:
        """End every run of `month` that has not ended, and give their numbers."""
        unfinished = [
            record.number
            for record in self._books.runs.list(month=str(month))
            if record.state in (RunState.QUEUED, RunState.RUNNING)
        ]
        for number in unfinished:
            self.end(number, code)
        return unfinished

    def _aborted(self, number: int, reason: str) -> bool:
        """Abort a run with a public leaf, unless it was served something; say whether it was aborted."""
        record = self._books.runs.get(number)
        opening = openings.unseal(self._books, f"opening/{number}", f"abort run {number}")
        statement = leaf.abort(
            run=number,
            month=record.month,
            reason=reason,
            commitment=commitment("run-open", canonical(opening["opening"]), bytes.fromhex(opening["salt"])),
        )
        with transaction(self._books.engine) as session:
            if self._books.exposures.of_run(number, session):
                return False
            self._books.runs.abort(number, reason, session=session)
            self._books.ledger.record(f"abort/{number}", statement, session=session)
        self._books.ledger.publish()
        return True

    def closed(self, record: RunRecord, *, why: str) -> tuple[Result, ...]:
        """Give the sealed results of a scored run, as one entry in the access log; their `server` fields are empty.

        Raises:
            NotFound: the run has no score.
        """
        sealed = openings.unseal(self._books, f"closing/{record.number}", why)
        return tuple(Result.of_document(item["result"]) for item in sealed["results"])

    # -- inside -------------------------------------------------------------------------------------------------------

    def _again(self, session: Session, number: int, task_id: str, cause: str) -> bool:
        served = self._books.exposures.of_run(number, session)
        if sum(servings.retries for servings in served.values()) >= RETRIES:
            return False
        self._books.exposures.allow_retry(session, number, task_id, cause)
        self._books.runs.forget_left(number, task_id, session)  # or it would be judged where the next serving is lost
        return True

    def _fill(self, run: OpenRun, task_ids: Iterable[str], failure: Failure, code: str) -> None:
        """Record the outcome of tasks that no attempt finished."""
        why = f"end run {run.record.number}"
        for task_id in task_ids:
            task = self._books.vault.open(task_id, who=openings.WHO, why=why).task
            self.record(run, unplayed(task, failure, code))

    def _expose(self, session: Session, run: OpenRun, task_id: str) -> None:
        """Record a serving; on a track whose tasks are read, the skeleton is seen from now on."""
        tag, track = self._books.vault.record(task_id).skeleton_tag, TRACKS[run.record.track]
        upstream = f"{UPSTREAM}{run.upstream}" if run.upstream else None
        for channel in (track.channel or run.record.box, upstream):
            if channel is not None:
                now = self._books.clock()
                self._books.exposures.expose(session, run.record, task_id, tag, channel=channel, now=now)
        if track.read:
            self._books.months.see(session, [tag], track.name, Month.parse(run.record.month))

    def _opening(self, record: RunRecord) -> dict[str, Any]:
        """Make the opening document of a run; `attempt` counts this submitter's runs of the month."""
        month = self._books.runs.list(month=record.month)
        earlier = sum(r.submitter == record.submitter and r.number < record.number for r in month)
        return {"submitter": record.submitter, "submission": record.submission, "attempt": earlier + 1}

    def _result(self, number: int, run: TaskRun) -> Result:
        task = self._books.vault.record(run.task_id)
        home = self._books.months.home_of(run.task_id) or ""
        return Result.of(run, run=number, cohort=home, server=task.server, skeleton=task.skeleton_tag)

    def _bind(self, result: Result) -> _Bound:
        return _Bound(result, new_salt(self._books.entropy), self._books.vault.record(result.task).commitment)

    @staticmethod
    def _totals(number: int, cohort: str, bound: Sequence[_Bound]) -> dict[str, Any]:
        return totals_of(number, cohort, [b.result.document() for b in bound if b.result.cohort == cohort])
