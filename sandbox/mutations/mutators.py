"""Mutators by state kind: each changes one thing in a final state, for admission's mutants. Loaded only by readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sandbox.kinds.calendar import apply_mutation as calendar
from sandbox.kinds.files import apply_mutation as files
from sandbox.kinds.forge import apply_mutation as forge
from sandbox.kinds.git import apply_mutation as git
from sandbox.kinds.graph import apply_mutation as graph
from sandbox.kinds.json_document import apply_mutation as json_document
from sandbox.kinds.mailbox import apply_mutation as mailbox
from sandbox.kinds.postgres import apply_mutation as postgres
from sandbox.kinds.redis import apply_mutation as redis
from sandbox.kinds.sqlite import apply_mutation as sqlite
from sandbox.kinds.workbook import apply_mutation as workbook
from verifiers.predicates import namespaces
from verifiers.tree import FileTree

Mutator: TypeAlias = Callable[[FileTree, Mapping[str, Any]], FileTree]

MUTATORS: Mapping[str, Mutator] = {
    "calendar": calendar.mutate,
    "files": files.mutate,
    "forge": forge.mutate,
    "git": git.mutate,
    "graph": graph.mutate,
    "json_document": json_document.mutate,
    "mailbox": mailbox.mutate,
    "postgres": postgres.mutate,
    "redis": redis.mutate,
    "sqlite": sqlite.mutate,
    "workbook": workbook.mutate,
}
"""Each gives a copy, and raises `Malformed` where the change is none of its kind's `mutations`, or does not fit."""


def mutate(server: str, tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy of a server's state after one change.

    Raises:
        Malformed: the change is none of its server's `mutations`, or does not fit this state.
    """
    return MUTATORS[namespaces.kind_of(server) or ""](tree, change)
