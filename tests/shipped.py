"""Shipped grammars, each loaded once in a process, and drawn from with few choices where those do not matter."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from grammars.draw import free_choices
from grammars.language.grammar import Grammar
from grammars.language.load import load


@cache
def shipped(server: str) -> Grammar:
    """Return the shipped grammar of a server; it is immutable, and loading one takes a third of a second."""
    return load(server)


@contextmanager
def few_choices() -> Iterator[None]:
    """Yield each free parameter eight choices for the block.

    A thousand are four fifths of what a draw costs. They come from a random source of their own, so all else of the
    task is drawn as with a thousand.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free_choices, "CHOICES_PER_PARAMETER", 8)
        patch.setattr(free_choices, "REDUCED_CHOICES", 8)
        yield
