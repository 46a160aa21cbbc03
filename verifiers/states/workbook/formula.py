"""Calculator of workbook formulas, for cells whose file stores no value.

It supports the usual arithmetic, comparisons and texts, areas, whole columns and rows, other sheets, names of areas and
of formulas, and the functions in `functions`. In SUMPRODUCT and in array formulas of one cell it calculates with areas.
Anything else (another function, a table's name, a circular reference) has no value here: a predicate about such a cell
is false, so tasks use only what is supported. Errors (`#DIV/0!`) are texts, as in the file. A date is a number, shown
as its text; of a workbook that counts days from 1904 it has no number here.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.states.workbook.book import UNCLEAR, Unclear
from verifiers.states.workbook.functions import ELEMENTWISE, FUNCTIONS, OF_DATES, cost
from verifiers.states.workbook.model import (
    COLUMNS,
    ROWS,
    DateText,
    Place,
    Value,
    Workbook,
    WorkbookCell,
    area_of,
    name_of,
)
from verifiers.states.workbook.operands import (
    OPERATORS,
    UNARY,
    CellError,
    CellRange,
    Operand,
    Unknown,
    as_date,
    as_number,
    as_truth,
    held,
    is_error,
    refuse,
    rounded,
    single,
)
from verifiers.texts import A_FOLD

MAX_STEPS = 500_000  # cells, tokens and operators looked at, for one workbook
MAX_DEPTH = 60  # formulas that lead to formulas
DEEPEST = 40  # brackets within brackets
MAX_FRAMES = 500  # calls within calls, of all the formulas that lead to each other
A_FORMULA, A_BRACKET = 8, 4  # calls
AN_OPERAND, A_REFERENCE = 8, 14  # steps
EXACT_DIGITS = 15  # of a number; one with more is rounded, as in a spreadsheet

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>"(?:[^"]|"")*")
    | (?P<error>\#(?:DIV/0!|N/A|VALUE!|REF!|NAME\?|NUM!|NULL!))
    | (?P<ref>(?:(?:'(?:[^']|'')+'|[^\W\d][\w.]*)!)?
        (?:\$?[A-Za-z]{1,3}\$?[1-9]\d*(?::\$?[A-Za-z]{1,3}\$?[1-9]\d*)?
        |\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}|\$?[1-9]\d*:\$?[1-9]\d*)(?![\w(.]))
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<call>[A-Za-z_][\w.]*)\(
    | (?P<name>(?:(?:'(?:[^']|'')+'|[^\W\d][\w.]*)!)?[^\W\d][\w.]*)
    | (?P<sign><=|>=|<>|[-+*/^&=<>%(),;])
    )""",
    re.VERBOSE,
)

_NESTED = re.compile(r"(SUBTOTAL|AGGREGATE)\(", re.IGNORECASE)
_WHOLE = re.compile(
    r"\$?(?P<first>[A-Za-z]{1,3}):\$?(?P<last>[A-Za-z]{1,3})|\$?(?P<top>[1-9]\d{0,6}):\$?(?P<bottom>[1-9]\d{0,6})"
)
_OF_ERRORS: dict[str, Callable[[str], bool | None]] = {
    "ISERR": lambda fault: fault not in {"", "#N/A"},
    "ISERROR": bool,
    "ISNA": lambda fault: fault == "#N/A",
    "ISNONTEXT": lambda fault: True if fault else None,
    **dict.fromkeys(("ISBLANK", "ISLOGICAL", "ISNUMBER", "ISTEXT"), lambda fault: False if fault else None),
}
"""What such a function says of an error or of none (""); None where that is not all that it looks at."""
_LAZY = {"CHOOSE", "COUNT", "COUNTA", "IF", "IFERROR", "IFNA", "IFS", "SWITCH", *_OF_ERRORS}
"""Functions that may be given an error and not be one."""
_OF_ARRAYS = {"SUMPRODUCT"}
"""Functions that calculate with whole areas where an operator stands between them."""
_SUBTOTALS = ("AVERAGE", "COUNT", "COUNTA", "MAX", "MIN", "PRODUCT", "STDEV", "STDEVP", "SUM", "VAR", "VARP")
SUBTOTAL_OFFSET = 100
"""What is added to the number of a function of SUBTOTAL that leaves out hidden rows."""
CALCULATED = frozenset({*FUNCTIONS, *_LAZY, "SUBTOTAL"})


class Calculator:
    """Calculates the formulas of a workbook on demand.

    Args:
        workbook: its cells have the values that the file remembers.
        budget: what it may cost; every cell and token that is looked at counts, and every text that is made.
    """

    def __init__(self, workbook: Workbook, budget: ReadingBudget | None = None) -> None:
        self.workbook, self.budget = workbook, budget or ReadingBudget()
        self.sheets = {sheet.name: sheet for sheet in workbook.sheets}
        self.names = {("", name.casefold()): refers for name, refers in workbook.names.items()}
        self.names |= {(sheet, name.casefold()): refers for (sheet, name), refers in workbook.local_names.items()}
        self.tables = {table.name.casefold() for sheet in workbook.sheets for table in sheet.tables}
        self._folded = {name.casefold(): name for name in reversed(self.sheets)}
        self._known: dict[tuple[str, Place], Value] = {}
        self._asked: set[tuple[str, Place]] = set()
        places = [place for sheet in workbook.sheets for place in sheet.cells] or [(1, 1)]
        self.used = (max(row for row, _ in places), max(column for _, column in places))
        """The last row and the last column that a sheet uses; whole columns of all sheets have one length."""
        self._left = MAX_STEPS
        self.depth = 0

    def value(self, sheet: str, place: Place) -> Value | Unclear:
        """Return a cell's value, as far as it can be said."""
        try:
            value = self.known(sheet, place)
            return str(value) if isinstance(value, DateText) else value
        except Unknown:
            return UNCLEAR

    def known(self, sheet: str, place: Place) -> Value:
        """Return a cell's value if it is known.

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
            self._asked.add(key)
            depth = self.depth
            try:
                self.deeper(A_FORMULA)
                self._known[key] = _Formula(self, sheet, cell.formula, place).result(cell)
            finally:
                self.depth = depth
                self._asked.discard(key)
        return self._known[key]

    def deeper(self, frames: int) -> None:
        """Count the nesting of calls, so that the depth limit does not depend on the caller's stack.

        Raises:
            Unknown: it is deeper than we go.
        """
        self.depth += frames
        if self.depth > MAX_FRAMES:
            raise Unknown

    def step(self, number: int = 1) -> None:
        """Charge one step to the budget.

        Raises:
            Unknown: it is more than we look at in one workbook.
            CorruptState: it is more than the budget has.
        """
        self._left -= number
        if self._left < 0:
            raise Unknown
        self.budget.step(number)

    def area(self, sheet: str, text: str) -> CellRange:
        """Return the values of an area; of whole columns or rows only as far as some sheet uses them."""
        try:
            (top, left), (bottom, right) = area_of(self.within_use(text))
        except ValueError:
            raise CellError("#REF!") from None
        self.step((bottom - top + 1) * (right - left + 1))
        if sheet not in self.sheets:
            raise CellError("#REF!")
        values = [
            [self.known(sheet, (row, column)) for column in range(left, right + 1)] for row in range(top, bottom + 1)
        ]
        self.step(sum(len(value) for row in values for value in row if isinstance(value, str)) // A_FOLD)
        height, width = bottom - top + 1, right - left + 1
        if (match := _WHOLE.fullmatch(text)) is not None:
            height, width = (ROWS, width) if match["first"] else (height, COLUMNS)
        return CellRange(values, sheet, (top, left), (height, width))

    def within_use(self, text: str) -> str:
        """Turn `B:C` into `B1:C9`, and `2:3` into `A2:F3`, where no sheet has a cell behind row 9 or column F."""
        match = _WHOLE.fullmatch(text)
        if match is None:
            return text
        if match["first"]:
            return f"{match['first']}1:{match['last']}{self.used[0]}"
        return f"A{match['top']}:{name_of((int(match['bottom']), self.used[1]))}"

    @cached_property
    def subtotals(self) -> list[tuple[str, Place]]:
        """List sheet and place of each subtotal."""
        cells = [(sheet.name, *item) for sheet in self.workbook.sheets for item in sheet.cells.items()]
        self.step(len(cells) + sum(len(cell.formula or "") for _, _, cell in cells) // 4)
        return [(sheet, place) for sheet, place, cell in cells if _NESTED.search(cell.formula or "")]

    def may_leave_out(self, area: Operand) -> bool:
        """Say whether SUBTOTAL may have to leave out cells of an area: in hidden rows, or other subtotals."""
        self.step(1 + len(self.subtotals))
        if not isinstance(area, CellRange) or self.sheets[area.sheet].hides_rows:
            return True
        return any(sheet == area.sheet and area.has(place) for sheet, place in self.subtotals)

    def sheet_named(self, name: str) -> str:
        """Return the name of a sheet as it is spelt; one that is not there stays as it is."""
        return self._folded.get(name.casefold(), name)


class _Formula:
    """Precedence-climbing parser that calculates one formula as it reads."""

    def __init__(self, book: Calculator, sheet: str, text: str, place: Place, arrays: int = 0) -> None:
        self.book, self.sheet, self.place, self.depth, self.at = book, sheet, place, 0, 0
        self.arrays = arrays  # how many calls that calculate with whole areas are open
        book.step(1 + len(text) // 4)
        self.tokens = list(_tokens(text))

    def result(self, cell: WorkbookCell) -> Value:
        """Return the value for a cell; of the array formula of several cells each would have another one.

        Raises:
            Unknown: nobody can say.
        """
        try:
            if ":" in cell.array:
                raise Unknown
            self.arrays += bool(cell.array)
            value = rounded(0 if (scalar := single(self.whole())) is None else scalar)
            return as_date(value) if cell.is_date else value
        except CellError as fault:
            return str(fault)
        except (ArithmeticError, ValueError):
            return "#NUM!"

    def whole(self) -> Operand:
        value = self.expression(0)
        if self.at < len(self.tokens):
            raise Unknown
        return value

    def next_is(self, *signs: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in signs

    def take(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise Unknown
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self, strength: int) -> Operand:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unknown
        self.book.step(AN_OPERAND)
        self.book.deeper(A_BRACKET)
        left = self.operand()
        while self.next_is(*OPERATORS):
            sign = self.tokens[self.at][1]
            binds, apply = OPERATORS[sign]
            if binds <= strength:
                break
            self.at += 1
            right: Operand = 100 if sign == "%" else self.expression(binds)
            left = self.each(apply, left, right) if self.arrays else self.made(apply(single(left), single(right)))
        self.book.depth -= A_BRACKET
        self.depth -= 1
        return left

    def made(self, value: Operand) -> Operand:
        """Charge the budget for a new value, and limit it to what a cell may hold."""
        self.book.step(1 + (len(value) // A_FOLD if isinstance(value, str) else 0))
        return held(value)

    def each(self, apply: Callable[..., Any], *operands: Operand) -> Operand:
        """Apply a function to each cell of areas, or to single values; an area of one row or column is repeated.

        Raises:
            Unknown: their sizes do not fit.
        """
        areas = [operand for operand in operands if isinstance(operand, list) and len(operand) * len(operand[0]) > 1]
        if not areas:
            return self.made(apply(*map(single, operands)))
        height, width = max(map(len, areas)), max(len(area[0]) for area in areas)
        if any({len(area), height, 1} != {height, 1} or {len(area[0]), width, 1} != {width, 1} for area in areas):
            raise Unknown
        self.book.step(AN_OPERAND * height * width)

        def at(operand: Operand, row: int, column: int) -> Value:
            if not isinstance(operand, list):
                return operand
            line = operand[row if len(operand) > 1 else 0]
            return line[column if len(line) > 1 else 0]

        return [
            [single(self.made(apply(*(at(operand, row, column) for operand in operands)))) for column in range(width)]
            for row in range(height)
        ]

    def operand(self) -> Operand:
        kind, text = self.take()
        value: Operand
        match kind, text:
            case "number", _:
                value = int(text) if text.isdecimal() and len(text) <= EXACT_DIGITS else float(text)
            case "text", _:
                value = text[1:-1].replace('""', '"')
            case "ref", _:
                value = self.reference(text)
            case "call", _:
                value = self.call(text.upper().removeprefix("_XLFN.").removeprefix("_XLWS."))
            case "name", _:
                value = self.named(text)
            case "error", _:
                raise CellError(text)
            case "sign", "-":
                value = self.each(lambda part: -as_number(part), self.expression(UNARY))
            case "sign", "+":
                value = self.expression(UNARY)
            case "sign", "(":
                value = self.expression(0)
                self.expect(")")
            case _:
                raise Unknown
        return value

    def expect(self, *signs: str) -> str:
        if not self.next_is(*signs):
            raise Unknown
        return self.take()[1]

    def reference(self, text: str) -> Operand:
        self.book.step(A_REFERENCE)
        return self.book.area(*self.in_sheet(text))

    def in_sheet(self, text: str) -> tuple[str, str]:
        """Return the sheet that a reference or a name is of, and what is behind it."""
        sheet, _, rest = text.rpartition("!")
        sheet = sheet[1:-1].replace("''", "'") if sheet.startswith("'") else sheet
        return self.book.sheet_named(sheet) if sheet else self.sheet, rest

    def named(self, text: str) -> Operand:
        """Calculate what a name refers to; a sheet's own names come before the workbook's."""
        if text.upper() in {"TRUE", "FALSE"}:
            return text.upper() == "TRUE"
        sheet, name = self.in_sheet(text)
        names = self.book.names
        if (refers := names.get((sheet, name.casefold()), names.get(("", name.casefold())))) is None:
            if name.casefold() in self.book.tables:
                raise Unknown
            raise CellError("#NAME?")
        self.book.deeper(A_FORMULA)
        value = _Formula(self.book, sheet, refers, self.place, self.arrays).whole()
        self.book.depth -= A_FORMULA
        return value

    def call(self, name: str) -> Operand:
        if name not in CALCULATED:
            raise Unknown
        given: list[Operand | CellError] = []
        self.arrays += name in _OF_ARRAYS
        if self.next_is(")"):
            self.take()
        else:
            given.append(self.argument())
            while self.expect(",", ";", ")") != ")":
                given.append(self.argument())
        self.arrays -= name in _OF_ARRAYS
        return self.applied(name, given)

    def argument(self) -> Operand | CellError:
        """Calculate one argument; an error is kept, because IF and IFERROR may never look at it."""
        if self.next_is(",", ";", ")"):
            return None  # one that is left out
        depth, frames, at, arrays = self.depth, self.book.depth, self.at, self.arrays
        try:
            return self.expression(0)
        except (CellError, ArithmeticError) as fault:
            self.depth, self.book.depth, self.at, self.arrays = depth, frames, self.behind_argument(at), arrays
            return fault if isinstance(fault, CellError) else CellError("#NUM!")

    def behind_argument(self, at: int) -> int:
        """Return the place behind an argument that was not read to its end."""
        open_brackets = 0
        for number in range(at, len(self.tokens)):
            kind, text = self.tokens[number]
            if open_brackets == 0 and kind == "sign" and text in {",", ";", ")"}:
                self.book.step(number - at)
                return number
            open_brackets += (kind == "call" or text == "(") - (kind == "sign" and text == ")")
        raise Unknown

    def applied(self, name: str, given: Sequence[Any]) -> Operand:
        given = list(given)
        if name in _LAZY and given:
            name, given = _decided(name, given)
        for argument in given:
            if isinstance(argument, CellError):
                raise argument
        if name == "SUBTOTAL" and given:
            name, given = self.subtotal(*given)
        if name in {"COLUMN", "ROW"} and not given:
            return self.place[name == "COLUMN"]
        if self.book.workbook.early and name in OF_DATES:
            raise Unknown
        self.book.step(cost(name, given))
        try:
            if self.arrays and name in ELEMENTWISE:
                return self.each(FUNCTIONS[name], *given)
            return self.made(FUNCTIONS[name](*given))
        except (TypeError, IndexError):
            raise Unknown from None
        except (ZeroDivisionError, statistics.StatisticsError):
            raise CellError("#DIV/0!") from None

    def subtotal(self, kind: Operand, *areas: Operand) -> tuple[str, list[Operand]]:
        """Return the function that SUBTOTAL stands for, and the areas, where it is the same.

        Raises:
            Unknown: it has to leave out hidden rows, or other subtotals.
        """
        number = int(as_number(kind)) % SUBTOTAL_OFFSET
        if not 0 < number <= len(_SUBTOTALS) or any(self.book.may_leave_out(area) for area in areas):
            raise Unknown
        return _SUBTOTALS[number - 1], list(areas)


def _decided(name: str, given: list[Any]) -> tuple[str, list[Any]]:
    """Decide which arguments of a lazy function count, and return what is still to be called with them.

    Raises:
        CellError: the argument that decides is an error, or none fits.
    """
    first, *rest = given
    if name in {"COUNT", "COUNTA"}:
        return name, [[[str(value)]] if isinstance(value, CellError) else value for value in given]
    if name in {"CHOOSE", "IF", "IFS", "SWITCH"}:
        return "IF", [_branch(name, first, rest)]
    fault = str(first) if isinstance(first, CellError) else str(_scalar(first))
    fault = fault if is_error(fault) else ""
    if name in _OF_ERRORS:
        answer = _OF_ERRORS[name](fault)
        return (name, given) if answer is None else ("IF", [answer])
    if len(given) != 2:  # noqa: PLR2004
        raise Unknown
    return "IF", [rest[0] if fault and (name == "IFERROR" or fault == "#N/A") else first]


def _branch(name: str, first: Operand | CellError, rest: list[Any]) -> Any:
    """Return the argument that a condition chooses; it may be an error itself."""
    if isinstance(first, CellError):
        raise first
    if name == "IF":
        return rest[0] if as_truth(single(first)) else (rest[1:2] or [False])[0]
    if name == "CHOOSE":
        number = int(as_number(first))
        return rest[number - 1] if 0 < number <= len(rest) else refuse()
    cases = [first, *rest] if name == "IFS" else rest
    for test, result in zip(cases[::2], cases[1::2], strict=False):
        if isinstance(test, CellError):
            raise test
        if as_truth(test) if name == "IFS" else OPERATORS["="][1](single(first), single(test)):
            return result
    if name == "SWITCH" and len(rest) % 2:
        return rest[-1]
    raise CellError("#N/A")


def _scalar(value: Operand) -> Value:
    return None if isinstance(value, list) and len(value) * len(value[0]) != 1 else single(value)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, text = 0, text.strip().removeprefix("=").rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unknown
        yield str(match.lastgroup), match[str(match.lastgroup)]
        at = match.end()
