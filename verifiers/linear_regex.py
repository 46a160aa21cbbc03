"""Regular expressions that are searched in linear time, with every step counted against a budget.

A pattern is the task's, and the text is the agent's: a backtracking engine could be made to run for ever by it. Here a
pattern becomes a nondeterministic automaton without backtracking, whose sets of states are kept as they come up. Where
each letter leads is looked up in a dictionary, so that a text is run through in C, and what is new is worked out here.

The syntax is that of `re`, without what needs backtracking: literals, `.`, classes, `\\d \\w \\s \\b` and their
opposites, `^ $ \\A \\Z`, groups, `|`, `* + ? {m,n}` (lazy ones too: only whether there is a match counts), and the
flags `(?i)`, `(?m)`, `(?s)` at the beginning. Without `(?m)`, `$` is the very end of the text. Lookaround, references
to groups and possessive repeats are refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import getitem
from string import hexdigits
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import Malformed

MAX_PATTERN, MAX_STATES, MAX_REPEAT, MAX_DEPTH = 1000, 2000, 200, 40
MAX_COPIES = 10 * MAX_STATES
"""Parts that a pattern may put into its automaton, with each copy that a repeat makes. Copies of an empty part have no
state, so `MAX_STATES` does not bound nested repeats of one."""
MAX_CACHED = 1 << 16
"""Transitions that are kept; then the cache starts anew."""
CHARACTERS, WIDE_CHARACTERS, A_STATE, CHUNK = 8, 6, 3, 4096
"""ASCII and other characters for a step where the transition is known (Python makes an object of each of the latter),
steps for a state where it is not, and characters at a time."""

PATTERN: Mapping[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_PATTERN,
    "format": "linear-regex",
    "description": "regular expression, without lookaround and references",
}
"""Schema of an argument that is a pattern."""

Test = Callable[[str], bool]


def _opposite(test: Test) -> Test:
    return lambda letter: not test(letter)


_WORD: Test = lambda letter: letter.isalnum() or letter == "_"  # noqa: E731 - one of a table
_CLASSES: dict[str, Test] = {"d": str.isdecimal, "w": _WORD, "s": str.isspace}
_CLASSES |= {name.upper(): _opposite(test) for name, test in _CLASSES.items()}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_FLAGS = frozenset("imsu")
_HEX_DIGITS = frozenset(hexdigits)
_ASSERTIONS = {"b": "boundary", "B": "inside", "A": "start", "Z": "end"}


@dataclass(frozen=True, slots=True)
class Program:
    """The automaton of a pattern: each state consumes a letter, asserts, or forks.

    Attributes:
        tests: by state, the test of the letter that it consumes, or None.
        assertions: by state, the assertion that it makes, or "".
        following: by state, where it leads.
    """

    tests: tuple[Test | None, ...]
    assertions: tuple[str, ...]
    following: tuple[tuple[int, ...], ...]
    start: int
    accepting: int


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Program:
    """Compile a pattern.

    Raises:
        Malformed: it is no pattern of this syntax, or too large; the message says where, and quotes nothing.
    """
    if len(pattern) > MAX_PATTERN:
        raise Malformed(f"the pattern is longer than {MAX_PATTERN} characters")
    return _Parser(pattern).program()


class Automaton:
    """A program with the transitions that came up, for texts that share a budget."""

    def __init__(self, program: Program, budget: ReadingBudget) -> None:
        self.program, self.budget = program, budget
        self._rows: dict[tuple[frozenset[int] | None, str], _Row] = {}
        self._kept = 0

    def search(self, text: str) -> bool:
        """Say whether the pattern matches anywhere in the text.

        Raises:
            BudgetSpent: it takes more steps than the budget has.
        """
        row = self._row(frozenset([self.program.start]), "")
        for place in range(0, len(text), CHUNK):
            chunk = text[place : place + CHUNK]
            self.budget.step(1 + len(chunk) // (CHARACTERS if chunk.isascii() else WIDE_CHARACTERS))
            row = reduce(getitem, chunk, row)
            if row.states is None:
                return True
        return row.states is None or _advanced(self.program, row.states, row.before, None, self.budget) is None

    def add(self, row: _Row, letter: str) -> _Row:
        """Work out where a letter leads, and keep it."""
        if self._kept >= MAX_CACHED:
            for known in self._rows.values():
                known.clear()
            self._rows, self._kept = {}, 0
        reached = None if row.states is None else _advanced(self.program, row.states, row.before, letter, self.budget)
        row[letter] = target = self._row(reached, "" if reached is None else _side(letter))
        self._kept += 1
        return target

    def _row(self, states: frozenset[int] | None, before: str) -> _Row:
        key = (states, before)
        if key not in self._rows:
            self._rows[key] = _Row(self, states, before)
        return self._rows[key]


class _Row(dict[str, "_Row"]):
    """The states after a letter (None where it accepts), what an assertion can know of it, and where the next leads."""

    __slots__ = ("_automaton", "before", "states")

    def __init__(self, automaton: Automaton, states: frozenset[int] | None, before: str) -> None:
        self._automaton, self.states, self.before = automaton, states, before

    def __missing__(self, letter: str) -> _Row:
        return self._automaton.add(self, letter)


def search(program: Program, text: str, budget: ReadingBudget) -> bool:
    """Say whether the pattern matches anywhere in one text.

    Raises:
        BudgetSpent: it takes more steps than the budget has.
    """
    return Automaton(program, budget).search(text)


def _side(letter: str) -> str:
    """Return what an assertion can know of the letter before: start, line feed, word or other."""
    return letter if letter in {"", "\n"} else "w" if _WORD(letter) else "."


def _advanced(
    program: Program, states: frozenset[int], before: str, letter: str | None, budget: ReadingBudget
) -> frozenset[int] | None:
    """Return the states after a letter, with the start state for a match that begins later; None where it accepts."""
    waiting, closed = list(states), set(states)
    reached = {program.start}
    while waiting:
        state = waiting.pop()
        if state == program.accepting:
            budget.step(A_STATE * len(closed))
            return None
        test = program.tests[state]
        if test is not None:
            if letter is not None and test(letter):
                reached.update(program.following[state])
            continue
        if not _holds(program.assertions[state], before, letter):
            continue
        fresh = [target for target in program.following[state] if target not in closed]
        closed.update(fresh)
        waiting.extend(fresh)
    budget.step(A_STATE * len(closed))
    return frozenset(reached)


def _holds(assertion: str, before: str, letter: str | None) -> bool:
    match assertion:
        case "":
            return True
        case "start":
            return before == ""
        case "end":
            return letter is None
        case "line start":
            return before in {"", "\n"}
        case "line end":
            return letter in {None, "\n"}
    differ = (before != "" and _WORD(before)) != (letter is not None and _WORD(letter))
    return differ == (assertion == "boundary")


class _Parser:
    """Recursive parser that builds the automaton from right to left: each part is told where it leads."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth, self.copies = pattern, 0, 0, 0
        self.flags: frozenset[str] = frozenset()
        self.tests: list[Test | None] = []
        self.assertions: list[str] = []
        self.following: list[tuple[int, ...]] = []

    def program(self) -> Program:
        self._read_flags()
        accepting = self._state()
        tree = self._choice()
        if self.at < len(self.pattern):
            raise self._wrong("a bracket too many")
        start = tree(accepting)
        return Program(tuple(self.tests), tuple(self.assertions), tuple(self.following), start, accepting)

    def _state(self, *following: int, test: Test | None = None, assertion: str = "") -> int:
        if len(self.tests) >= MAX_STATES:
            raise Malformed("the pattern is too large: it repeats too much")
        self.tests.append(test)
        self.assertions.append(assertion)
        self.following.append(tuple(dict.fromkeys(following)))  # empty alternatives lead to the same state
        return len(self.tests) - 1

    def _copy(self, part: Callable[[int], int], after: int) -> int:
        self.copies += 1
        if self.copies > MAX_COPIES:
            raise Malformed("the pattern is too large: it repeats too much")
        return part(after)

    def _wrong(self, what: str) -> Malformed:
        return Malformed(f"the pattern is not understood at character {self.at + 1}: {what}")

    def _peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise self._wrong("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _read_flags(self) -> None:
        end = self.pattern.find(")")
        flags = self.pattern[len("(?") : max(end, 0)]
        if self._peek("(?") and flags and set(flags) <= _FLAGS:
            self.flags, self.at = frozenset(flags), end + 1

    def _choice(self) -> Callable[[int], int]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._wrong(f"groups nest deeper than {MAX_DEPTH}")
        branches = [self._sequence()]
        while self._peek("|"):
            self.at += 1
            branches.append(self._sequence())
        self.depth -= 1
        if len(branches) == 1:
            return branches[0]
        return lambda after: self._state(*[self._copy(branch, after) for branch in branches])

    def _sequence(self) -> Callable[[int], int]:
        parts: list[Callable[[int], int]] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self._repeated(self._atom()))

        def made(after: int) -> int:
            for part in reversed(parts):
                after = self._copy(part, after)
            return after

        return made

    def _repeated(self, atom: Callable[[int], int]) -> Callable[[int], int]:
        bounds = self._bounds()
        if bounds is None:
            return atom
        least, most = bounds
        if self._peek("?"):
            self.at += 1  # lazy: the same matches exist
        if self._peek("+") or self._peek("*") or self._peek("{"):
            raise self._wrong("a repeat of a repeat, or a possessive one")

        def made(after: int) -> int:
            if most is None:
                loop = self._state()
                self.following[loop] = (self._copy(atom, loop), after)
                after = loop
            for _ in range(0 if most is None else most - least):
                after = self._state(self._copy(atom, after), after)
            for _ in range(least):
                after = self._copy(atom, after)
            return after

        return made

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._peek(sign):
                self.at += 1
                return bounds
        end = self.pattern.find("}", self.at)
        least, comma, most = (
            self.pattern[self.at + 1 : end].partition(",") if self._peek("{") and end > 0 else ("",) * 3
        )
        if not (least.isdecimal() or (comma and most.isdecimal())) or not (most == "" or most.isdecimal()):
            return None
        self.at = end + 1
        lower = int(least or 0)
        upper = int(most) if most else (None if comma else lower)
        if max(lower, upper or 0) > MAX_REPEAT or (upper is not None and upper < lower):
            raise self._wrong(f"a repeat is at most {MAX_REPEAT}, and its bounds are in order")
        return lower, upper

    def _atom(self) -> Callable[[int], int]:  # noqa: PLR0911 - one return for each kind of atom
        letter = self._take()
        match letter:
            case "(":
                return self._group()
            case "[":
                return self._consuming(self._class())
            case ".":
                return self._consuming((lambda _: True) if "s" in self.flags else (lambda other: other != "\n"))
            case "^":
                return self._asserting("line start" if "m" in self.flags else "start")
            case "$":
                return self._asserting("line end" if "m" in self.flags else "end")
            case "*" | "+" | "?":
                raise self._wrong("nothing to repeat")
            case "\\":
                return self._escape()
        return self._consuming(self._literal(letter))

    def _group(self) -> Callable[[int], int]:
        if self._peek("?"):
            named = self.pattern.find(">", self.at) if self._peek("?P<") else -1
            if not self._peek("?:") and named < 0:
                raise self._wrong("lookaround, a reference, or a flag that is not at the beginning")
            self.at = named + 1 if named > 0 else self.at + 2
        inner = self._choice()
        if self._take() != ")":
            raise self._wrong("a group is not closed")
        return inner

    def _escape(self) -> Callable[[int], int]:
        letter = self._take()
        if letter in _ASSERTIONS:
            return self._asserting(_ASSERTIONS[letter])
        return self._consuming(self._escaped(letter))

    def _escaped(self, letter: str) -> Test:
        return _CLASSES[letter] if letter in _CLASSES else self._literal(self._plain(letter))

    def _plain(self, letter: str) -> str:
        if letter in {"x", "u"}:
            digits = self.pattern[self.at : self.at + (2 if letter == "x" else 4)]
            if not digits or not set(digits) <= _HEX_DIGITS:  # `int` takes a sign, blanks and underscores too
                raise self._wrong("no code of a character")
            self.at += len(digits)
            return chr(int(digits, 16))
        if letter in _ESCAPED:
            return _ESCAPED[letter]
        if letter.isalnum():
            raise self._wrong("an escape that is not known here, or a reference to a group")
        return letter

    def _literal(self, letter: str) -> Test:
        if "i" not in self.flags:
            return letter.__eq__
        return {letter, letter.lower(), letter.upper()}.__contains__

    def _class(self) -> Test:
        negated = self._peek("^")
        self.at += negated
        tests: list[Test] = []
        ranges: list[tuple[str, str]] = []
        while not (tests or ranges) or not self._peek("]"):
            member = self._member()
            if isinstance(member, tuple):
                ranges.append(member)
            else:
                tests.append(member)
        self.at += 1
        folded, tests, (lows, highs) = "i" in self.flags, list(dict.fromkeys(tests)), _merged(ranges)

        def has(form: str) -> bool:
            place = bisect_right(lows, form) - 1
            return (place >= 0 and form <= highs[place]) or any(test(form) for test in tests)

        @lru_cache(maxsize=MAX_CACHED)  # of repeats, each state asks
        def fits(letter: str) -> bool:
            forms = {letter, letter.lower(), letter.upper()} if folded else {letter}
            return any(has(form) for form in forms if len(form) == 1) != negated

        return fits

    def _member(self) -> Test | tuple[str, str]:
        low = self._take()
        if low == "\\":
            letter = self._take()
            if letter in _CLASSES:
                return _CLASSES[letter]
            low = "\b" if letter == "b" else self._plain(letter)
        if not self._peek("-") or self.pattern[self.at + 1 : self.at + 2] in {"", "]"}:
            return low, low
        self.at += 1
        high = self._take()
        if high == "\\":
            high = self._plain(self._take())
        if high < low:
            raise self._wrong("a range that runs backwards")
        return low, high

    def _consuming(self, test: Test) -> Callable[[int], int]:
        return lambda after: self._state(after, test=test)

    def _asserting(self, assertion: str) -> Callable[[int], int]:
        return lambda after: self._state(after, assertion=assertion)


def _merged(ranges: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return the first and the last letters of ranges, in their order and without overlaps."""
    lows: list[str] = []
    highs: list[str] = []
    for low, high in sorted(ranges):
        if highs and low <= highs[-1]:
            highs[-1] = max(high, highs[-1])
        else:
            lows.append(low)
            highs.append(high)
    return lows, highs
