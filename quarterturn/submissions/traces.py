"""Traces of submissions: what their owners may see of runs on public tasks, and on private ones once these retire."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from quarterturn.errors import NotAllowed, NotFound, where
from quarterturn.submissions.store.requests import SubmissionRecord, Submissions
from quarterturn.submissions.store.traces import TraceStore
from rotation.month.store import MonthStore
from rotation.runs.run_ledger import RunLedger
from rotation.runs.withdrawal import Withdrawals
from sandbox.runs.store import Runs, RunState
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState

WHO = "rotation"

log = logging.getLogger("quarterturn.traces")


class Traces:
    """Shows traces, to their owners and to everybody once their owners publish them.

    Args:
        store: where they are kept.
        submissions: whose they are.
        release: adds what has retired of private runs.
        now: the present moment.
    """

    def __init__(
        self, store: TraceStore, submissions: Submissions, release: TraceRelease, now: Callable[[], datetime]
    ) -> None:
        self._store, self._submissions, self._release, self._now = store, submissions, release, now

    def published(self, name: str) -> dict[str, Any] | None:
        """Return a run that its owner has published; None for any other, whether it exists or not."""
        trace = self._store.get(name)
        if trace is None or trace.published_at is None:
            return None
        return {"id": name, "set": self._submissions.get(name).tasks, "public": True, "trace": trace.document}

    def own(self, name: str, account: str) -> dict[str, Any]:
        """Return a run to its owner, as far as its tasks are public.

        Raises:
            NotFound: it is not theirs, or nothing of it can be shown yet.
        """
        submission, trace = self._submissions.get(name, account), self._store.get(name)
        if trace is None:
            raise NotFound("nothing of this run can be shown yet")
        public = trace.published_at is not None
        return {"id": name, "set": submission.tasks, "public": public, "trace": trace.document}

    def publish(self, name: str, account: str, *, public: bool) -> dict[str, Any]:
        """Publish a run's trace, or make it visible to its owner alone again.

        Raises:
            NotFound: it is not theirs.
            NotAllowed: nothing of it can be shown yet.
        """
        submission = self._submissions.get(name, account)
        if public and submission.tasks == "private":
            self._release.release(submission, published=True)
        try:
            run = self.own(name, account)
        except NotFound:
            when = "Wait until it is done."
            if submission.tasks == "private":
                when = "A private run's tasks become public as they retire, at the month's turn."
            state = submission.state
            raise NotAllowed(
                "nothing of this run can be shown yet",
                detail=f"Nothing of this run is public yet; its submission is {state}. {when}",
                state=state,
            ) from None
        self._store.publish(name, self._now() if public else None)
        return run | {"public": public}


class TraceRelease:
    """Adds to the traces of private runs their results on tasks that have retired.

    It runs after each turn, when the service starts, and for one submission when its job ends or its owner publishes
    it. A published trace says what its owner published: it grows only when they publish it again.

    Args:
        store: where traces are kept.
        runs: the runs and their sealed results.
        vault: opens these.
        submissions: the submissions with private runs.
        months: which cohorts were published.
        withdrawals: which of their tasks were withdrawn.
        run_ledger: the salt of each task's transcript in a run, for whoever compares it with the release.
    """

    def __init__(
        self,
        store: TraceStore,
        runs: Runs,
        vault: Vault,
        *,
        submissions: Submissions,
        months: MonthStore,
        withdrawals: Withdrawals,
        run_ledger: RunLedger,
    ) -> None:
        self._store, self._runs, self._vault, self._submissions = store, runs, vault, submissions
        self._months, self._withdrawals, self._run_ledger = months, withdrawals, run_ledger

    def release_all(self, *only: SubmissionRecord) -> None:
        """Add what has retired since to each unpublished trace, or to these; an error is logged, and stops nothing.

        The next turn tries again.
        """
        with _logged("the traces of retired tasks"):
            retired = self._retired()
            for submission in only or self._submissions.played():
                with _logged(f"the trace of {submission.id}"):
                    self._add(submission, retired)

    def release(self, submission: SubmissionRecord, *, published: bool = False) -> None:
        """Add what has retired since to the trace of one; with `published`, also where it was published already."""
        self._add(submission, self._retired(), published=published)

    def _retired(self) -> set[str]:
        """Return the ids of all tasks that were published."""
        released = {cohort.id for cohort in self._months.cohorts("published")}
        withdrawn = {entry.task for entry in self._withdrawals.listed() if entry.cohort in released}
        return withdrawn | {record.id for record in self._vault.records(TaskState.PUBLISHED)}

    def _add(self, submission: SubmissionRecord, retired: set[str], *, published: bool = False) -> None:
        if submission.run is None or self._runs.get(submission.run).state is not RunState.DONE:
            return
        trace, tasks = self._store.get(submission.id), sorted(self._runs.finished(submission.run) & retired)
        if trace is not None and (len(trace.document["tasks"]) == len(tasks) or (trace.published_at and not published)):
            return
        if not tasks:
            return
        why = f"trace of retired tasks for the submitter of run {submission.run}"
        salts = self._run_ledger.transcript_salts(submission.run, why)
        blobs = ((task, self._vault.open_blob(f"run/{submission.run}/{task}", who=WHO, why=why)) for task in tasks)
        played = [{"run": json.loads(blob), "transcript_salt": salts[task]} for task, blob in blobs]
        self._store.keep(submission.id, {"tasks": played})


@contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        log.error("%s cannot be completed now: %s", what, where(error))  # noqa: TRY400 - its words may quote a task
