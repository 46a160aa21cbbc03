"""What changes one thing in a final state, by server, for admission's mutants; loaded by readers and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sandbox.servers import (
    calendar_change,
    email_change,
    filesystem,
    git,
    github_changes,
    memory_change,
    postgres_change,
    redis_change,
    spreadsheet_change,
    sqlite,
)
from verifiers.tree import Tree

Mutator: TypeAlias = Callable[[Tree, Mapping[str, Any]], Tree]

MUTATORS: Mapping[str, Mutator] = {
    "calendar": calendar_change.mutate,
    "email": email_change.mutate,
    "filesystem": filesystem.mutate,
    "git": git.mutate,
    "github": github_changes.mutate,
    "memory": memory_change.mutate,
    "postgres": postgres_change.mutate,
    "redis": redis_change.mutate,
    "spreadsheet": spreadsheet_change.mutate,
    "sqlite": sqlite.mutate,
}
"""Each gives a copy, and raises `Malformed` where the change is none of its server's `mutations`, or does not fit."""
