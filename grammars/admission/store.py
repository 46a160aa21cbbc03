"""Store of drafts, admissions and reviews; every change of a task's state is one transaction.

1. A draft that passed the gates is added to the vault, its evidence and its sketch sealed and its state advanced in one
   transaction.
2. One that did not pass is kept too, as rejected, so that the share of failed draws can be counted.
3. A review is written and the task's state advanced in one transaction; a second review by the same person is refused.
4. A draft or a rejected task can be shredded with its evidence, its sketch and the reviewers' notes.
5. Keyed tags tell which goals have the same words, without opening any task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from grammars.admission.duplicates import Sketch, wording
from grammars.admission.gates import Admission
from grammars.admission.review import CHECKLIST, Decision, TaskReview, require_sound
from grammars.admission.tables import AdmissionRow, TaskReviewRow
from grammars.draw.variants import base
from grammars.errors import NotAllowed, NotFound
from grammars.language.grammar import Draft
from vault.database import join_or_begin, transaction
from vault.store.shredding import require_shreddable, shred
from vault.store.tasks import TaskRecord, Vault
from vault.task.document import Task
from vault.task.lifecycle import TaskState

_SKETCHES = "sketch/"


@dataclass(frozen=True, slots=True)
class AdmissionRecord:
    """The result of an admission, without its sealed evidence."""

    task_id: str
    ok: bool
    failed_gates: tuple[int, ...]
    at: datetime


class Drafts:
    """The drafts, admissions and reviews of one home.

    Args:
        engine: from `vault.database.open_engine`.
        vault: what seals the tasks and the evidence.
        clock: the present moment, with its time zone.
    """

    def __init__(self, engine: Engine, vault: Vault, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine, self._vault, self._clock = engine, vault, clock

    def keep(
        self,
        draft: Draft,
        admission: Admission,
        *,
        author: str,
        public_grammar: bool,
        drawn_for: str = "",
        session: Session | None = None,
    ) -> TaskRecord:
        """Seal a draft and its evidence; it is `admitted` afterwards, or `rejected`.

        `drawn_for` is the month at whose turn a draw enters whose seed was promised in the log.

        Raises:
            Refused: there is a task with this id.
            NotAllowed: the admission is of another draft.
        """
        if admission.task_id != draft.id:
            raise NotAllowed(f"the admission is of task {admission.task_id} and the draft is {draft.id}")
        evidence = {"gates": [_plain(gate) for gate in admission.gates], "evidence": admission.evidence}
        with join_or_begin(self._engine, session) as own:
            self._vault.add(
                Task.parse(draft.task, "the draft"),
                draft.provenance,
                author=author,
                public_grammar=public_grammar,
                skeleton=draft.skeleton,
                template=draft.template,
                drawn_for=drawn_for,
                session=own,
            )
            self._vault.seal_blob(_evidence(draft.id), json.dumps(evidence).encode(), own)
            if admission.ok:
                self._vault.seal_blob(f"{_SKETCHES}{draft.id}", Sketch.of(base(draft).task).data, own)
            numbers = " ".join(str(gate.number) for gate in admission.failed)
            tag = self._goal_tag(draft, own)
            own.add(AdmissionRow(task=draft.id, ok=admission.ok, failed_gates=numbers, goal_tag=tag, at=self._now()))
            return self._vault.advance(draft.id, "admit" if admission.ok else "reject", own)

    def keep_all(
        self, admitted: Sequence[tuple[Draft, Admission]], *, author: str, public_grammar: bool
    ) -> list[TaskRecord]:
        """Keep several drafts as `keep` does: all of them or none."""
        for draft, _ in admitted:  # the blind index is made outside of the transaction, where it may write
            self._vault.tag("skeleton", draft.skeleton)
        with transaction(self._engine) as session:
            return [
                self.keep(draft, admission, author=author, public_grammar=public_grammar, session=session)
                for draft, admission in admitted
            ]

    def admission(self, task_id: str) -> AdmissionRecord:
        """Return the result of a task's admission.

        Raises:
            NotFound: the task never went through the gates.
        """
        with Session(self._engine) as session:
            row = session.exec(select(AdmissionRow).where(AdmissionRow.task == task_id)).first()
        if row is None:
            raise NotFound(f"task {task_id} has no admission record: it never went through the gates")
        return AdmissionRecord(row.task, row.ok, tuple(int(number) for number in row.failed_gates.split()), row.at)

    def told(self, draft: Draft) -> str | None:
        """Name another task, not rejected, whose goal has the same words as the draft's; no task is opened."""
        query = select(AdmissionRow.task).where(AdmissionRow.goal_tag == self._goal_tag(draft))
        with Session(self._engine) as session:
            others = session.exec(query.where(AdmissionRow.task != draft.id)).all()
        return next((other for other in others if self._vault.record(other).state is not TaskState.REJECTED), None)

    def evidence(self, task_id: str, *, who: str, why: str) -> Mapping[str, Any]:
        """Open the evidence of an admission; the vault's access log records who did and why.

        Raises:
            NotFound: there is none.
        """
        opened: dict[str, Any] = json.loads(self._vault.open_blob(_evidence(task_id), who=who, why=why))
        return opened

    def sketches(self, *, who: str, why: str) -> dict[str, Sketch]:
        """Open the sketches of all tasks that were ever admitted, by id; this is one entry in the access log."""
        opened = self._vault.open_blobs(_SKETCHES, who=who, why=why)
        return {task_id: Sketch(data) for task_id, data in opened.items()}

    def review(self, review: TaskReview, session: Session | None = None) -> TaskRecord:
        """Record a review and advance the task: an approved one is `reviewed` afterwards, a rejected one `rejected`.

        Raises:
            NotFound: there is no such task.
            NotAllowed: the reviewer wrote it, reviewed it already, or it is not waiting for a review.
            Malformed: the review is incomplete.
        """
        require_sound(review, author=self._vault.record(review.task_id).author)
        with join_or_begin(self._engine, session) as own:
            reviews = own.exec(select(TaskReviewRow).where(TaskReviewRow.task == review.task_id)).all()
            if any(row.reviewer.casefold() == review.reviewer.casefold() for row in reviews):
                raise NotAllowed(f"{review.reviewer} has reviewed task {review.task_id} already")
            own.add(
                TaskReviewRow(
                    task=review.task_id,
                    reviewer=review.reviewer,
                    decision=review.decision,
                    refused=" ".join(key for key, yes in review.checklist.items() if not yes),
                    at=review.at,
                )
            )
            if review.note:
                self._vault.seal_blob(_note(review.task_id, len(reviews)), review.note.encode(), own)
            return self._vault.advance(review.task_id, review.decision, own)

    def review_all(self, reviews: Sequence[TaskReview]) -> list[TaskRecord]:
        """Record several reviews as `review` does: all of them or none."""
        with transaction(self._engine) as session:
            return [self.review(review, session) for review in reviews]

    def shred(self, task_ids: Sequence[str], *, who: str, done: Callable[[], None] = lambda: None) -> set[str]:
        """Shred drafts and rejected tasks with their evidence; give the key-ring keys that sealed them.

        Args:
            task_ids: the tasks; if one of them must not be shredded, none is.
            who: who does it, for the access log.
            done: called after each task.

        Raises:
            NotFound: there is no such task.
            Refused: the message says which must not be shredded, and why.
        """
        keys = set[str]()
        with Session(self._engine) as session:
            for task_id in task_ids:
                require_shreddable(session, task_id)
        for task_id in task_ids:
            with transaction(self._engine) as session:
                review_ids = session.exec(select(TaskReviewRow.id).where(TaskReviewRow.task == task_id)).all()
                notes = [_note(task_id, number) for number in range(len(review_ids))]
                beside = [_evidence(task_id), f"{_SKETCHES}{task_id}", *notes]
                keys |= shred(session, task_id, beside, at=self._now(), who=who)
            done()
        return keys

    def reviews(self, task_id: str) -> list[TaskReview]:
        """List a task's reviews, the oldest first, without the sealed notes."""
        query = select(TaskReviewRow).where(TaskReviewRow.task == task_id).order_by(col(TaskReviewRow.id))
        with Session(self._engine) as session:
            return [_review(row) for row in session.exec(query).all()]

    def _goal_tag(self, draft: Draft, session: Session | None = None) -> str:
        return self._vault.tag("goal", wording(draft.task), session)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _plain(gate: Any) -> dict[str, Any]:
    return {"number": gate.number, "name": gate.name, "ok": gate.ok, "detail": gate.detail}


def _review(row: TaskReviewRow) -> TaskReview:
    decision = next(known for known in get_args(Decision) if known == row.decision)
    refused = row.refused.split()
    return TaskReview(row.task, row.reviewer, decision, {key: key not in refused for key in CHECKLIST}, row.at)


def _evidence(task_id: str) -> str:
    return f"admission/{task_id}"


def _note(task_id: str, number: int) -> str:
    return f"review/{task_id}/{number}"
