"""Leak tracing of a text: opens every task that was served in variants and finds whose variant the text holds.

    1. the text's SHA-256 and the time go into the access log before any task is opened: a trace is only evidence if it
       was logged before the task's variant key was public, since from then on everybody can make any variant
    2. every task that was served in variants is opened; each opening is an entry of its own in the access log
    3. the choices shown to each recipient are derived from the keys and from the runs opened for the task's cohort
    4. the probabilities are computed (`rotation.detection.tracing`)

The result names tasks, submitters, months and runs, and quotes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rotation.detection import tracing
from rotation.detection.tracing import Recipient, ServedTask, Trace
from rotation.month.store import MonthStore
from rotation.runs.run_ledger import PUBLISH, RunLedger
from rotation.runs.withdrawal import Withdrawals
from sandbox.runs.store import Runs
from vault.store.access_log import AccessEntry
from vault.store.tasks import Vault
from vault.task import variant
from vault.task.document import Task
from vault.task.lifecycle import TaskState

_SERVED = (TaskState.LIVE, TaskState.RETIRED, TaskState.PUBLISHED, TaskState.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class TraceReport:
    """The result of tracing a text.

    Attributes:
        sha256: the SHA-256 of the text.
        logged: the access-log entry of the first trace of this text.
        public: the ids of the source tasks whose keys were opened for publication before that entry.
        runs: the runs of each recipient who is named.
        tasks: how many tasks the text was compared with.
        trace: the sources, recipients and probabilities.
    """

    sha256: str
    logged: AccessEntry
    public: tuple[str, ...]
    runs: Mapping[Recipient, tuple[int, ...]]
    tasks: int
    trace: Trace


class LeakTracer:
    """Service that traces leaked texts."""

    def __init__(
        self, vault: Vault, months: MonthStore, runs: Runs, run_ledger: RunLedger, withdrawals: Withdrawals
    ) -> None:
        self._vault, self._months, self._runs = vault, months, runs
        self._run_ledger, self._withdrawals = run_ledger, withdrawals

    def trace(self, text: bytes, *, who: str) -> TraceReport:
        """Trace a leaked text.

        Raises:
            NotAllowed: `who` is empty.
        """
        sha256 = hashlib.sha256(text).hexdigest()
        noted = self._vault.note(who=who, what=f"text/{sha256}", why="trace a leaked text")  # 1
        published = set()
        with self._vault.accesses() as log:
            for logged in log:
                if logged.what == noted.what:
                    break
                if logged.why.startswith(PUBLISH):
                    published.add(logged.what)
        runs_of = self.runs_of_tasks()
        served = list(self._served(runs_of, who, sha256))  # 2, 3
        trace = tracing.trace(text.decode("utf-8", "replace"), served)  # 4
        public = tuple(source.task_id for source in trace.sources if f"task/{source.task_id}" in published)
        of_whom: dict[Recipient, set[int]] = {}
        for source in trace.sources:
            for recipient, number in runs_of.get(source.task_id, ()):
                of_whom.setdefault(recipient, set()).add(number)
        runs = {recipient: tuple(sorted(of_whom[recipient])) for recipient, _ in trace.named}
        return TraceReport(sha256, logged, public, runs, len(served), trace)

    def runs_of_tasks(self) -> dict[str, list[tuple[Recipient, int]]]:
        """Map each task to the runs that were opened for its cohort while the task belonged to it."""
        opened: dict[str, list[tuple[Recipient, int, int]]] = {}
        for record in self._runs.list():
            leaf = self._run_ledger.opened(record.number)
            for cohort in leaf.statement.predicate["cohorts"]:
                recipient = Recipient(record.submitter, record.month)
                opened.setdefault(cohort, []).append((recipient, record.number, leaf.index))
        withdrawn_at = {entry.task: entry.leaf for entry in self._withdrawals.recorded()}
        return {
            task: [(who, run) for who, run, at in opened.get(cohort, ()) if since < at < withdrawn_at.get(task, at + 1)]
            for task, cohort, since in self._months.everybody()
        }

    def _served(
        self, runs_of: Mapping[str, list[tuple[Recipient, int]]], who: str, sha256: str
    ) -> Iterator[ServedTask]:
        for record in self._vault.records():
            if record.state not in _SERVED:
                continue
            task = self._vault.open(record.id, who=who, why=f"trace text {sha256}").task
            if task.variant_key is not None:
                recipients = {recipient for recipient, _ in runs_of.get(task.id, ())}
                yield self._of(task, recipients)

    def _of(self, task: Task, recipients: set[Recipient]) -> ServedTask:
        key = self._vault.variant_key(task.id)
        choices = {who: variant.assigned(key, who.submitter, who.month, task.free) for who in recipients}
        return ServedTask(task.id, task.goal, task.free, choices)
