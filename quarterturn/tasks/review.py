"""Task review: tasks are opened with their evidence for a second person, whose decisions are recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grammars.admission.review import CHECKLIST, TaskReview
from grammars.admission.store import Drafts
from quarterturn.errors import NotAllowed
from vault.store.tasks import OpenedTask, TaskRecord, Vault
from vault.task.lifecycle import TaskState


@dataclass(frozen=True, slots=True)
class ProvenTask:
    """A task that was opened for its reviewer, with the evidence of its admission."""

    opened: OpenedTask
    admission: Mapping[str, Any]


class TaskReviews:
    """The reviews of one home's tasks.

    Args:
        vault: the sealed tasks.
        drafts: the evidence of admissions, and the reviews.
        require: allows an act, or refuses it until two maintainers have signed for it.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, vault: Vault, drafts: Drafts, require: Callable[..., None], clock: Callable[[], datetime]
    ) -> None:
        self._vault, self._drafts, self._require, self._clock = vault, drafts, require, clock

    def waiting(self, *, not_by: str | None = None) -> list[str]:
        """List the ids of the tasks that wait for a review, without those of one author; nothing is opened."""
        return [record.id for record in self._vault.records(TaskState.ADMITTED) if record.author != not_by]

    def require_export(self, task_id: str, who: str) -> None:
        """Allow reading a task that is public, or that two maintainers have signed for.

        Raises:
            NotFound: there is no such task.
            Unapproved: they have not.
        """
        record = self._vault.record(task_id)
        if record.state is not TaskState.PUBLISHED:
            detail = {"state": record.state.value, "commitment": record.commitment.hex()}
            self._require("export", f"task {task_id}", detail, who=who)

    def open(self, task_id: str, who: str) -> ProvenTask:
        """Open a task for its reviewer, with the evidence of its admission; reviewing it is no export of it."""
        opened = self._opened(task_id, who, "review")
        return ProvenTask(opened, self._drafts.evidence(task_id, who=who, why="review"))

    def open_to_try(self, task_id: str, who: str, *, agent: bool = False) -> OpenedTask:
        """Open a task to play it, on the same terms as for its review.

        Args:
            task_id: the task.
            who: who plays it, for the access log.
            agent: whether an agent is shown it.

        Raises:
            NotFound: there is no such task.
            NotAllowed: an agent would be shown a live task, and no run would count it.
            Unapproved: two maintainers have to sign for it, and have not.
        """
        if agent and self._vault.record(task_id).state is TaskState.LIVE:
            raise NotAllowed(
                f"task {task_id} is live, and an agent is shown live tasks in runs alone, which count who has seen "
                "them: quarterturn run --set private"
            )
        return self._opened(task_id, who, "task try")

    def _opened(self, task_id: str, who: str, why: str) -> OpenedTask:
        """Open a task for what is no export of one that waits for its review."""
        if self._vault.record(task_id).state is not TaskState.ADMITTED:
            self.require_export(task_id, who)
        return self._vault.open(task_id, who=who, why=why)

    def decide(
        self, task_id: str, who: str, refusal: str | None, *, answers: Mapping[str, bool] | None = None
    ) -> TaskRecord:
        """Record a reviewer's decision; without `answers`, the decision answers every question of the checklist."""
        return self._drafts.review(self._review(task_id, who, refusal, answers))

    def decide_all(self, task_ids: Sequence[str], who: str, refusal: str | None) -> list[TaskRecord]:
        """Record one decision on several tasks: on all of them or, where one may not be decided so, on none."""
        return self._drafts.review_all([self._review(task_id, who, refusal) for task_id in task_ids])

    def _review(
        self, task_id: str, who: str, refusal: str | None, answers: Mapping[str, bool] | None = None
    ) -> TaskReview:
        approved = refusal is None
        checklist = answers or dict.fromkeys(CHECKLIST, approved)
        return TaskReview(task_id, who, "approve" if approved else "reject", checklist, self._clock(), refusal or "")
