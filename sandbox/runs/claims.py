"""Questions about a final state, with a model's replies about the claims in the predicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.claim_judge.exchange import ClaimExchange, replies
from sandbox.judge import Question
from sandbox.runs.task_world import question_of
from vault.task.document import Task
from verifiers.language.predicate import CLAIMS, claims_of


def has_claims(task: Task) -> bool:
    """Say whether a task's predicate has claims that a language model judges."""
    return _names_claims(task.success_predicate)


def _names_claims(document: Mapping[str, Any]) -> bool:
    ((name, body),) = document.items()
    if name in ("all", "any"):
        return any(map(_names_claims, body))
    return _names_claims(body) if name == "not" else name == CLAIMS


def ask(task: Task, answer: str | None, judge: ClaimJudge | None) -> tuple[Question, tuple[ClaimExchange, ...]]:
    """Ask about a task's claims, if it has any and there is whom to ask; give the question, and the exchanges.

    Raises:
        Unavailable: the model process cannot be started.
    """
    question = question_of(task)
    made = judge.ask(task.goal, claims_of(question.predicate), answer) if judge else ()
    return replace(question, replies=replies(made)), made
