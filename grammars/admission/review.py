"""Review of an admitted task by a second person: the checklist and the rules that a review must keep. Pure.

A reviewer answers the whole checklist and approves or rejects. An approval needs yes to every question; a rejection
needs a reason. The author's own review is refused; names are compared without regard to case and spacing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from grammars.errors import Malformed, NotAllowed

Decision = Literal["approve", "reject"]

CHECKLIST: Mapping[str, str] = {
    "predicate-correct": "Does the predicate hold for every right result, and for no wrong one?",
    "paths-covered": "Are other ways to solve it accepted too, whatever tools they use?",
    "goal-unambiguous": "Does the goal have one reading only, with nothing that only a grader would know?",
}


@dataclass(frozen=True, slots=True)
class TaskReview:
    """One person's review of one task.

    Attributes:
        task_id: the task.
        reviewer: who.
        decision: `approve` or `reject`.
        checklist: the answer to each question.
        note: a reason or a remark; it may quote the task, so it is as secret as the task.
        at: when.
    """

    task_id: str
    reviewer: str
    decision: Decision
    checklist: Mapping[str, bool]
    at: datetime
    note: str = field(default="", repr=False)


def require_sound(review: TaskReview, *, author: str) -> None:
    """Refuse a review that breaks a rule.

    Raises:
        NotAllowed: the reviewer wrote the task.
        Malformed: a question is not answered, a no stands beside an approval, or a rejection has no reason.
    """
    if not review.reviewer.strip():
        raise Malformed("a review needs the reviewer's name")
    if _same(review.reviewer, author):
        raise NotAllowed(f"{review.reviewer} wrote task {review.task_id}; somebody else must review it")
    if set(review.checklist) != set(CHECKLIST):
        raise Malformed(f"a review answers each of {', '.join(CHECKLIST)} with yes or no")
    if review.decision == "approve" and (open_ := [key for key, yes in review.checklist.items() if not yes]):
        raise Malformed(f"task {review.task_id} cannot be approved while {', '.join(open_)} is answered with no")
    if review.decision == "reject" and not review.note.strip():
        raise Malformed(f"task {review.task_id} cannot be rejected without a reason")


def _same(left: str, right: str) -> bool:
    return " ".join(left.split()).casefold() == " ".join(right.split()).casefold()
