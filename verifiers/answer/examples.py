"""Example answers for the predicate catalogue's examples."""

from __future__ import annotations

import json

from verifiers.answer.claims import ClaimOutcome
from verifiers.tree import JudgeInput


def answer_views(answer: str, **outcomes: ClaimOutcome | None) -> JudgeInput:
    """Return the views of an agent that left an answer and no state, and what a model says of claims by their ids."""
    replies = {name: reply_of(outcome) for name, outcome in outcomes.items()}
    return JudgeInput(answer=answer, replies=replies or None)


def reply_of(outcome: ClaimOutcome | None) -> str | None:
    """Write a model's reply."""
    return None if outcome is None else json.dumps({"outcome": outcome.value, "justification": "It says so."})
