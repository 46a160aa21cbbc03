"""Example answers for the predicate catalogue's examples."""

from __future__ import annotations

from verifiers.tree import Views


def said(answer: str) -> Views:
    """Give the views of an agent that left an answer and no state."""
    return Views(answer=answer)
