"""Fixtures for the judge's tests: questions about states, and states as a world leaves them."""

import pytest

from sandbox.judge import JUDGING, Question
from sandbox.world.frozen import FrozenState
from verifiers.formats.snapshot import FILE
from verifiers.language.predicate import parse
from verifiers.predicates import namespaces
from verifiers.tree import FileTree


@pytest.fixture(scope="session")
def judging():
    return JUDGING


@pytest.fixture
def add_namespace(monkeypatch):
    """Add servers' namespaces for the time of one test."""
    for name in ("_KINDS", "_OWN", "_ENTRIES"):
        monkeypatch.setattr(namespaces, name, dict(getattr(namespaces, name)))
    return namespaces.add


@pytest.fixture
def question():
    """Make a question about states that lie in folders named after their namespaces."""

    def question(document, *namespaces):
        return Question(document, parse(document), {name: name for name in namespaces})

    return question


@pytest.fixture
def left():
    """Make a state as a world leaves it: a tree for each namespace, and the reader's document for a backend."""

    def left(**trees):
        nodes = {}
        for name, tree in trees.items():
            nodes |= tree.under(name)
        state = FrozenState(FileTree(nodes).to_tar())
        for name, tree in trees.items():
            if FILE in tree:
                state = state.with_dump(name, tree[FILE].data)
        return state

    return left
