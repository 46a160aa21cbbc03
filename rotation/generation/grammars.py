"""Shipped grammars, checked against the pinned tools and the known predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from grammars.language.grammar import Grammar
from grammars.language.load import library, load
from sandbox.servers.registry import tool_table
from verifiers.language.catalogue import CATALOGUE


def read(source: str | Path) -> Grammar:
    """Load a grammar: a shipped one by its name, or a file or folder."""
    return load(source, tools=tool_table(), predicates=CATALOGUE)


@cache
def shipped_grammar(server: str) -> Grammar:
    """Load a shipped grammar, once in a process."""
    return read(server)


def shipped_among(servers: Iterable[str]) -> Mapping[str, Grammar]:
    """Load the shipped grammars of those servers that have one."""
    return {server: shipped_grammar(server) for server in servers if server in library()}
