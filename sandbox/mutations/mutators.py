"""Mutators by server: each changes one thing in a final state, for admission's mutants. Loaded only by readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sandbox.servers.calendar import apply_mutation as calendar
from sandbox.servers.email import apply_mutation as email
from sandbox.servers.filesystem import apply_mutation as filesystem
from sandbox.servers.git import apply_mutation as git
from sandbox.servers.github import apply_mutation as github
from sandbox.servers.memory import apply_mutation as memory
from sandbox.servers.postgres import apply_mutation as postgres
from sandbox.servers.redis import apply_mutation as redis
from sandbox.servers.spreadsheet import apply_mutation as spreadsheet
from sandbox.servers.sqlite import apply_mutation as sqlite
from verifiers.tree import FileTree

Mutator: TypeAlias = Callable[[FileTree, Mapping[str, Any]], FileTree]

MUTATORS: Mapping[str, Mutator] = {
    "calendar": calendar.mutate,
    "email": email.mutate,
    "filesystem": filesystem.mutate,
    "git": git.mutate,
    "github": github.mutate,
    "memory": memory.mutate,
    "postgres": postgres.mutate,
    "redis": redis.mutate,
    "spreadsheet": spreadsheet.mutate,
    "sqlite": sqlite.mutate,
}
"""Each gives a copy, and raises `Malformed` where the change is none of its server's `mutations`, or does not fit."""
