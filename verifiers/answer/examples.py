"""Answers, on which the catalogue's examples are shown and run."""

from __future__ import annotations

from verifiers.tree import Views


def said(answer: str) -> Views:
    """Give the views of an agent that only answered."""
    return Views(answer=answer)
