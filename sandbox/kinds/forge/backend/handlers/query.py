"""Parser of GitHub's search language: words, "quoted phrases", `qualifier:value`, and a minus for negation.

Left out: AND, OR, parentheses, and wildcards. What looks like a qualifier but is none is searched for as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(r'(-?)(?:([A-Za-z][A-Za-z-]*):("[^"]*"|[^\s"]+)|("[^"]*"|[^\s"]+))')
_WORD = re.compile(r"\w+")
_RANGE = re.compile(r"(?P<low>[^.]+(?:\.(?!\.)[^.]+)*)\.\.(?P<high>.+)")


class Qualifier(NamedTuple):
    """One `name:value`, and whether it must not hold."""

    name: str
    value: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A query, taken apart; a term is (text, whether it must not be there)."""

    terms: tuple[tuple[str, bool], ...]
    qualifiers: tuple[Qualifier, ...]

    def values(self, *names: str) -> list[str]:
        """Return what these qualifiers ask for, without those that are negated."""
        return [qualifier.value for qualifier in self.qualifiers if qualifier.name in names and not qualifier.negated]

    def matches(self, texts: Iterable[str]) -> bool:
        """Say whether each term is in one of the texts, and none that must not be."""
        searched = tuple(texts)
        return all(any(contains(text, term) for text in searched) != negated for term, negated in self.terms)

    def holds(self, test: Callable[[str, str], bool], ignored: Iterable[str] = ()) -> bool:
        """Say whether each qualifier is as it was asked for, by a test of name and value."""
        skipped = set(ignored)
        return all(
            test(qualifier.name, qualifier.value) != qualifier.negated
            for qualifier in self.qualifiers
            if qualifier.name not in skipped
        )


def parse(text: str, known: Iterable[str]) -> Query:
    """Take a query apart; only the known names are qualifiers."""
    names = set(known)
    terms: list[tuple[str, bool]] = []
    qualifiers: list[Qualifier] = []
    for minus, name, value, word in _TOKEN.findall(text):
        if name.lower() in names:
            qualifiers.append(Qualifier(name.lower(), value.strip('"'), bool(minus)))
        else:
            term = (word or f"{name}:{value}").strip('"')
            terms += [(term, bool(minus))] if _WORD.search(term) else []
    return Query(tuple(terms), tuple(qualifiers))


def contains(text: str, term: str) -> bool:
    """Say whether the words of a term stand side by side in a text; case and what is between words do not count."""
    words = _WORD.findall(term)
    return re.search(r"(?i)\b" + r"\W+".join(map(re.escape, words)) + r"\b", text) is not None


def within(value: str, asked: str) -> bool:
    """Say whether a date or a number is in what a qualifier asks for: `5`, `>5`, `>=5`, `<5`, `<=5`, `3..5`, `3..*`.

    A date without a time stands for its whole day.
    """
    if match := _RANGE.fullmatch(asked):
        low, high = match["low"], match["high"]
        return (low == "*" or within(value, f">={low}")) and (high == "*" or within(value, f"<={high}"))
    sign = re.match(r"[<>]=?", asked)
    compare = sign.group() if sign else ""
    limit = asked[len(compare) :]
    order = _order(value, limit)
    return {">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}.get(compare, order == 0)


def _order(value: str, limit: str) -> int:
    if value.isdigit() and limit.isdigit():
        return (int(value) > int(limit)) - (int(value) < int(limit))
    cut = value[: len(limit)]
    return (cut > limit) - (cut < limit)
