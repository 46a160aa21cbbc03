"""Choices that contain each other: a text that says the longer one says the shorter one too. Pure.

Choices are compared as they are searched for in what an agent says: without case, signs and spaces. So `sea-shore` and
`seas-hore` are one text, and `amber-records` contains `amber-record`. Detectors that look for values of others
(`rotation.detection.detectors.echoes`) cannot count such choices, so a list of them should have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from vault.task.variant import words


def joined(choice: str) -> str:
    """Give a choice as it is searched for: its letters and digits, without case."""
    return "".join(words(choice))


def contained(choices: Iterable[str]) -> list[str]:
    """Give the choices that are another one of the list, or a part of one."""
    spelt = {choice: joined(choice) for choice in choices}
    everything = "\n".join(spelt.values())
    return [choice for choice, text in spelt.items() if everything.count(text) > 1]


class Composition:
    """All texts that entries of some dictionaries can be joined to, one of each in turn."""

    def __init__(self, parts: tuple[tuple[str, ...], ...]) -> None:
        self._parts = [frozenset(map(joined, part)) for part in parts]
        self._known: dict[str, bool] = {}

    def contains_another(self, text: str) -> bool:
        """Say whether one of these texts contains another; found out once for each, since draws repeat."""
        if text not in self._known:
            self._known[text] = self._inside(joined(text)) > 1
        return self._known[text]

    def _inside(self, text: str) -> int:
        """Count the places and ways in which one of these texts stands in a text."""
        found = [(at, at) for at in range(len(text))]
        for part in self._parts:
            found = [
                (start, further)
                for start, end in found
                for further in range(end + 1, len(text) + 1)
                if text[end:further] in part
            ]
        return len(found)


composition = lru_cache(maxsize=64)(Composition)
"""The `Composition` of these dictionaries, made once."""
