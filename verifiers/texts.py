"""Decoding, folding and searching of texts that an agent wrote; what it costs at worst is counted before it is done."""

from __future__ import annotations

from typing import AnyStr

from verifiers.budget import ReadingBudget

A_FOLD, AN_ASCII_FOLD = 8, 128
"""Letters that are folded for a step: one such as U+0130, which becomes two, takes forty times as long as ASCII."""
A_SEARCH, COMPARISONS = 64, 1024
"""Letters that are searched for a step, and comparisons where a search may make one for each letter of the part."""
NAIVE, NAIVE_PART, SHORT = 30_000, 100, 2500
"""CPython searches a text without preparation below `SHORT` letters, and one below `NAIVE` for a part of fewer than
`NAIVE_PART` (Objects/stringlib/fastsearch.h): `aaa…` for `a…ab a…a` takes as long as the product of their lengths."""


def decoded(data: bytes, budget: ReadingBudget) -> str:
    """Return a text in UTF-8; what is none becomes U+FFFD."""
    budget.parse(len(data))
    return data.decode("utf-8", "replace")


def lowered(text: str, budget: ReadingBudget) -> str:
    """Return a text in lower case."""
    _count_fold(text, budget)
    return text.lower()


def casefolded(text: str, budget: ReadingBudget) -> str:
    """Return a text without differences of case."""
    _count_fold(text, budget)
    return text.casefold()


def lowered_bytes(data: bytes, budget: ReadingBudget) -> bytes:
    """Return a text in lower case; what is no UTF-8 stays as it is."""
    if data.isascii():
        budget.step(1 + len(data) // AN_ASCII_FOLD)
        return data.lower()
    budget.step(1 + len(data) // A_FOLD)
    return data.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


def place_of(part: AnyStr, text: AnyStr, budget: ReadingBudget) -> int:
    """Return where a part first occurs in a text, or -1."""
    count_search(len(part), len(text), budget)
    return text.find(part)


def is_as_given(text: str, equals: str | None, contains: str | None, budget: ReadingBudget) -> bool:
    """Compare a text with `equals`, white space at its ends aside, or else say whether it contains `contains`."""
    if equals is None:
        return place_of(contains or "", text, budget) >= 0
    budget.step(1 + len(text) // AN_ASCII_FOLD)
    return text.strip() == equals.strip()


def count_search(part: int, size: int, budget: ReadingBudget) -> None:
    """Count the steps of a search for a part of so many letters in a text of so many."""
    naive = size < SHORT or (size < NAIVE and part < NAIVE_PART)
    budget.step(1 + size // A_SEARCH + (part * size // COMPARISONS if naive else 0))


def _count_fold(text: str, budget: ReadingBudget) -> None:
    budget.step(1 + len(text) // (AN_ASCII_FOLD if text.isascii() else A_FOLD))
