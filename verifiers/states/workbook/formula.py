"""What the formulas of a workbook come to, where the file does not remember it.

The usual arithmetic, comparisons and texts, areas, other sheets and names, and the functions in `verifiers.functions`.
Anything else (another function, a table's name, an array, a circle) has no value here: a predicate about such a cell is
false, and a task asks for a value or for one of these. Errors (`#DIV/0!`) are texts, as the file would hold them.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from verifiers.states.workbook.functions import FUNCTIONS
from verifiers.states.workbook.model import Place, Value, Workbook, area_of
from verifiers.states.workbook.operands import (
    ERROR,
    OPERATORS,
    UNARY,
    Area,
    Fault,
    Operand,
    Unknown,
    as_number,
    as_truth,
    rounded,
    single,
)

MAX_STEPS = 200_000  # cells and operators looked at, for one workbook
MAX_DEPTH = 60  # formulas that lead to formulas
DEEPEST = 40  # brackets within brackets

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>"(?:[^"]|"")*")
    | (?P<ref>(?:(?:'(?:[^']|'')+'|[A-Za-z_][\w.]*)!)?
        \$?[A-Za-z]{1,3}\$?[1-9]\d*(?::\$?[A-Za-z]{1,3}\$?[1-9]\d*)?(?![\w(.]))
    | (?P<call>[A-Za-z_][\w.]*)\(
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign><=|>=|<>|[-+*/^&=<>%(),;])
    )""",
    re.VERBOSE,
)
_SQUEEZED = re.compile(r'("(?:[^"]|"")*")|[\s$]+')


class Unclear:
    """What stands for the value of a formula that we cannot calculate."""

    def __repr__(self) -> str:
        return "a value that only a spreadsheet knows"


UNCLEAR = Unclear()


def same_formula(left: str, right: str) -> bool:
    """Say whether two formulas are the same but for `=`, blanks, `$` and case outside of texts."""
    return _plain(left) == _plain(right)


def _plain(formula: str) -> str:
    def squeezed(match: re.Match[str]) -> str:
        return match[1] or ""

    text = _SQUEEZED.sub(squeezed, formula.strip().removeprefix("="))
    parts = re.split(r'("(?:[^"]|"")*")', text)
    return "".join(part if part.startswith('"') else part.upper().replace("_XLFN.", "") for part in parts)


class Book:
    """A workbook whose formulas can be asked for their values."""

    def __init__(self, workbook: Workbook) -> None:
        self.workbook = workbook
        self.sheets = {sheet.name: sheet for sheet in workbook.sheets}
        self._known: dict[tuple[str, Place], Value] = {}
        self._asked: list[tuple[str, Place]] = []
        self._left = MAX_STEPS

    def value(self, sheet: str, place: Place) -> Value | Unclear:
        """Give a cell's value, as far as it can be said."""
        try:
            return self.known(sheet, place)
        except (Unknown, RecursionError):
            return UNCLEAR

    def known(self, sheet: str, place: Place) -> Value:
        """Give a cell's value.

        Raises:
            Unknown: nobody can say.
        """
        cell = self.sheets[sheet].cells.get(place)
        if cell is None or cell.formula is None or cell.value is not None:
            return None if cell is None else cell.value
        key = (sheet, place)
        if key not in self._known:
            if key in self._asked or len(self._asked) >= MAX_DEPTH:
                raise Unknown
            self._asked.append(key)
            try:
                self._known[key] = rounded(_Formula(self, sheet, cell.formula).result())
            finally:
                self._asked.pop()
        return self._known[key]

    def step(self, number: int = 1) -> None:
        """Count what is looked at.

        Raises:
            Unknown: it is more than we look at.
        """
        self._left -= number
        if self._left < 0:
            raise Unknown

    def area(self, sheet: str, text: str) -> Area:
        """Give the values of an area."""
        try:
            (top, left), (bottom, right) = area_of(text)
        except ValueError:
            raise Fault("#REF!") from None
        self.step((bottom - top + 1) * (right - left + 1))
        if sheet not in self.sheets:
            raise Fault("#REF!")
        return [
            [self.known(sheet, (row, column)) for column in range(left, right + 1)] for row in range(top, bottom + 1)
        ]


class _Formula:
    """One formula, read and calculated at once, by the strength of its operators."""

    def __init__(self, book: Book, sheet: str, text: str) -> None:
        self.book, self.sheet, self.depth = book, sheet, 0
        self.tokens = list(_tokens(text))

    def result(self) -> Value:
        try:
            value = self.expression(0)
            if self.tokens:
                raise Unknown
            return 0 if (one := single(value)) is None else one
        except Fault as fault:
            return str(fault)
        except (ArithmeticError, ValueError):
            return "#NUM!"

    def expression(self, strength: int) -> Operand:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unknown
        left = self.operand()
        while self.tokens and (known := OPERATORS.get(self.tokens[0][1] if self.tokens[0][0] == "sign" else "")):
            binds, apply = known
            if binds <= strength:
                break
            self.book.step()
            sign = self.tokens.pop(0)[1]
            left = as_number(left) / 100 if sign == "%" else apply(single(left), single(self.expression(binds)))
        self.depth -= 1
        return left

    def operand(self) -> Operand:
        if not self.tokens:
            raise Unknown
        kind, text = self.tokens.pop(0)
        value: Operand
        match kind, text:
            case "number", _:
                value = float(text) if set(text) & set(".eE") else int(text)
            case "text", _:
                value = text[1:-1].replace('""', '"')
            case "ref", _:
                value = self.reference(text)
            case "call", _:
                value = self.call(text.upper().removeprefix("_XLFN."))
            case "name", _:
                value = self.named(text)
            case "sign", "-":
                value = -as_number(self.expression(UNARY))
            case "sign", "+":
                value = self.expression(UNARY)
            case "sign", "(":
                value = self.expression(0)
                self.expect(")")
            case _:
                raise Unknown
        return value

    def expect(self, *signs: str) -> str:
        if not self.tokens or self.tokens[0][0] != "sign" or self.tokens[0][1] not in signs:
            raise Unknown
        return self.tokens.pop(0)[1]

    def reference(self, text: str) -> Operand:
        sheet, _, place = text.rpartition("!")
        sheet = sheet[1:-1].replace("''", "'") if sheet.startswith("'") else sheet
        area = self.book.area(self._known_sheet(sheet) if sheet else self.sheet, place)
        return area if ":" in place else area[0][0]

    def _known_sheet(self, name: str) -> str:
        return next((known for known in self.book.sheets if known.casefold() == name.casefold()), name)

    def named(self, text: str) -> Operand:
        if text.upper() in {"TRUE", "FALSE"}:
            return text.upper() == "TRUE"
        for name, refers in self.book.workbook.names.items():
            if name.casefold() == text.casefold():
                ((kind, reference), *rest) = list(_tokens(refers)) or [("", "")]
                if kind == "ref" and not rest:
                    return self.reference(reference)
        raise Unknown

    def call(self, name: str) -> Operand:
        if name not in FUNCTIONS:
            raise Unknown
        given: list[Operand | Fault] = []
        while not (given == [] and self.tokens[:1] == [("sign", ")")]):
            given.append(self.argument())
            if self.expect(",", ";", ")") == ")":
                return self.applied(name, given)
        self.expect(")")
        return self.applied(name, given)

    def argument(self) -> Operand | Fault:
        """Calculate one argument; an error is kept, because IF and IFERROR may never look at it."""
        depth, tokens = self.depth, list(self.tokens)
        try:
            return self.expression(0)
        except (Fault, ArithmeticError) as fault:
            self.depth, self.tokens = depth, _behind_argument(tokens)
            return fault if isinstance(fault, Fault) else Fault("#NUM!")

    def applied(self, name: str, given: Sequence[Any]) -> Operand:
        self.book.step()
        if name == "IFERROR" and len(given) == 2:  # noqa: PLR2004
            failed = isinstance(given[0], Fault) or bool(ERROR.fullmatch(str(single(given[0]))))
            given = [given[1] if failed else given[0]]
        elif name == "IF" and given and not isinstance(given[0], Fault):
            chosen = given[1:2] if as_truth(single(given[0])) else (given[2:3] or [False])
            given = list(chosen)
        for one in given:
            if isinstance(one, Fault):
                raise one
        try:
            value: Operand = FUNCTIONS[name](*given)
        except (TypeError, IndexError):
            raise Unknown from None
        except (ZeroDivisionError, statistics.StatisticsError):
            raise Fault("#DIV/0!") from None
        return value


def _behind_argument(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Give what comes behind an argument that was not read to its end."""
    open_brackets = 0
    for number, (kind, text) in enumerate(tokens):
        if open_brackets == 0 and kind == "sign" and text in {",", ";", ")"}:
            return tokens[number:]
        open_brackets += (kind == "call" or text == "(") - (kind == "sign" and text == ")")
    raise Unknown


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, text = 0, text.strip().removeprefix("=").rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unknown
        yield str(match.lastgroup), match[str(match.lastgroup)]
        at = match.end()
