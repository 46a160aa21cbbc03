"""Example folders for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping

from verifiers.tree import JudgeInput, tree_of


def files(content: Mapping[str, str]) -> JudgeInput:
    """Return the views of a world whose filesystem server holds these files."""
    return JudgeInput({"filesystem": tree_of(content)})
