"""Example answers for the predicate catalogue's examples."""

from __future__ import annotations

from verifiers.tree import JudgeInput


def answer_views(answer: str) -> JudgeInput:
    """Give the views of an agent that left an answer and no state."""
    return JudgeInput(answer=answer)
