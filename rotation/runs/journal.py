"""Journal of an official run: servings, retries, unjudged states and outcomes go into the vault as they arise."""

from __future__ import annotations

from collections.abc import Mapping

from rotation.runs.run_tasks import OpenRun, RunTasks
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.journal import RunJournal


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

    def record_serving(self, task_id: str) -> None:
        """Record one more exposure of a task."""
        self._run_tasks.serve(self._run, task_id, judged_by=self._judged_by.get(task_id))

    def allow_retry(self, task_id: str, cause: str) -> bool:
        """Say whether a task may be served again for a cause of the closed list, and record the cause if it may."""
        return self._run_tasks.again(self._run, task_id, cause)

    def keep_unjudged(self, left: UnjudgedResult) -> None:
        """Seal what an attempt left."""
        self._run_tasks.seal(self._run, left)

    def record_outcome(self, run: TaskRun) -> None:
        """Seal what a task came to."""
        self._run_tasks.record(self._run, run)
