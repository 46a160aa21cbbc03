"""Task review: tasks and their evidence as text for reviewers, and the record of their decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sqlmodel import Session

from grammars.admission.review import CHECKLIST, TaskReview
from quarterturn.app import Application
from quarterturn.report import Report
from vault.database import transaction
from vault.store.tasks import OpenedTask, TaskRecord
from vault.task import variant
from vault.task.document import Task
from vault.task.lifecycle import TaskState
from verifiers.language import predicate


def task(opened: OpenedTask) -> Iterator[str]:
    """Describe a task in lines: goal, budget, tools, state, predicate in words, reference solutions, mutants."""
    document, provenance = opened.task.document, opened.provenance
    yield f"{opened.task.id}  {opened.task.server}, {opened.task.category}, {opened.task.difficulty}"
    yield f"Traceable  {traceable(opened.task)}"
    yield f"Goal       {opened.task.goal}"
    yield f"Budget     {opened.task.max_steps} calls"
    yield f"Tools      {', '.join(opened.task.available_tools)}"
    for fault in document.get("faults", []):
        yield f"Fault      call {fault['call']} of {fault['tool']} answers: {fault['error']}"
    yield f"State      {json.dumps(document['initial_state'], ensure_ascii=False)}"
    yield f"Success    {predicate.in_words(predicate.parse(document['success_predicate']))}"
    for solution in provenance.get("solutions", []):
        yield f"Solution   {solution.get('name', '')}"
        for call in solution["calls"]:
            yield f"             {call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"
        yield f"             answer: {solution['answer']}"
    for mutant in provenance.get("mutants", []):
        yield f"Mutant     {mutant['name']}"


def traceable(task: Task) -> str:
    """Say whether a leak of the task could be traced to a run."""
    bits = variant.bits(task.free)
    if task.variant_key is not None:
        return f"yes: each submitter is served their own of 2^{bits:.0f} variants; {{{{...}}}} stands for what differs"
    return f"not traceable: 2^{variant.LEAST_BITS} variants are needed and there are 2^{bits:.0f}; it is served plain"


def evidence(admission: Mapping[str, Any]) -> Iterator[str]:
    """Describe the result of each admission gate and of each execution, and the questions to the reviewer."""
    for gate in admission["gates"]:
        yield f"Gate {gate['number']}     {'ok' if gate['ok'] else 'NO'}  {gate['name']}: {gate['detail']}"
    recorded = admission.get("evidence", {})
    for name, played in recorded.get("solutions", {}).items():
        yield f"Evidence   solution {name}: {len(played['log'])} calls, {played['evidence']['verdict']}"
    for name, tree in recorded.get("mutants", {}).items():
        yield f"Evidence   mutant {name}: {tree['verdict']}"
    for name in recorded.get("mutation", {}).get("survived", []):
        yield f"Unnoticed  {name}"
    for question in CHECKLIST.values():
        yield f"Question   {question}"
    yield "Decide with --approve, or with --reject and a reason."


def waiting(task_ids: Sequence[str]) -> Report:
    """Say which tasks wait for a review; nothing is opened."""
    return Report(list(task_ids), list(task_ids) or ["nothing waits for a review"])


def require_export(house: Application, task_id: str, who: str) -> None:
    """Allow reading a task that is public, or that two maintainers have signed for.

    Raises:
        NotFound: there is no such task.
        Unapproved: they have not.
    """
    record = house.vault.record(task_id)
    if record.state is not TaskState.PUBLISHED:
        detail = {"state": record.state.value, "commitment": record.commitment.hex()}
        house.approvals.require("export", f"task {task_id}", detail, who=who)


def open_for_review(house: Application, task_ids: Sequence[str], who: str) -> Report:
    """Open tasks for their reviewer, with the evidence of their admission; reviewing one is no export of it."""
    data, lines = [], []
    for task_id in task_ids:
        if house.vault.record(task_id).state is not TaskState.ADMITTED:
            require_export(house, task_id, who)
        opened = house.vault.open(task_id, who=who, why="review")
        admission = house.drafts.evidence(task_id, who=who, why="review")
        data.append({"task": opened.task.document, "provenance": dict(opened.provenance), "gates": admission["gates"]})
        lines += [*task(opened), *evidence(admission), ""]
    return Report(data, lines or ["nothing waits for a review"])


def decide(
    house: Application,
    task_id: str,
    who: str,
    refusal: str | None,
    session: Session | None = None,
    *,
    answers: Mapping[str, bool] | None = None,
) -> TaskRecord:
    """Record a reviewer's decision; without `answers`, the decision answers every question of the checklist."""
    approved = refusal is None
    return house.drafts.review(
        TaskReview(
            task_id,
            who,
            "approve" if approved else "reject",
            answers or dict.fromkeys(CHECKLIST, approved),
            house.now(),
            refusal or "",
        ),
        session,
    )


def decide_all(house: Application, task_ids: Sequence[str], who: str, refusal: str | None) -> list[TaskRecord]:
    """Record one decision on several tasks: on all of them or, where one may not be decided so, on none."""
    with transaction(house.engine) as session:
        return [decide(house, task_id, who, refusal, session) for task_id in task_ids]


class ReviewPrompt(Protocol):
    """Prompts a person for a review (`quarterturn.cli.daily.task`)."""

    def show(self, lines: Sequence[str]) -> None:
        """Show a task."""
        ...

    def ask(self, question: str) -> str:
        """Give `yes`, `no`, `skip` or `quit`."""
        ...

    def reason(self) -> str:
        """Give why a task is rejected."""
        ...


def one_by_one(house: Application, task_ids: Sequence[str], who: str, asker: ReviewPrompt) -> list[TaskRecord]:
    """Review tasks with a person, question by question; skipped tasks go on waiting, decisions made are kept."""
    done: list[TaskRecord] = []
    for task_id in task_ids:
        asker.show(open_for_review(house, [task_id], who).lines)
        answers: dict[str, bool] = {}
        for key, question in CHECKLIST.items():
            reply = asker.ask(question)
            if reply == "quit":
                return done
            if reply == "skip":
                break
            answers[key] = reply == "yes"
        if len(answers) == len(CHECKLIST):
            refusal = None if all(answers.values()) else asker.reason()
            done.append(decide(house, task_id, who, refusal, answers=answers))
    return done


def decided(records: Sequence[TaskRecord]) -> Report:
    """Say where tasks stand after a decision."""
    data = [{"id": record.id, "state": record.state.value} for record in records]
    return Report(data, [f"{row['id']}  {row['state']}" for row in data] or ["nothing waits for a review"])
