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
       served withdrawn tasks. What it did on a task that leaked counts, what it did on a broken one does not

An opening names an earlier checkpoint that covers the month's `set` statement and every `commit` leaf it relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotAllowed, Refused
from rotation.exposure.tracks import TRACKS, track_of
from rotation.month.judge import JudgeDigests
from rotation.month.store import MonthStore
from rotation.runs.run_ledger import RunLedger
from rotation.runs.run_tasks import OpenRun, RunTasks
from rotation.runs.scorekeeper import Scorekeeper
from rotation.runs.withdrawal import Withdrawals
from sandbox.boxes.box import Box
from sandbox.results.failure import AGENT_CRASHED, Failure
from sandbox.results.score import Result
from sandbox.runs.store import ENDED, RunRecord, Runs, RunState
from sandbox.runs.submission import Submission, must_be_submittable


@dataclass(slots=True)
class Opening:
    """A run that is being opened.

    Attributes:
        record: its row.
        session: the transaction that opens it.
        run: the opened run, once the transaction is over and published.
    """

    record: RunRecord
    session: Session
    run: OpenRun = field(init=False)


class OfficialRuns:
    """Service for official runs: opens, resumes, closes and ends them.

    Args:
        months: cohorts and turns.
        runs: the rows of runs.
        run_ledger: what the ledger says of them.
        run_tasks: their tasks, as they are served.
        withdrawals: completed before a run is opened.
        tracks: the ranked tracks in which runs may be opened.
        judge: what judges claims, as the settings have it now; None where nothing does.
        scorekeeper: makes and discloses the figures of a run, within the transaction that closes it; None: there are
            none.
    """

    def __init__(
        self,
        months: MonthStore,
        runs: Runs,
        run_ledger: RunLedger,
        run_tasks: RunTasks,
        withdrawals: Withdrawals,
        *,
        tracks: Collection[str] = tuple(TRACKS),
        judge: Callable[[], JudgeDigests | None] = lambda: None,
        scorekeeper: Scorekeeper | None = None,
    ) -> None:
        self._months, self._runs, self._run_ledger = months, runs, run_ledger
        self._run_tasks, self._withdrawals, self._scorekeeper = run_tasks, withdrawals, scorekeeper
        self._tracks, self._judge = tracks, judge

    def judged(self) -> bool:
        """Say whether the set that is live names a claim judge."""
        return self._months.judge() is not None

    def require_live(self) -> None:
        """Refuse where no set is live.

        Raises:
            NotAllowed: nothing is live yet, or a turn is under way.
        """
        self._months.live_month()

    def require_judge(self) -> str | None:
        """Return the digest of the judge that the live set names, which must be that of the settings; None without one.

        Raises:
            Refused: the settings have none, or another one.
        """
        promised, judge = self._months.judge(), self._judge() if self.judged() else None
        if promised is not None and judge is None:
            raise Refused(
                "the set that is live is judged by a language model, and the settings name none: put the table "
                "[claim_judge] back as it was at the last turn"
            )
        if promised is not None and judge is not None and judge.digest != promised:
            raise Refused(
                "the set that is live names another claim judge than the settings do (its model, its parameters, the "
                "instructions or the anchors differ): restore it until the next turn, whose set will name the new one"
            )
        return promised

    def open(self, submission: Submission, box: Box, upstream: str | None = None) -> OpenRun:
        """Open a run; see `opening`."""
        with self.opening(submission, box, upstream) as opening:
            pass
        return opening.run

    @contextmanager
    def opening(self, submission: Submission, box: Box, upstream: str | None = None) -> Iterator[Opening]:
        """Open a run of the live cohorts that its track is served, and publish the opening (steps 1 and 2).

        The block runs within the transaction that opens it: whoever records the run's number there is left no orphaned
        run by a process killed right after. If the block raises, no run is opened.

        Args:
            submission: what is run.
            box: the box that it runs in.
            upstream: the language model that its agents may call, or None.

        Raises:
            Refused: the submission is the reference agent, or the set names a claim judge that the settings lack.
            NotAllowed: nothing is live, a turn is under way, or the set has no such track.
            Unavailable: the log cannot be written, or too few witnesses cosigned its head; no run was opened.
        """
        must_be_submittable(submission)
        month = self._months.live_month()
        judge = self.require_judge()
        track = track_of(submission, box, upstream, judged=judge is not None)
        if track.ranked and track.name not in self._tracks:
            raise NotAllowed(f"this set has no track '{track.name}'; its tracks are: {', '.join(self._tracks)}")
        set_root = bytes.fromhex(self._months.turn(month.plus(-1)).facts["set_root"])
        sunset = self._months.sunset(month)
        head = self._run_ledger.publish()  # all that was recorded, with the cosignatures that it needs
        with self._months.transaction() as session:
            # asked again under the lock: a turn that begins now sees this run, or we see it
            if self._months.live_month() != month:
                raise NotAllowed(f"the month turned from {month} while the run was being opened; open it again")
            cohorts = track.cohorts(self._months.cohorts("live"), sunset)  # without what is withdrawn by now
            size = sum(len(cohort.tasks) for cohort in cohorts)
            record = self._runs.open(
                submission, month=str(month), track=track.name, tasks=size, box=box, session=session
            )
            named = [cohort.id for cohort in cohorts]
            opening = self._run_ledger.run_open(record, set_root=set_root, cohorts=named, head=head, judge=judge)
            self._run_ledger.record(opening, session)
            opened = Opening(record, session)
            yield opened
        self._run_ledger.publish()
        self._withdrawals.settle()
        started = self._runs.start(record.number)
        opened.run = OpenRun(started, started.attempt, cohorts, upstream, judge=judge)

    def resume(
        self,
        number: int,
        submission: Submission,
        box: Box,
        upstream: str | None = None,
        playing: Collection[str] = (),
    ) -> OpenRun:
        """Take over a run whose worker died (step 6); the earlier attempt can no longer write results.

        Tasks of it that are still `playing` on a runner are not lost.

        Raises:
            NotFound: there is no such run.
            NotAllowed: the run or its month has ended.
            Refused: the submission, its submitter, the box or the track differs from what the run was opened for, or
                the set names a claim judge that the settings lack.
        """
        record = self._runs.get(number)
        if str(self._months.live_month()) != record.month:
            raise NotAllowed(f"run {number} was opened in {record.month}, which is over")
        track = track_of(submission, box, upstream, judged=self.require_judge() is not None)
        expected = (submission.digest, submission.submitter, box.name, track.name)
        if (record.submission, record.submitter, record.box, record.track) != expected:
            raise Refused(
                f"run {number} was opened for another submitter, submission, box or track: resume it with the same "
                "ones, or let the turn end it"
            )
        self._run_ledger.publish()  # the worker may have died before it could
        self._withdrawals.settle()
        run = self._taken_over(number, upstream, playing)
        self._run_tasks.forget_cause(number)  # from here on it is played
        return run

    def close(self, run: OpenRun) -> tuple[Result, ...]:
        """Commit to the results in a `score` leaf and publish it (step 4); give the results for scoring."""
        bound = self._run_tasks.results(run)
        results = tuple(item.result for item in bound)
        code = AGENT_CRASHED if {item.code for item in bound} == {AGENT_CRASHED} else None
        score = self._run_ledger.score(run.record, [cohort.id for cohort in run.cohorts], bound)
        with self._months.transaction() as session:
            self._runs.finish(run.record.number, run.attempt, session=session, code=code)
            self._run_ledger.record(score, session)
            if self._scorekeeper:
                self._scorekeeper.close(session, run.record, results)
        self._run_ledger.publish()
        return results

    def publish(self) -> None:
        """Publish what the last step of a run left unpublished."""
        self._run_ledger.publish()

    def cancel(self, number: int) -> None:
        """End a run that its owner cancelled, unless it has ended."""
        if self._runs.get(number).state not in ENDED:
            self.end(number, "cancelled")

    def end(self, number: int, code: str) -> RunRecord:
        """End a run that nobody goes on with, for a reason of `failure.STOPS`, whoever holds it (step 5).

        One that was served nothing is aborted. Else what it did not finish is failed, or unknown where what stopped it
        last is on the closed list and its owner did not take it back; and it is closed.
        """
        if self._run_tasks.was_served(number) or not self._aborted(number, code):
            run = self._taken_over(number)
            waits = run.record.cause is not None and code != "cancelled"
            failure: Failure = "ours" if waits else "theirs"
            self._run_tasks.fail(run, run.left, failure, run.record.cause or code if waits else code)
            self.close(run)
        return self._runs.get(number)

    def end_open(self, month: Month, code: str) -> list[int]:
        """End every run of `month` that has not ended, and give their numbers."""
        unfinished = [
            record.number
            for record in self._runs.list(month=str(month))
            if record.state in (RunState.QUEUED, RunState.RUNNING)
        ]
        for number in unfinished:
            self.end(number, code)
        return unfinished

    def _taken_over(self, number: int, upstream: str | None = None, playing: Collection[str] = ()) -> OpenRun:
        """Start the next attempt; tasks in play are failed, except those with a recorded cause of the closed list."""
        started, opened = self._runs.start(number), self._run_ledger.opened(number)
        says, at = opened.statement.predicate, opened.index
        cohorts = tuple(cohort for cohort in self._months.cohorts("live", at=at) if cohort.id in says["cohorts"])
        done, sealed = self._runs.finished(number), self._runs.left(number)
        run = OpenRun(started, started.attempt, cohorts, upstream, done, sealed - done, says.get("judge"))
        return self._run_tasks.fail_lost(run, playing)

    def _aborted(self, number: int, reason: str) -> bool:
        """Abort a run with a public leaf, unless it was served something; say whether it was aborted."""
        abort = self._run_ledger.abort(self._runs.get(number), reason)
        with self._months.transaction() as session:
            if self._run_tasks.was_served(number, session):
                return False
            self._runs.abort(number, reason, session=session)
            self._run_ledger.record(abort, session)
        self._run_ledger.publish()
        return True
