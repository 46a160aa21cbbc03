"""Evidence documents: what opens one result that a finding rests on, with its transcript, for somebody to check.

    1. the finding has to be about this result: its submitter, its task or its run
    2. nothing of a private task is given out: a document can be written from the release of the task's cohort on
    3. the result, its salts and its proof come from the run's closing record, the transcript from its sealed outcome
    4. the document is checked as its reader will check it, before anybody is given it

Each opening is an entry in the access log, under the name of the person who asked. The checks are those of
`vault.ledger.audit.accusation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rotation.detection.leak_trace import LeakTracer
from rotation.errors import NotAllowed, NotFound, Refused
from rotation.exposure.store import UPSTREAM
from rotation.findings.store import Finding, Findings
from rotation.month.store import MonthStore
from rotation.runs.run_ledger import WHO, RunLedger
from sandbox.results.bound_transcript import transcript_bytes
from sandbox.runs.store import Runs, RunState
from vault.ledger.audit import accusation
from vault.store.tasks import Vault

ANY_MONTH = ("exposure", "unknown", "unclear")
"""The kinds that count over several months; a finding of another kind is about the runs of its own month."""


class EvidenceWriter:
    """Service that writes evidence documents."""

    def __init__(
        self,
        vault: Vault,
        months: MonthStore,
        runs: Runs,
        run_ledger: RunLedger,
        *,
        tracer: LeakTracer,
        findings: Findings,
    ) -> None:
        self._vault, self._months, self._runs = vault, months, runs
        self._run_ledger, self._tracer, self._findings = run_ledger, tracer, findings

    def require_public(self, task: str) -> None:
        """Refuse a task that no release opens yet (step 2).

        Raises:
            NotAllowed: its cohort has no release; the message says when it will.
        """
        home = self._months.home_of(task)
        cohort = next((cohort for cohort in self._months.cohorts() if cohort.id == home), None)
        if cohort is None:
            raise NotAllowed(f"task {task} never belonged to a cohort: no run was served it, so there is no evidence")
        if cohort.state != "published":
            raise NotAllowed(
                f"task {task} is private until the turn of {cohort.retires} publishes {cohort.id}: evidence on it can "
                "be written from then on; --publish has that turn put it into the release"
            )

    def require_about(self, finding: Finding, task: str, number: int) -> None:
        """Refuse a result that a finding is not about (step 1); nothing is opened.

        Raises:
            NotFound: there is no such run, or it has no result for the task.
            Refused: the finding is about something else, or about a model's provider.
        """
        run = self._runs.get(number)
        kind, subject = finding.kind, finding.subject
        if run.state is not RunState.DONE or task not in self._runs.finished(run.number):
            raise NotFound(
                f"run {run.number} has no result for task {task}; `quarterturn watch exposure` lists servings"
            )
        if subject.startswith(UPSTREAM):
            raise Refused(
                f"finding {finding.number} is about {subject}: what a model replied stands in no transcript that a "
                "result commits to, so there is no evidence to give"
            )
        about = {
            "task": subject == task,
            "exposure": subject == task,
            "verdict": subject == f"{run.number}/{task}",
            "family": self._vault.record(task).template_tag == subject,
        }.get(kind, run.submitter in subject.split("|"))
        if not about or (kind not in ANY_MONTH and run.month != str(finding.month)):
            raise Refused(
                f"finding {finding.number} ({kind}, {finding.month}) is about {subject}, not about task {task} in run "
                f"{run.number} of {run.submitter}: name another --task or --run"
            )

    def document(self, finding: Finding, task: str, number: int, *, who: str, why: str) -> dict[str, Any]:
        """Return the evidence document of a finding, for one task in one run.

        Raises:
            NotFound: there is no such run, or it has no result for the task.
            Refused: the finding is about something else, or the run left no transcript for the task.
            Broken: what is stored does not hold.
        """
        self.require_about(finding, task, number)  # 1
        bound = self._run_ledger.bound_result(number, task, who=who, why=why)  # 3
        if bound["result"]["transcript"] is None:
            raise Refused(f"run {number} left no transcript of task {task}: nothing can be shown of it")
        outcome = self._runs.result(number, task, who=who, why=why)
        opened = self._vault.open(task, who=who, why=why).task
        document = {"finding": finding.number, "kind": finding.kind, "task": task}
        document |= bound | {"transcript": json.loads(transcript_bytes(outcome) or b"null")}
        recipients = sorted({(r.submitter, r.month) for r, _ in self._tracer.runs_of_tasks().get(task, ())})
        if opened.variant_key is not None:
            document["recipients"] = [{"submitter": submitter, "month": month} for submitter, month in recipients]
            document["variant_key"] = self._vault.variant_key(task).hex()
        logged, score = self._run_ledger.opened(number).statement, self._run_ledger.scored(number).statement
        accusation.check_accusation(document, opened.document, logged, score, recipients)  # 4
        return document

    def of_release(self, cohort: str, why: str) -> Iterator[dict[str, Any]]:
        """Yield the documents marked for the release of a cohort, in the order of findings, runs and tasks."""
        findings = {finding.number: finding for finding in self._findings.all()}
        for mark in self._findings.published_evidence():
            if self._months.home_of(mark.task) == cohort:
                yield self.document(findings[mark.finding], mark.task, mark.run, who=WHO, why=why)
