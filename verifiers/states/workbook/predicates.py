"""Predicates over the workbooks (`.xlsx`) that the spreadsheet server left.

A value is a text, a number, true, false or null (an empty cell), and a number never equals a text. A date is its text,
`2026-01-05` or `2026-01-05T10:30:00`, whether the cell holds a date or that text. The value of a formula is what the
file remembers, or what we calculate where it remembers nothing: arithmetic, comparisons, texts, and the functions that
the specification lists. A formula that we cannot calculate counts against whoever put it there. Formulas are compared
without their `=`, blanks and `$`, in any case. Names of sheets are exact. In predicates about rows, the first
row that is not empty has the names of the columns. A file that is no workbook, or one that unpacks into more than
anybody writes, counts against the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeGuard

from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NAME, NOTHING, PATH, TEXT, Example, ProbeResult, names, predicate
from verifiers.predicates.values import Number, cell_equal, exact_sum, is_number, near
from verifiers.quoting import listed, plain, quoted
from verifiers.states.workbook.book import CalculatedWorkbook, Unclear, open_book, open_paths, same_formula
from verifiers.states.workbook.examples import workbook
from verifiers.states.workbook.model import Place, Sheet, Value, area_of, name_of, place_of
from verifiers.texts import A_FOLD

IN_SHEET = {"path": PATH, "sheet": NAME}
CELL = {"type": "string", "pattern": "^[A-Z]{1,3}[1-9][0-9]{0,6}$", "description": "a cell, as `B3`"}
AREA = {
    "type": "string",
    "pattern": "^[A-Z]{1,3}[1-9][0-9]{0,6}:[A-Z]{1,3}[1-9][0-9]{0,6}$",
    "description": "an area, as `A1:C9`",
}
VALUE = {"type": ["string", "number", "boolean", "null"]}
ROWS = {
    "type": "array",
    "items": {"type": "array", "items": VALUE},
    "description": "list of rows, each a list of values",
}
WHERE = {"type": "object", "additionalProperties": VALUE, "description": "object: column to value"}
TOLERANCE = {"type": "number", "minimum": 0}
MAX_AREA = 20_000
A_CELL, A_COMPARISON, A_SUMMAND = 3, 10, 6  # steps
MAX_TABLE = 400_000  # rows times columns

Row: TypeAlias = Sequence[Value]

TABLE: Sequence[Row] = [
    ["item", "n", "day"],
    ["tea", 2, "2026-01-05"],
    ["milk", 3.5, None],
    ["sum", "=SUM(B2:B3)", None],
]
OTHER: Sequence[Row] = [["item", "n"], ["Tea", 2], ["milk", 4.5], ["sum", 5.5]]
FULL = partial(workbook, "a.xlsx", {"Stock": TABLE, "Notes": [["done"]]}, names={"total": "Stock!$B$4"}, table="Stock1")
BARE = partial(workbook, "a.xlsx", {"Stock": OTHER}, names={"total": "Stock!$B$3"})
NONE = partial(workbook, "b.xlsx", {"Stock": TABLE})


def _sheet(context: Context, path: str, sheet: str) -> tuple[CalculatedWorkbook, Sheet]:
    book = open_book(context, path)
    if sheet not in book.sheets:
        raise TargetMissing(f"{quoted(path)} has the sheets {listed(list(book.sheets))}")
    parsed = book.sheets[sheet]
    context.budget.step(1 + len(parsed.tables) + len(parsed.merged))
    return book, parsed


@predicate(
    "spreadsheet.workbookExists",
    words="there is a workbook {path}",
    takes={"path": PATH},
    produces=NOTHING,
    example=Example({"path": "a.xlsx"}, FULL, NONE),
)
def workbook_exists(context: Context, path: str) -> ProbeResult:
    """There is a file at the path, and it can be read as a workbook."""
    return ProbeResult(
        holds=True, found=f"{quoted(path)} has the sheets {listed(list(open_book(context, path).sheets))}"
    )


@predicate(
    "spreadsheet.workbookAbsent",
    words="there is nothing at {path}",
    takes={"path": PATH},
    produces=NOTHING,
    example=Example({"path": "b.xlsx"}, FULL, NONE),
)
def workbook_absent(context: Context, path: str) -> ProbeResult:
    """There is nothing at the path."""
    paths = open_paths(context)
    return ProbeResult(path not in paths, f"there are {listed(list(paths))}")


@predicate(
    "spreadsheet.workbooksAre",
    words="the workbooks are {paths}, and there is no other file",
    takes={"paths": names(PATH)},
    produces=NOTHING,
    example=Example({"paths": ["a.xlsx"]}, FULL, NONE),
)
def workbooks_are(context: Context, paths: Sequence[str]) -> ProbeResult:
    """There are files at these paths and at no others, whatever they hold; folders do not count."""
    actual = sorted(path for path, kind in open_paths(context).items() if kind != "directory")
    return ProbeResult(actual == sorted(paths), f"there are {listed(actual)}")


@predicate(
    "spreadsheet.sheetExists",
    words="the workbook {path} has a sheet {sheet}",
    takes=IN_SHEET,
    may_take={"hidden": FLAG},
    produces=NOTHING,
    example=Example({"path": "a.xlsx", "sheet": "Notes", "hidden": False}, FULL, BARE),
)
def sheet_exists(context: Context, path: str, sheet: str, *, hidden: bool | None = None) -> ProbeResult:
    """The workbook has a sheet of this name, hidden or not where that is asked for."""
    _, parsed = _sheet(context, path, sheet)
    return ProbeResult(hidden in {None, parsed.hidden}, f"{quoted(sheet)} is {'hidden' if parsed.hidden else 'shown'}")


@predicate(
    "spreadsheet.sheetsAre",
    words="the sheets of the workbook {path} are {sheets}, in this order",
    takes={"path": PATH, "sheets": names(NAME, least=1)},
    produces=NOTHING,
    example=Example({"path": "a.xlsx", "sheets": ["Stock", "Notes"]}, FULL, BARE),
)
def sheets_are(context: Context, path: str, sheets: Sequence[str]) -> ProbeResult:
    """The workbook has these sheets, in this order, and no others."""
    actual = list(open_book(context, path).sheets)
    return ProbeResult(actual == list(sheets), f"{quoted(path)} has the sheets {listed(actual)}")


@predicate(
    "spreadsheet.cellEquals",
    words="in the workbook {path}, the cell {cell} of the sheet {sheet} is {value}",
    takes={**IN_SHEET, "cell": CELL, "value": VALUE},
    may_take={"tolerance": TOLERANCE},
    produces=("value",),
    example=Example({"path": "a.xlsx", "sheet": "Stock", "cell": "B3", "value": 3.5}, FULL, BARE),
)
def cell_equals(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context, path: str, sheet: str, cell: str, value: Value, tolerance: Number = 0
) -> ProbeResult:
    """The cell has this value; null means that it is empty."""
    book, parsed = _sheet(context, path, sheet)
    place = _place(cell)
    return ProbeResult(
        _same(book.value(sheet, place), value, tolerance), f"{cell} has {_cell_text(book, parsed, place)}"
    )


@predicate(
    "spreadsheet.rangeEquals",
    words="in the workbook {path}, the area {area} of the sheet {sheet} is {rows}",
    takes={**IN_SHEET, "area": AREA, "rows": ROWS},
    may_take={"tolerance": TOLERANCE},
    produces=("rows",),
    example=Example(
        {"path": "a.xlsx", "sheet": "Stock", "area": "A2:B3", "rows": [["tea", 2], ["milk", 3.5]]}, FULL, BARE
    ),
)
def range_equals(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context, path: str, sheet: str, area: str, rows: Sequence[Sequence[Value]], tolerance: Number = 0
) -> ProbeResult:
    """The cells of the area have these values, row by row; null means that a cell is empty."""
    book, _ = _sheet(context, path, sheet)
    return _compared(context, book, sheet, list(_cells(area)), rows, tolerance)


@predicate(
    "spreadsheet.sheetEquals",
    words="in the workbook {path}, the sheet {sheet} holds {rows} and nothing else",
    takes={**IN_SHEET, "rows": ROWS},
    may_take={"tolerance": TOLERANCE},
    produces=NOTHING,  # most rows were there before, or are copied
    example=Example(
        {"path": "a.xlsx", "sheet": "Notes", "rows": [["done"]]}, FULL, partial(workbook, "a.xlsx", {"Notes": OTHER})
    ),
)
def sheet_equals(
    context: Context, path: str, sheet: str, rows: Sequence[Sequence[Value]], tolerance: Number = 0
) -> ProbeResult:
    """From A1 on the sheet's cells have these values, row by row, and every other cell is empty."""
    book, parsed = _sheet(context, path, sheet)
    context.budget.step(A_CELL * len(parsed.cells))
    height = max([len(rows), *(row for row, _ in parsed.cells)])
    width = max([*map(len, rows), *(column for _, column in parsed.cells)], default=0)
    if height * max(width, 1) > MAX_AREA:
        raise TargetMissing(f"{quoted(sheet)} spreads over more than {MAX_AREA} cells")
    padded = [[*row, *[None] * (width - len(row))] for row in [*rows, *[()] * (height - len(rows))]]
    places = [[(row, column) for column in range(1, width + 1)] for row in range(1, height + 1)]
    return _compared(context, book, sheet, places, padded, tolerance)


@predicate(
    "spreadsheet.formulaIs",
    words="in the workbook {path}, the cell {cell} of the sheet {sheet} has the formula {formula}",
    takes={**IN_SHEET, "cell": CELL, "formula": {"type": "string", "minLength": 1}},
    produces=("formula",),
    example=Example({"path": "a.xlsx", "sheet": "Stock", "cell": "B4", "formula": "=SUM(B2:B3)"}, FULL, BARE),
)
def formula_is(context: Context, path: str, sheet: str, cell: str, formula: str) -> ProbeResult:
    """The cell holds this formula."""
    book, parsed = _sheet(context, path, sheet)
    stored = parsed.cells.get(_place(cell))
    same = stored is not None and stored.formula is not None and same_formula(stored.formula, formula, context.budget)
    return ProbeResult(same, f"{cell} has {_cell_text(book, parsed, _place(cell))}")


@predicate(
    "spreadsheet.hasFormula",
    words="in the workbook {path}, the cell {cell} of the sheet {sheet} has a formula",
    takes={**IN_SHEET, "cell": CELL},
    produces=NOTHING,
    example=Example({"path": "a.xlsx", "sheet": "Stock", "cell": "B4"}, FULL, BARE),
)
def has_formula(context: Context, path: str, sheet: str, cell: str) -> ProbeResult:
    """The cell holds a formula and not just a value."""
    book, parsed = _sheet(context, path, sheet)
    stored = parsed.cells.get(_place(cell))
    return ProbeResult(
        stored is not None and stored.formula is not None, f"{cell} has {_cell_text(book, parsed, _place(cell))}"
    )


@predicate(
    "spreadsheet.rowCount",
    words="in the workbook {path}, the sheet {sheet} has {count} rows where {where}",
    takes={**IN_SHEET, "count": COUNT},
    may_take={"where": WHERE},
    produces=NOTHING,
    example=Example({"path": "a.xlsx", "sheet": "Stock", "count": 1, "where": {"item": "tea"}}, FULL, BARE),
)
def row_count(
    context: Context, path: str, sheet: str, count: int, where: Mapping[str, Value] | None = None
) -> ProbeResult:
    """Below the names of the columns there are this many rows that are not empty and have these values."""
    actual = sum(_fits(row, where or {}) for row in _rows(context, path, sheet, where or {}))
    return ProbeResult(actual == count, f"there are {actual}")


@predicate(
    "spreadsheet.rowExists",
    words="in the workbook {path}, the sheet {sheet} has a row where {where}",
    takes={**IN_SHEET, "where": {**WHERE, "minProperties": 1}},
    produces=("where",),
    example=Example({"path": "a.xlsx", "sheet": "Stock", "where": {"item": "milk", "n": 3.5}}, FULL, BARE),
)
def row_exists(context: Context, path: str, sheet: str, where: Mapping[str, Value]) -> ProbeResult:
    """Below the names of the columns there is a row that has these values."""
    rows = list(_rows(context, path, sheet, where))
    return ProbeResult(any(_fits(row, where) for row in rows), f"there are {len(rows)} rows: {quoted(rows)}")


@predicate(
    "spreadsheet.columnSum",
    words="in the workbook {path}, the column {column} of the sheet {sheet} sums up to {sum} where {where}",
    takes={**IN_SHEET, "column": TEXT, "sum": {"type": "number"}},
    may_take={"where": WHERE, "tolerance": TOLERANCE},
    produces=("sum",),
    example=Example(
        {"path": "a.xlsx", "sheet": "Stock", "column": "n", "sum": 2, "where": {"item": "tea"}}, FULL, BARE
    ),
)
def column_sum(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    path: str,
    sheet: str,
    column: str,
    sum: Number,  # noqa: A002
    where: Mapping[str, Value] | None = None,
    tolerance: Number = 0,
) -> ProbeResult:
    """The numbers of the column, in rows that have these values, sum up to this; what is no number does not count."""
    fitting = [row for row in _rows(context, path, sheet, {column: None, **(where or {})}) if _fits(row, where or {})]
    context.budget.step(A_SUMMAND * len(fitting))
    total = exact_sum(value for row in fitting if _is_number(value := _clear(row[column])))
    return ProbeResult(near(total, sum, tolerance), f"the sum over {len(fitting)} rows is {plain(total)}")


@predicate(
    "spreadsheet.namedRangeIs",
    words="in the workbook {path}, the name {name} refers to {refers_to}",
    takes={"path": PATH, "name": NAME, "refers_to": {"type": "string", "minLength": 1}},
    produces=NOTHING,  # an area, as the sheet has it
    example=Example({"path": "a.xlsx", "name": "total", "refers_to": "Stock!$B$4"}, FULL, BARE),
)
def named_range_is(context: Context, path: str, name: str, refers_to: str) -> ProbeResult:
    """The workbook has a name of this spelling, in any case, that refers to this; compared as formulas are."""
    names = open_book(context, path).workbook.names
    context.budget.step(2 * len(names) + sum(map(len, names)) // A_FOLD)
    ranges = {key.casefold(): refers for key, refers in names.items()}
    refers = ranges.get(name.casefold())
    observation = f"it refers to {quoted(refers)}" if refers is not None else f"the names are {listed(list(ranges))}"
    return ProbeResult(
        refers is not None and same_formula(refers.replace("'", ""), refers_to.replace("'", ""), context.budget),
        observation,
    )


@predicate(
    "spreadsheet.tableExists",
    words="in the workbook {path}, the sheet {sheet} has a table {name}",
    takes={**IN_SHEET, "name": NAME},
    may_take={"area": AREA, "columns": names(TEXT)},
    produces=NOTHING,
    example=Example({"path": "a.xlsx", "sheet": "Stock", "name": "Stock1", "area": "A1:C4"}, FULL, BARE),
)
def table_exists(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    path: str,
    sheet: str,
    name: str,
    area: str | None = None,
    columns: Sequence[str] | None = None,
) -> ProbeResult:
    """The sheet has a table of this name, in any case, and of this area and these columns where they are given."""
    _, parsed = _sheet(context, path, sheet)
    context.budget.step(sum(len(table.name) for table in parsed.tables) // A_FOLD)
    fits = any(
        table.name.casefold() == name.casefold()
        and area in {None, table.area}
        and (columns is None or tuple(columns) == table.columns)
        for table in parsed.tables
    )
    return ProbeResult(fits, f"the tables are {listed([f'{table.name} {table.area}' for table in parsed.tables])}")


@predicate(
    "spreadsheet.cellsMerged",
    words="in the workbook {path}, the cells {area} of the sheet {sheet} are merged",
    takes={**IN_SHEET, "area": AREA},
    produces=NOTHING,
    example=Example(
        {"path": "a.xlsx", "sheet": "Notes", "area": "A1:B1"},
        partial(workbook, "a.xlsx", {"Notes": [["x"]]}, merged="A1:B1"),
        FULL,
    ),
)
def cells_merged(context: Context, path: str, sheet: str, area: str) -> ProbeResult:
    """Just this area is merged into one cell."""
    _, parsed = _sheet(context, path, sheet)
    return ProbeResult(area in parsed.merged, f"merged are {listed(parsed.merged)}")


def _place(cell: str) -> Place:
    try:
        return place_of(cell)
    except ValueError:
        raise TargetMissing(f"no sheet has a cell {cell}") from None


def _cells(area: str) -> Iterator[list[Place]]:
    try:
        (top, left), (bottom, right) = area_of(area)
    except ValueError:
        raise TargetMissing(f"no sheet has an area {area}") from None
    if (bottom - top + 1) * (right - left + 1) > MAX_AREA:
        raise TargetMissing(f"the area {area} has more than {MAX_AREA} cells, which no task asks for")
    for row in range(top, bottom + 1):
        yield [(row, column) for column in range(left, right + 1)]


def _compared(  # noqa: PLR0917 - each is another part of what is compared
    context: Context,
    book: CalculatedWorkbook,
    sheet: str,
    area: Sequence[Sequence[Place]],
    rows: Sequence[Sequence[Value]],
    tolerance: Number,
) -> ProbeResult:
    """Compare rows of cells with rows of values."""
    shape = [len(row) for row in area]
    context.budget.step(A_COMPARISON * sum(shape))
    if shape != [len(row) for row in rows]:
        return ProbeResult(holds=False, found=f"the area has {len(shape)} rows of {max(shape, default=0)} cells")
    wrong = [
        f"{name_of(place)} has {quoted(book.value(sheet, place))}"
        for places, values in zip(area, rows, strict=True)
        for place, value in zip(places, values, strict=True)
        if not _same(book.value(sheet, place), value, tolerance)
    ]
    return ProbeResult(not wrong, listed(wrong) if wrong else "every cell is as it should be")


def _rows(
    context: Context, path: str, sheet: str, columns: Mapping[str, Value]
) -> Iterator[dict[str, Value | Unclear]]:
    """Yield the rows of a sheet as values by column name, as named in its first row."""
    book, parsed = _sheet(context, path, sheet)
    context.budget.step(A_CELL * len(parsed.cells))
    lines = sorted({row for row, _ in parsed.cells})
    if not lines:
        raise TargetMissing(f"{quoted(sheet)} is empty")
    heads = {place[1]: str(book.value(sheet, place)) for place in sorted(parsed.cells) if place[0] == lines[0]}
    if len(lines) * len(heads) > MAX_TABLE:
        raise CorruptState(f"{quoted(sheet)} spreads over more than {MAX_TABLE} cells")
    context.budget.step(A_CELL * len(lines) * (1 + len(heads)))
    for column in columns:
        if (times := list(heads.values()).count(column)) != 1:
            raise TargetMissing(
                f"{times} columns have the name {quoted(column)}; there are {listed(list(heads.values()))}"
            )
    for row in lines[1:]:
        values = {name: book.value(sheet, (row, column)) for column, name in heads.items()}
        if any(value is not None for value in values.values()):
            yield values


def _fits(row: Mapping[str, Value | Unclear], where: Mapping[str, Value]) -> bool:
    return all(_same(row[column], value) for column, value in where.items())


def _same(actual: Value | Unclear, value: Value, tolerance: Number = 0) -> bool:
    actual = _clear(actual)
    if tolerance and _is_number(actual) and _is_number(value):
        return near(actual, value, tolerance)
    return cell_equal(actual, value)


def _clear(value: Value | Unclear) -> Value:
    if isinstance(value, Unclear):
        raise CorruptState("a cell that counts has a formula that we cannot calculate")
    return value


def _is_number(value: Value) -> TypeGuard[int | float]:
    return is_number(value)


def _cell_text(book: CalculatedWorkbook, sheet: Sheet, place: Place) -> str:
    cell = sheet.cells.get(place)
    if cell is not None and cell.formula is not None:
        return f"the formula {quoted(cell.formula)}, which comes to {quoted(book.value(sheet.name, place))}"
    return quoted(book.value(sheet.name, place))
