"""Choices that contain each other: a text that says the longer one says the shorter one too. Pure.

Choices are compared as they are searched for in what an agent says: without case, signs and spaces. So `sea-shore` and
`seas-hore` are one text, and `amber-records` contains `amber-record`. Detectors that look for values of others
(`rotation.detection.detectors.echoes`) cannot count such choices, so a list of them should have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from vault.task.variant import words


def joined(choice: str) -> str:
    """Return a choice as it is searched for: its letters and digits, without case."""
    return "".join(words(choice))


def contained(choices: Iterable[str]) -> list[str]:
    """Return the choices that are another one of the list, or a part of one."""
    spelt = {choice: joined(choice) for choice in choices}
    everything = "\n".join(spelt.values())
    return [choice for choice, text in spelt.items() if everything.count(text) > 1]


class Composition:
    """All texts that entries of some dictionaries can be joined to, one of each in turn, by their numbers.

    The digits of a number, lowest first, are the places of the entries in the dictionaries.
    """

    def __init__(self, parts: tuple[tuple[str, ...], ...], sign: str = "") -> None:
        self._parts, self._sign = parts, sign
        self._joined = [frozenset(map(joined, part)) for part in parts]
        self._sizes = [_sizes_by_start(part) for part in self._joined]
        self._distinct: dict[int, str | None] = {}

    def text(self, number: int) -> str:
        """Return the text of a number."""
        entry = []
        for part in self._parts:
            number, place = divmod(number, len(part))
            entry.append(part[place])
        return self._sign.join(entry)

    def distinct_text(self, number: int) -> str | None:
        """Return the text of a number, None if it contains another one; worked out once, since draws repeat."""
        try:
            return self._distinct[number]
        except KeyError:
            text = self.text(number)
            self._distinct[number] = None if self.contains_another(text) else text
            return self._distinct[number]

    def contains_another(self, text: str) -> bool:
        """Say whether one of these texts contains another."""
        text = joined(text)
        places = [(at, at) for at in range(len(text))]
        for part, (width, sizes) in zip(self._joined, self._sizes, strict=True):
            places = [
                (start, end + size)
                for start, end in places
                for size in sizes.get(text[end : end + width], ())
                if end + size <= len(text) and text[end : end + size] in part
            ]
        return len(places) > 1


def _sizes_by_start(part: frozenset[str]) -> tuple[int, dict[str, tuple[int, ...]]]:
    """Return how many first letters tell entries apart, two or else one, and the sizes of those that begin with them.

    They spare most of the substrings that would be looked up at each place of a text.
    """
    width = min(2, *map(len, part - {""})) if part - {""} else 1
    sizes: dict[str, set[int]] = defaultdict(set)
    for entry in part - {""}:
        sizes[entry[:width]].add(len(entry))
    return width, {start: tuple(sorted(of_start)) for start, of_start in sizes.items()}


composition = lru_cache(maxsize=64)(Composition)
"""The `Composition` of these dictionaries, made once."""
