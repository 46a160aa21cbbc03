"""Wildcard matching with `*` (any characters) and `?` (one character), in time linear in the text.

The stars split a pattern into pieces. The first piece has to begin the text and the last one to end it; each piece
between them is matched at its first occurrence, so there is no backtracking. A piece with `?` in it is searched with
the bit-parallel algorithm of Baeza-Yates and Gonnet (1992, "A new approach to text searching"); any other piece with
Python's own search.
"""

from __future__ import annotations


class Wildcard:
    """A case-insensitive wildcard pattern."""

    def __init__(self, pattern: str) -> None:
        self._first, *self._rest = pattern.lower().split("*")

    def matches(self, text: str) -> bool:
        """Say whether the whole text matches the pattern."""
        text = text.lower()
        if not self._rest:
            return len(text) == len(self._first) and _is_at(self._first, text, 0)
        last = self._rest[-1]
        end = len(text) - len(last)
        at = len(self._first)
        if at > end or not _is_at(self._first, text, 0) or not _is_at(last, text, end):
            return False
        for piece in self._rest[:-1]:
            at = _behind(piece, text, at, end)
            if at < 0:
                return False
        return True


def _is_at(piece: str, text: str, at: int) -> bool:
    return all(letter in {"?", character} for letter, character in zip(piece, text[at : at + len(piece)], strict=True))


def _behind(piece: str, text: str, start: int, end: int) -> int:
    """Return the end of the first occurrence of a piece in `text[start:end]`, or -1."""
    if "?" not in piece:
        position = text.find(piece, start, end)
        return position + len(piece) if position >= 0 else -1
    anything = sum(1 << place for place, letter in enumerate(piece) if letter == "?")
    fits = dict.fromkeys(piece, anything)
    for place, letter in enumerate(piece):
        fits[letter] |= 1 << place
    begun, complete = 0, 1 << (len(piece) - 1)
    for place in range(start, end):
        begun = (begun << 1 | 1) & fits.get(text[place], anything)
        if begun & complete:
            return place + 1
    return -1
