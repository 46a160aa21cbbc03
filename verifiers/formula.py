"""What the formulas of a workbook come to, where the file does not remember it.

The usual arithmetic, comparisons and texts, areas, other sheets and names, and the functions in `FUNCTIONS`. Anything
else (another function, a table's name, an array, a circle) has no value here: a predicate about such a cell is false,
and a task asks for a value or for one of these. Errors (`#DIV/0!`) are texts, as the file would hold them. Numbers are
rounded to 15 digits, as spreadsheets show them.
"""

from __future__ import annotations

import math
import operator
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Any, NoReturn, TypeAlias

from verifiers.values import is_number
from verifiers.workbook import Place, Value, Workbook, area_of

Area: TypeAlias = list[list[Value]]
Operand: TypeAlias = "Value | Area"

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
_ERROR = re.compile(r"#(DIV/0!|N/A|VALUE!|REF!|NAME\?|NUM!)")
_SQUEEZED = re.compile(r'("(?:[^"]|"")*")|[\s$]+')


class Unknown(Exception):
    """We cannot say what it comes to."""


class Fault(Exception):
    """It comes to one of a spreadsheet's own errors."""


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
                self._known[key] = _rounded(_Formula(self, sheet, cell.formula).result())
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
            return 0 if (single := _single(value)) is None else single
        except Fault as fault:
            return str(fault)
        except (ArithmeticError, ValueError):
            return "#NUM!"

    def expression(self, strength: int) -> Operand:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unknown
        left = self.operand()
        while self.tokens and (known := _OPERATORS.get(self.tokens[0][1] if self.tokens[0][0] == "sign" else "")):
            binds, apply = known
            if binds <= strength:
                break
            self.book.step()
            sign = self.tokens.pop(0)[1]
            left = _number(left) / 100 if sign == "%" else apply(_single(left), _single(self.expression(binds)))
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
                value = -_number(self.expression(_UNARY))
            case "sign", "+":
                value = self.expression(_UNARY)
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
            failed = isinstance(given[0], Fault) or bool(_ERROR.fullmatch(str(_single(given[0]))))
            given = [given[1] if failed else given[0]]
        elif name == "IF" and given and not isinstance(given[0], Fault):
            chosen = given[1:2] if _true(_single(given[0])) else (given[2:3] or [False])
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


def _rounded(value: Value) -> Value:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return "#NUM!"
    value = float(f"{value:.15g}")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _single(value: Operand) -> Value:
    if isinstance(value, list):
        if len(value) == len(value[0]) == 1:
            return value[0][0]
        raise Unknown
    return value


def _number(value: Operand) -> Any:
    """Take a value as a number, as an operator does: nothing is 0, and a text may be one."""
    single = _single(value)
    if single is None:
        return 0
    if isinstance(single, str):
        if _ERROR.fullmatch(single):
            raise Fault(single)
        try:
            return float(single) if re.fullmatch(r"\s*-?\d{1,40}(\.\d*)?\s*", single) else _refuse()
        except ValueError:
            _refuse()
    return int(single) if isinstance(single, bool) else single


def _refuse() -> NoReturn:
    raise Fault("#VALUE!")


def _text(value: Operand) -> str:
    single = _rounded(_single(value))
    if isinstance(single, bool):
        return str(single).upper()
    return "" if single is None else str(single)


def _true(value: Operand) -> bool:
    return bool(_number(value))


def _flat(*values: Operand) -> Iterator[Value]:
    for value in values:
        if isinstance(value, list):
            for row in value:
                yield from row
        else:
            yield value


def _numbers(*values: Operand) -> list[Any]:
    """Give the numbers among values: in areas only what is one; an error anywhere is one."""
    for value in _flat(*values):
        if isinstance(value, str) and _ERROR.fullmatch(value):
            raise Fault(value)
    return [
        one
        for value in values
        for one in (filter(is_number, _flat(value)) if isinstance(value, list) else [_number(value)])
    ]


def _divided(left: Operand, right: Operand) -> Any:
    if not _number(right):
        raise Fault("#DIV/0!")
    return _number(left) / _number(right)


def _powered(left: Operand, right: Operand) -> Any:
    base, exponent = float(_number(left)), float(_number(right))
    result = base**exponent
    return result if isinstance(result, float) else _refuse()


def _calculated(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(_number(left), _number(right))


def _compares(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(left: Value, right: Value) -> bool:
        left, right = (_blank(right) if left is None else left), (_blank(left) if right is None else right)
        ranks = [2 if isinstance(value, bool) else 1 if isinstance(value, str) else 0 for value in (left, right)]
        keys = [value.casefold() if isinstance(value, str) else value for value in (left, right)]
        return bool(apply(*(keys if ranks[0] == ranks[1] else ranks)))

    return compare


def _blank(other: Value) -> Value:
    return "" if isinstance(other, str) else False if isinstance(other, bool) else 0


_UNARY = 7
_OPERATORS: Mapping[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "%": (6, _divided),
    "^": (5, _powered),
    "*": (4, _calculated(operator.mul)),
    "/": (4, _divided),
    "+": (3, _calculated(operator.add)),
    "-": (3, _calculated(operator.sub)),
    "&": (2, lambda left, right: _text(left) + _text(right)),
    "=": (1, _compares(operator.eq)),
    "<>": (1, _compares(operator.ne)),
    "<": (1, _compares(operator.lt)),
    ">": (1, _compares(operator.gt)),
    "<=": (1, _compares(operator.le)),
    ">=": (1, _compares(operator.ge)),
}


def _criterion(criterion: Operand) -> Callable[[Value], bool]:
    """Give the test of a criterion as COUNTIF takes it: a value, or a text as `>=5`, `<>x` or `te*`."""
    wanted = _single(criterion)
    if not isinstance(wanted, str):
        return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    match = re.fullmatch(r"(<=|>=|<>|=|<|>)?(.*)", wanted, re.DOTALL)
    sign, rest = (match[1] or "=", match[2]) if match else ("=", wanted)
    if re.fullmatch(r"-?\d{1,40}(\.\d*)?", rest):
        number, apply = float(rest), _OPERATORS[sign][1]
        return lambda value: bool(apply(value, number)) if is_number(value) else sign == "<>"
    if sign not in {"=", "<>"}:
        raise Unknown
    pattern = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in rest[:200])
    if rest.count("*") > 3:  # noqa: PLR2004 - more make a search that does not end
        raise Unknown
    shape = re.compile(pattern, re.DOTALL | re.IGNORECASE)
    return lambda value: bool(shape.fullmatch(value if isinstance(value, str) else "")) == (sign == "=")


def _chosen(of: Operand, *criteria: Operand) -> list[Value]:
    """Give those values of an area that stand where all the other areas meet their criteria."""
    values = list(_flat(of))
    chosen = [True] * len(values)
    for area, criterion in zip(criteria[::2], criteria[1::2], strict=True):
        test, there = _criterion(criterion), list(_flat(area))
        if len(there) != len(values):
            raise Fault("#VALUE!")
        chosen = [is_chosen and test(value) for is_chosen, value in zip(chosen, there, strict=True)]
    return [value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen]


def _to_digits(rounding: str) -> Callable[..., float]:
    def rounded(value: Operand, digits: Operand = 0) -> float:
        step = Decimal(1).scaleb(-int(_number(digits)))
        return float((Decimal(repr(_number(value))) / step).quantize(Decimal(1), rounding) * step)

    return rounded


def _matched(wanted: Operand, area: Operand, kind: Operand = 1) -> int:
    if _number(kind) != 0:
        raise Unknown
    test = _OPERATORS["="][1]
    for number, value in enumerate(_flat(area), 1):
        if value is not None and test(_single(wanted), value):
            return number
    raise Fault("#N/A")


def _looked_up(wanted: Operand, area: Any, column: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    if _true(is_sorted):
        raise Unknown
    row: list[Value] = area[_matched(wanted, [line[:1] for line in area], 0) - 1]
    if not 0 < _number(column) <= len(row):
        _refuse()
    return row[int(_number(column)) - 1]


def _indexed(area: Any, row: Operand, column: Operand = None) -> Value:
    down, across = int(_number(row)), int(_number(column)) if column is not None else 1
    if column is None and len(area) == 1:
        down, across = 1, down
    if not (0 < down <= len(area) and 0 < across <= len(area[0])):
        raise Fault("#REF!")
    value: Value = area[down - 1][across - 1]
    return value


def _product_sum(*areas: Operand) -> Any:
    columns = [[value if is_number(value) else 0 for value in _flat(area)] for area in areas]
    return math.fsum(math.prod(row) for row in zip(*columns, strict=True))


def _mean(numbers: Sequence[Any]) -> float:
    return math.fsum(numbers) / len(numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ABS": lambda value: abs(_number(value)),
    "AND": lambda *values: all(map(_true, _flat(*values))),
    "AVERAGE": lambda *values: _mean(_numbers(*values)),
    "AVERAGEIF": lambda area, criterion, of=None: _mean(_numbers(of_chosen(area, criterion, of))),
    "AVERAGEIFS": lambda of, *criteria: _mean(_numbers([_chosen(of, *criteria)])),
    "CONCAT": lambda *values: "".join(map(_text, _flat(*values))),
    "CONCATENATE": lambda *values: "".join(map(_text, values)),
    "COUNT": lambda *values: sum(map(is_number, _flat(*values))),
    "COUNTA": lambda *values: sum(value is not None for value in _flat(*values)),
    "COUNTBLANK": lambda *values: sum(value is None or value == "" for value in _flat(*values)),
    "COUNTIF": lambda area, criterion: len(_chosen(area, area, criterion)),
    "COUNTIFS": lambda *criteria: len(_chosen(criteria[0], *criteria)),
    "IF": lambda value: value,
    "IFERROR": lambda value: value,
    "INDEX": _indexed,
    "INT": lambda value: math.floor(_number(value)),
    "LEFT": lambda text, length=1: _text(text)[: max(int(_number(length)), 0)],
    "LEN": lambda text: len(_text(text)),
    "LOWER": lambda text: _text(text).lower(),
    "MATCH": _matched,
    "MAX": lambda *values: max(_numbers(*values), default=0),
    "MAXIFS": lambda of, *criteria: max(_numbers([_chosen(of, *criteria)]), default=0),
    "MEDIAN": lambda *values: statistics.median(_numbers(*values)),
    "MID": lambda text, start, length: _text(text)[int(_number(start)) - 1 :][: max(int(_number(length)), 0)],
    "MIN": lambda *values: min(_numbers(*values), default=0),
    "MINIFS": lambda of, *criteria: min(_numbers([_chosen(of, *criteria)]), default=0),
    "MOD": lambda value, by: _number(value) % _number(by),
    "NOT": lambda value: not _true(value),
    "OR": lambda *values: any(map(_true, _flat(*values))),
    "PRODUCT": lambda *values: math.prod(_numbers(*values)),
    "RIGHT": lambda text, length=1: _text(text)[-int(_number(length)) :] if _number(length) >= 1 else "",
    "ROUND": _to_digits(ROUND_HALF_UP),
    "ROUNDDOWN": _to_digits(ROUND_DOWN),
    "ROUNDUP": _to_digits(ROUND_UP),
    "SUM": lambda *values: math.fsum(_numbers(*values)),
    "SUMIF": lambda area, criterion, of=None: math.fsum(_numbers(of_chosen(area, criterion, of))),
    "SUMIFS": lambda of, *criteria: math.fsum(_numbers([_chosen(of, *criteria)])),
    "SUMPRODUCT": _product_sum,
    "TRIM": lambda text: " ".join(_text(text).split()),
    "UPPER": lambda text: _text(text).upper(),
    "VLOOKUP": _looked_up,
}
"""By name: what it does with its arguments."""


def of_chosen(area: Operand, criterion: Operand, of: Operand) -> Area:
    """Give what SUMIF adds up: of the other area where there is one, else of the one that is looked at."""
    return [_chosen(area if of is None else of, area, criterion)]
