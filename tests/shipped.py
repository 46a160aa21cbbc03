"""Shipped grammars, each loaded once in a process: they are immutable, and loading one takes a third of a second."""

from functools import cache

from grammars.language.grammar import Grammar
from grammars.language.load import load


@cache
def shipped(server: str) -> Grammar:
    """Return the shipped grammar of a server."""
    return load(server)
