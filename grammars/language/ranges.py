"""Value ranges of parameters: what a parameter is drawn from, and how many values are possible.

In a grammar file a range is a map with one of these keys. A bound may be a number, an `=expression`, or a map from
difficulty to either.

    integer: [4, 9]                      both ends included; `step: 5` counts from the lower one
    choice: [a, b] | DICTIONARY | =EXPR  one of them
    pick: [..] | DICTIONARY | =EXPR      `count` different ones (or `count: all`), in the order drawn
    words: 6                             that many words, joined by spaces; `from: DICTIONARY`
    name: person                         {first, last, full, login, mail}
    date: ["2024-01-01", "2024-12-31"]   as YYYY-MM-DD
    code: "INV-####"                     # a digit, ? a small letter, ^ a capital one
    compose: [first-names, surnames]     # one entry of each dictionary, joined by `with` or else a space
    rows: 12                             that many maps; see `grammars.language.rows`

Each draw gives a value and its bits: log2 of the number of values that were possible.
"""

from __future__ import annotations

import math
import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from grammars.errors import Malformed
from grammars.language.containment import Composition, composition
from grammars.language.expressions import Scope
from grammars.language.forms import Constant, Node, compile_value, fill, names_in

Dictionaries = Mapping[str, Sequence[Any]]
LEVELS = ("easy", "medium", "hard")


class Drawn(NamedTuple):
    """A value and log2 of how many values were possible."""

    value: Any
    bits: float


class Range(ABC):
    """Base class: a finite range of values to draw from."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names that its bounds depend on."""
        return frozenset()

    @abstractmethod
    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw one value.

        Raises:
            Malformed: it is empty for these names.
        """

    def values(self, dice: Random, scope: Scope) -> Iterator[Any]:
        """Draw values without end; a value may repeat."""
        while True:
            yield self.draw(dice, scope).value


@dataclass(frozen=True)
class Leveled:
    """A compiled value for each difficulty."""

    where: str
    by_level: Mapping[str, Node]

    @classmethod
    def parse(cls, spec: Any, where: str, levels: Sequence[str]) -> Leveled:
        """Compile one value for every difficulty, or a map with one for each of the template's."""
        if isinstance(spec, Mapping):
            missing = [level for level in levels if level not in spec]
            if missing or set(spec) - set(LEVELS):
                raise Malformed(f"{where}: a map here needs a value for each of {', '.join(levels)}, and no other key")
            return cls(where, {level: compile_value(value, f"{where}.{level}") for level, value in spec.items()})
        return cls(where, dict.fromkeys(levels, compile_value(spec, where)))

    def at(self, scope: Scope) -> Any:
        """Return the value for this draw's difficulty."""
        return fill(self.by_level[scope["difficulty"]], scope)

    @property
    def names(self) -> frozenset[str]:
        """Return the names that it depends on."""
        return frozenset().union(*(names_in(node) for node in self.by_level.values()))


def bounds(value: Any, where: str) -> tuple[int, int]:
    """Read `n` or `[low, high]`.

    Raises:
        Malformed: it is neither, or the range is empty.
    """
    pair = [value, value] if isinstance(value, int) else value
    if not isinstance(pair, Sequence) or len(pair) != 2 or not all(type(end) is int for end in pair):  # noqa: PLR2004
        raise Malformed(f"{where}: an integer or [low, high] is expected here")
    if pair[0] > pair[1]:
        raise Malformed(f"{where}: the range is empty, its lower end lies above its upper end")
    return pair[0], pair[1]


def between(value: Any, dice: Random, where: str) -> Drawn:
    """Draw from `n` or `[low, high]`."""
    low, high = bounds(value, where)
    return Drawn(dice.randint(low, high), math.log2(high - low + 1))


@dataclass(frozen=True)
class Integer(Range):
    """An integer between two ends, both included."""

    ends: Leveled
    step: int

    @property
    def names(self) -> frozenset[str]:
        """Return the names that its bounds depend on."""
        return self.ends.names

    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw one."""
        low, high = bounds(self.ends.at(scope), self.ends.where)
        count = (high - low) // self.step + 1
        return Drawn(low + self.step * dice.randrange(count), math.log2(count))


@dataclass(frozen=True)
class Pick(Range):
    """One item of a list, or several different ones."""

    where: str
    source: Leveled
    count: Leveled | None  # None: one, not a list of one

    @property
    def names(self) -> frozenset[str]:
        """Return the names that its list and its count depend on."""
        return self.source.names | (self.count.names if self.count else frozenset())

    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw one value or one list."""
        items = self.source.at(scope)
        if not isinstance(items, list) or not items:
            raise Malformed(f"{self.where}: there is nothing to choose from")
        if self.count is None:
            return Drawn(dice.choice(items), math.log2(len(items)))
        wanted = self.count.at(scope)
        number = between(len(items) if wanted == "all" else wanted, dice, self.count.where)
        if not 0 <= number.value <= len(items):
            raise Malformed(f"{self.where}: {number.value} different ones are wanted, and there are {len(items)}")
        return Drawn(dice.sample(items, number.value), number.bits + math.log2(math.perm(len(items), number.value)))


@dataclass(frozen=True)
class Words(Range):
    """A number of words joined by spaces; a word may repeat."""

    count: Leveled
    words: Sequence[str]

    @property
    def names(self) -> frozenset[str]:
        """Return the names that the count depends on."""
        return self.count.names

    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw a text."""
        number = between(self.count.at(scope), dice, self.count.where)
        scope.charge(number.value, self.count.where)
        text = " ".join(dice.choice(self.words) for _ in range(number.value))
        return Drawn(text, number.bits + number.value * math.log2(len(self.words)))


@dataclass(frozen=True)
class PersonRange(Range):
    """A person: first, last and full name, login and mail address."""

    first: Sequence[str]
    last: Sequence[str]

    def draw(self, dice: Random, scope: Scope) -> Drawn:  # noqa: ARG002 - every range is drawn the same way
        """Draw a person."""
        first, last = dice.choice(self.first), dice.choice(self.last)
        login = f"{first}.{last}".lower()
        person = {"first": first, "last": last, "full": f"{first} {last}", "login": login}
        return Drawn(person | {"mail": f"{login}@example.org"}, math.log2(len(self.first) * len(self.last)))


@dataclass(frozen=True)
class Date(Range):
    """A day between two days, both included, as YYYY-MM-DD."""

    ends: Leveled

    @property
    def names(self) -> frozenset[str]:
        """Return the names that its ends depend on."""
        return self.ends.names

    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw a day."""
        first, last = _days(self.ends.at(scope), self.ends.where)
        offset = between([0, (last - first).days], dice, self.ends.where)
        return Drawn((first + timedelta(days=offset.value)).isoformat(), offset.bits)


def _days(value: Any, where: str) -> tuple[date, date]:
    try:
        first, last = (date.fromisoformat(day) for day in value)
    except (TypeError, ValueError):
        raise Malformed(f"{where}: two dates [YYYY-MM-DD, YYYY-MM-DD] are expected here") from None
    return first, last


_LETTERS = {"#": string.digits, "?": string.ascii_lowercase, "^": string.ascii_uppercase}


@dataclass(frozen=True)
class CodeRange(Range):
    """An identifier made from a pattern."""

    pattern: str

    def draw(self, dice: Random, scope: Scope) -> Drawn:  # noqa: ARG002 - every range is drawn the same way
        """Draw an identifier."""
        letters = [dice.choice(_LETTERS.get(letter, letter)) for letter in self.pattern]
        return Drawn("".join(letters), sum(math.log2(len(_LETTERS.get(letter, "."))) for letter in self.pattern))


_MANY = 4096


@dataclass(frozen=True)
class Compose(Range):
    """One entry of each of several dictionaries, joined to one text."""

    parts: tuple[tuple[str, ...], ...]
    sign: str

    def draw(self, dice: Random, scope: Scope) -> Drawn:  # noqa: ARG002 - every range is drawn the same way
        """Draw a text."""
        return Drawn(self._composition.text(dice.randrange(self._count)), math.log2(self._count))

    def values(self, dice: Random, scope: Scope) -> Iterator[str]:  # noqa: ARG002 - as `draw`
        """Draw many different ones at once, none of which contains another text that could be drawn."""
        return (text for text in map(self._composition.distinct_text, self._numbers(dice)) if text is not None)

    def _numbers(self, dice: Random) -> Iterator[int]:
        """Draw different numbers, all of a few or some of many; only those that are asked for are drawn of many."""
        if self._count <= _MANY:
            yield from dice.sample(range(self._count), self._count)
            return
        drawn: set[int] = set()
        while len(drawn) < _MANY:
            number = dice.randrange(self._count)
            if number not in drawn:
                drawn.add(number)
                yield number

    @cached_property
    def _composition(self) -> Composition:
        return composition(self.parts, self.sign)

    @cached_property
    def _count(self) -> int:
        return math.prod(map(len, self.parts))


def choose_from(spec: Any, where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Leveled:
    """Compile what a choice is made from: a list, a dictionary's name, or an expression that gives a list."""
    if isinstance(spec, Mapping):
        Leveled.parse(dict.fromkeys(spec, 0), where, levels)
        parts = {level: choose_from(spec[level], f"{where}.{level}", dictionaries, levels) for level in levels}
        return Leveled(where, {level: part.by_level[level] for level, part in parts.items()})
    if isinstance(spec, str) and not spec.startswith("="):
        return Leveled(where, dict.fromkeys(levels, Constant(list(dictionary(spec, where, dictionaries)))))
    if not isinstance(spec, str | list) or spec == []:
        raise Malformed(f"{where}: a list that is not empty, a dictionary's name or an =expression is expected here")
    return Leveled.parse(spec, where, levels)


def dictionary(name: Any, where: str, dictionaries: Dictionaries) -> Sequence[Any]:
    """Look up a dictionary by name.

    Raises:
        Malformed: there is none of that name.
    """
    if not isinstance(name, str) or name not in dictionaries:
        raise Malformed(f"{where}: there is no dictionary {name!r}; there are {', '.join(sorted(dictionaries))}")
    return dictionaries[name]


def _integer(spec: Mapping[str, Any], where: str, _: Dictionaries, levels: Sequence[str]) -> Range:
    ends = Leveled.parse(spec["integer"], f"{where}.integer", levels)
    for node in ends.by_level.values():
        if not names_in(node) and isinstance(node, int | tuple):
            bounds(node, ends.where)
    step = spec.get("step", 1)
    if type(step) is not int or step < 1:
        raise Malformed(f"{where}.step: a positive integer is expected here")
    return Integer(ends, step)


def _choice(spec: Mapping[str, Any], where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    return Pick(where, choose_from(spec["choice"], f"{where}.choice", dictionaries, levels), None)


def _pick(spec: Mapping[str, Any], where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    source = choose_from(spec["pick"], f"{where}.pick", dictionaries, levels)
    return Pick(where, source, Leveled.parse(spec.get("count", "all"), f"{where}.count", levels))


def _words(spec: Mapping[str, Any], where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    words = dictionary(spec.get("from", "words"), f"{where}.from", dictionaries)
    return Words(Leveled.parse(spec["words"], f"{where}.words", levels), words)


def _person(spec: Mapping[str, Any], where: str, dictionaries: Dictionaries, _: Sequence[str]) -> Range:
    if spec["name"] != "person":
        raise Malformed(f"{where}.name: only `person` has names")
    return PersonRange(dictionary("first-names", where, dictionaries), dictionary("surnames", where, dictionaries))


def _date(spec: Mapping[str, Any], where: str, _: Dictionaries, levels: Sequence[str]) -> Range:
    ends = Leveled.parse(spec["date"], f"{where}.date", levels)
    for node in ends.by_level.values():
        if not names_in(node):
            first, last = _days(node, ends.where)
            bounds([0, (last - first).days], ends.where)
    return Date(ends)


def _code(spec: Mapping[str, Any], where: str, _: Dictionaries, __: Sequence[str]) -> Range:
    if not isinstance(spec["code"], str) or not set(spec["code"]) & set(_LETTERS):
        raise Malformed(f"{where}.code: a pattern with at least one of # ? ^ is expected here")
    return CodeRange(spec["code"])


def _compose(spec: Mapping[str, Any], where: str, dictionaries: Dictionaries, _: Sequence[str]) -> Range:
    names, sign = spec["compose"], spec.get("with", " ")
    if not isinstance(names, list) or len(names) < 2:  # noqa: PLR2004 - one alone is a `choice`
        raise Malformed(f"{where}.compose: a list of at least two dictionaries is expected here")
    if not isinstance(sign, str):
        raise Malformed(f"{where}.with: text is expected here")
    parts = tuple(tuple(dictionary(name, f"{where}.compose", dictionaries)) for name in names)
    if not all(isinstance(entry, str) for part in parts for entry in part):
        raise Malformed(f"{where}.compose: only dictionaries of plain text can be joined")
    return Compose(parts, sign)


Parser = Callable[[Mapping[str, Any], str, Dictionaries, Sequence[str]], Range]
KINDS: dict[str, tuple[frozenset[str], Parser]] = {
    "integer": (frozenset({"step"}), _integer),
    "choice": (frozenset(), _choice),
    "pick": (frozenset({"count"}), _pick),
    "words": (frozenset({"from"}), _words),
    "name": (frozenset(), _person),
    "date": (frozenset(), _date),
    "code": (frozenset(), _code),
    "compose": (frozenset({"with"}), _compose),
}
FREE_KINDS = frozenset({"choice", "words", "date", "code", "compose"})
"""Kinds that give plain text, so that a placeholder can stand for it."""


def parse_range(spec: Any, where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    """Read one range.

    Raises:
        Malformed: it has no kind or two, an unknown key, or nothing in it.
    """
    kinds = [kind for kind in KINDS if isinstance(spec, Mapping) and kind in spec]
    if len(kinds) != 1:
        raise Malformed(f"{where}: a range needs exactly one of {', '.join(KINDS)}")
    options, parser = KINDS[kinds[0]]
    if extra := set(spec) - options - {kinds[0]}:
        raise Malformed(f"{where}.{min(extra)}: a range of kind `{kinds[0]}` has no such key")
    return parser(spec, where, dictionaries, levels)
