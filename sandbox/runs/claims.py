"""Questions about a final state, with a model's replies about the claims in the predicate."""

from __future__ import annotations

from dataclasses import replace

from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.claim_judge.exchange import ClaimExchange, replies
from sandbox.judge import Question
from sandbox.runs.task_world import question_of
from vault.task.document import Task
from verifiers.language import predicate as predicates
from verifiers.language.predicate import claims_of


def has_claims(task: Task) -> bool:
    """Say whether a task's predicate has claims that a language model judges."""
    return bool(claims_of(predicates.parse(task.success_predicate, filled=False)))


def ask(task: Task, answer: str | None, judge: ClaimJudge | None) -> tuple[Question, tuple[ClaimExchange, ...]]:
    """Ask about a task's claims, if it has any and there is whom to ask; give the question, and the exchanges.

    Raises:
        Unavailable: the model process cannot be started.
    """
    question = question_of(task)
    made = judge.ask(task.goal, claims_of(question.predicate), answer) if judge else ()
    return replace(question, replies=replies(made)), made
