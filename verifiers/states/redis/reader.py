"""Reader of a Redis snapshot document."""

from __future__ import annotations

from verifiers.budget import ReadingBudget
from verifiers.formats.snapshot_reader import document_in
from verifiers.normal_form import NormalState
from verifiers.states.redis.keys import MAX_LEFT, document_of, keys_of
from verifiers.tree import FileTree

A_KEY = 4  # steps


def read_keys(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every key into the normal form.

    Raises:
        CorruptState: the document tells of no keys, or costs more than the budget has.
        StateUnavailable: the state was not read out.
    """
    document = document_in(tree, "redis", budget)
    keys = document.get("keys")
    budget.step(A_KEY * len(keys) if isinstance(keys, dict) else 1)
    passed = document.get("passed")
    known = {"passed": passed} if type(passed) is int and 0 <= passed <= MAX_LEFT else {}
    return NormalState(document_of(keys_of(document)) | known)
