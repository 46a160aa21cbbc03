"""Reads and judges in one process: for states of our own making, and for callers without reader processes."""

from __future__ import annotations

from collections.abc import Mapping

from verifiers.language.evaluate import evaluate
from verifiers.language.predicate import Predicate
from verifiers.language.predicate import namespaces as namespaces_of
from verifiers.language.verdict import Evidence
from verifiers.normal_form import NormalState
from verifiers.predicates import namespaces
from verifiers.states.readers import read_all
from verifiers.tree import FileTree, JudgeInput


def judge(predicate: Predicate, views: JudgeInput) -> Evidence:
    """Read the namespaces that the predicate uses, and judge it."""
    looked_at = namespaces_of(predicate)
    before = None if views.baseline is None else _read(views.baseline, looked_at)
    return evaluate(predicate, _read(views.states, looked_at), views.answer, before, views.replies)


def _read(states: Mapping[str, FileTree], looked_at: set[str]) -> dict[str, NormalState]:
    return read_all({name: tree for name, tree in states.items() if name in looked_at and namespaces.kind_of(name)})
