"""Predicates over what is inside files and folders: patterns, numbers, tables, sizes and counts."""

from __future__ import annotations

import csv
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from verifiers.errors import TargetMissing
from verifiers.linear_regex import PATTERN, Automaton, compiled
from verifiers.predicates.context import Context
from verifiers.predicates.registry import (
    COUNT,
    FLAG,
    NOTHING,
    PATH,
    TEXT,
    Example,
    ProbeResult,
    names,
    predicate,
)
from verifiers.predicates.values import near
from verifiers.quoting import listed, plain, quoted
from verifiers.states.files.entries import open_files
from verifiers.states.files.examples import files
from verifiers.states.files.parts import AN_ENTRY, FOLDER, KIND, described, file_data, file_text, is_folder, is_of_kind
from verifiers.texts import lowered

NUMBER: Mapping[str, Any] = {"type": "number"}
TOLERANCE: Mapping[str, Any] = {"type": "number", "minimum": 0}
GLOB: Mapping[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "pattern": r"^[^/\[\]\u0000]+$",
    "description": "name with `*` and `?`",
}
CELL: Mapping[str, Any] = {"type": ["string", "number"]}
A_CELL, A_LINE, A_NUMBER = 2, 1, 4  # steps
LETTERS_OF_NUMBERS, A_CSV = 8, 16  # letters for a step, where numbers are looked for and where CSV is parsed

_NUMBERS = re.compile(r"(?<![\w.])[-+]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,13}|[0-9]{1,40})(?:\.[0-9]{1,40})?(?!\w|\.[0-9])")
_A_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,13}|[0-9]{1,40})(?:\.[0-9]{1,40})?", re.ASCII)


def number_of(text: str) -> Fraction | None:
    """Read a decimal number, whose thousands may be grouped by commas; None where the text is none."""
    stripped = text.strip()
    return Fraction(Decimal(stripped.replace(",", ""))) if _A_NUMBER.fullmatch(stripped) else None


def _text(context: Context, path: str) -> str:
    return file_text(context, path).removeprefix("\ufeff")


def _lines_of(context: Context, path: str) -> str:
    """Return a text in which each end of a line is one character, as Python reads it."""
    text = _text(context, path)
    context.budget.parse(len(text))
    return text.replace("\r\n", "\n").replace("\r", "\n")


@predicate(
    "filesystem.fileMatches",
    words="the file {path} matches the pattern {pattern}",
    takes={"path": PATH, "pattern": PATTERN},
    produces=NOTHING,  # a pattern is a condition, and not what somebody writes
    example=Example(
        {"path": "a", "pattern": r"(?m)^total: \d+$"},
        partial(files, {"a": "x\ntotal: 12\n"}),
        partial(files, {"a": "total: ?"}),
    ),
)
def file_matches(context: Context, path: str, pattern: str) -> ProbeResult:
    r"""The pattern matches somewhere in the file's text.

    The syntax is Python's without what needs backtracking: no lookaround, no references to groups, no possessive
    repeats. `(?i)`, `(?m)` and `(?s)` stand at the beginning; without `(?m)`, `^` and `$` are the ends of the text.
    """
    matches = Automaton(compiled(pattern), context.budget).search(_text(context, path))
    return ProbeResult(matches, f"{quoted(path)} {'has a match' if matches else 'has no match'}")


@predicate(
    "filesystem.fileNumber",
    words="the number {value} occurs in the file {path}",
    takes={"path": PATH, "value": NUMBER},
    may_take={"tolerance": TOLERANCE},
    produces=("value",),
    example=Example(
        {"path": "a", "value": 1234.5, "tolerance": 0.1},
        partial(files, {"a": "It costs $1,234.56 in all."}),
        partial(files, {"a": "It costs 1234567."}),
    ),
)
def file_number(context: Context, path: str, value: float, tolerance: float = 0) -> ProbeResult:
    """A number in the file's text is this one, within the tolerance; commas may group thousands."""
    text = _text(context, path)
    context.budget.step(1 + len(text) // LETTERS_OF_NUMBERS)
    matches = set(_NUMBERS.findall(text))
    context.budget.step(A_NUMBER * len(matches))
    numbers = {Fraction(Decimal(number.replace(",", ""))) for number in matches}
    right = any(near(number, value, tolerance) for number in numbers)
    return ProbeResult(right, f"{quoted(path)} has {len(numbers)} numbers: {listed([plain(n) for n in numbers])}")


@predicate(
    "filesystem.fileNumberLines",
    words="the lines of the file {path} are the numbers {values}",
    takes={"path": PATH, "values": {"type": "array", "items": NUMBER}},
    may_take={"tolerance": TOLERANCE, "any_order": FLAG},
    produces=("values",),
    example=Example(
        {"path": "a", "values": [3, 1.5]}, partial(files, {"a": "3\n\n1.50\n"}), partial(files, {"a": "3\n1.6\n"})
    ),
)
def file_number_lines(
    context: Context, path: str, values: Sequence[float], tolerance: float = 0, *, any_order: bool = False
) -> ProbeResult:
    """Each line that is not blank is one number, and they are these, within the tolerance."""
    text = _text(context, path)
    context.budget.step(A_LINE * (1 + text.count("\n")))
    lines = [line for line in text.split("\n") if line.strip()]
    context.budget.step(A_NUMBER * len(lines))
    numbers = [number_of(line) for line in lines]
    pairs = list(numbers), list(values)
    if any_order and len(numbers) == len(values):
        pairs = sorted(numbers, key=lambda number: (number is not None, number or 0)), sorted(values)
    same = len(numbers) == len(values) and all(
        number is not None and near(number, value, tolerance) for number, value in zip(*pairs, strict=True)
    )
    return ProbeResult(same, f"{quoted(path)} has {len(lines)} lines: {listed(lines)}")


@predicate(
    "filesystem.fileSize",
    words="the file {path} has a size as given",
    takes={"path": PATH},
    may_take={"at_least": COUNT, "at_most": COUNT},
    produces=NOTHING,
    example=Example(
        {"path": "a", "at_least": 2, "at_most": 3}, partial(files, {"a": "abc"}), partial(files, {"a": "abcd"})
    ),
)
def file_size(context: Context, path: str, at_least: int = 0, at_most: int | None = None) -> ProbeResult:
    """The file has no fewer and no more bytes than this."""
    size = len(file_data(context, path))
    return ProbeResult(at_least <= size and (at_most is None or size <= at_most), f"{quoted(path)} has {size} bytes")


@predicate(
    "filesystem.entryCount",
    words="the folder {path} holds {count} entries of the kind that is given",
    takes={"path": FOLDER, "count": COUNT},
    may_take={"glob": GLOB, "kind": KIND, "deep": FLAG, "at_least": FLAG, "ignore": names()},
    produces=NOTHING,
    example=Example(
        {"path": "out", "count": 2, "glob": "*.txt", "deep": True},
        partial(files, {"out/a.txt": "", "out/b/c.txt": "", "out/d.md": ""}),
        partial(files, {"out/a.txt": ""}),
    ),
)
def entry_count(
    context: Context,
    path: str,
    count: int,
    glob: str = "*",
    *,
    kind: str | None = None,
    deep: bool = False,
    at_least: bool = False,
    ignore: Sequence[str] = (),
) -> ProbeResult:
    """The number of files and folders in the folder whose names fit the glob and are not among those to `ignore`.

    With `kind`, only files or only folders count; with `deep`, those in its folders too; with `at_least`, there may be
    more. In a glob, `*` stands for any characters and `?` for one.
    """
    tree = open_files(context)
    context.budget.step(AN_ENTRY * len(tree))
    if not is_folder(tree, path):
        raise TargetMissing(described(tree, path))
    form = "(?s)^" + "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in glob) + "$"
    fits = Automaton(compiled(form), context.budget)
    inside = tree if path == "." else tree.below(path)
    every = sorted(inside) if deep else inside.children("")
    matching = [
        other
        for other in every
        if (name := posixpath.basename(other)) not in ignore and is_of_kind(inside, other, kind) and fits.search(name)
    ]
    right = len(matching) >= count if at_least else len(matching) == count
    return ProbeResult(right, f"{quoted(path)} holds {len(matching)} of these: {listed(matching)}")


@predicate(
    "filesystem.fileSameAs",
    words="the files {path} and {same_as} hold the same",
    takes={"path": PATH, "same_as": PATH},
    produces=NOTHING,
    example=Example(
        {"path": "copy/a", "same_as": "a"},
        partial(files, {"a": "hi", "copy/a": "hi"}),
        partial(files, {"a": "hi", "copy/a": "ho"}),
    ),
)
def file_same_as(context: Context, path: str, same_as: str) -> ProbeResult:
    """Both files are there at the end, with the same bytes."""
    data, other = file_data(context, path), file_data(context, same_as)
    return ProbeResult(data == other, f"{quoted(path)} has {len(data)} bytes, {quoted(same_as)} has {len(other)}")


@predicate(
    "filesystem.fileLinesDiffer",
    words="no line of the file {path} is there twice",
    takes={"path": PATH},
    may_take={"ignore_case": FLAG},
    produces=NOTHING,
    example=Example({"path": "a"}, partial(files, {"a": "x\n\n y\n\n"}), partial(files, {"a": "x\ny\n x\n"})),
)
def file_lines_differ(context: Context, path: str, *, ignore_case: bool = False) -> ProbeResult:
    """The file is there at the end, and its lines are different, without blank ones and white space at their ends."""
    text = _lines_of(context, path)
    context.budget.step(A_LINE * (1 + text.count("\n")))
    lines = [line.strip() for line in (lowered(text, context.budget) if ignore_case else text).split("\n")]
    lines = [line for line in lines if line]
    return ProbeResult(len(lines) == len(set(lines)), f"{quoted(path)} has {len(lines) - len(set(lines))} lines again")


@predicate(
    "filesystem.fileJoins",
    words="the file {path} holds the texts of {parts}, one after the other",
    takes={"path": PATH, "parts": {"type": "array", "items": PATH, "minItems": 1, "description": "list of paths"}},
    produces=NOTHING,
    example=Example(
        {"path": "all", "parts": ["a", "b"]},
        partial(files, {"all": "hi\nho\n", "a": "hi\n", "b": "ho\n"}),
        partial(files, {"all": "hi\nho\n", "a": "hi\n", "b": "ho"}),
    ),
)
def file_joins(context: Context, path: str, parts: Sequence[str]) -> ProbeResult:
    """All files are there at the end, and the first one's text is that of the others in this order."""
    whole, joined = _lines_of(context, path), "".join(_lines_of(context, part) for part in parts)
    return ProbeResult(whole == joined, f"{quoted(path)} has {len(whole)} characters, its parts {len(joined)}")


@predicate(
    "filesystem.sameLength",
    words="the files {paths} have the same number of characters",
    takes={"paths": names(PATH, least=1)},
    may_take={"tolerance": COUNT},
    produces=NOTHING,
    example=Example(
        {"paths": ["a", "b"]}, partial(files, {"a": "äb", "b": "cd"}), partial(files, {"a": "ab", "b": "abc"})
    ),
)
def same_length(context: Context, paths: Sequence[str], tolerance: int = 0) -> ProbeResult:
    """All files are there at the end, and no text has more characters than the shortest one and the tolerance."""
    lengths = {len(_lines_of(context, path)) for path in paths}
    return ProbeResult(max(lengths) - min(lengths) <= tolerance, f"they have {listed(sorted(lengths))} characters")


@predicate(
    "filesystem.fileCsvRows",
    words="the CSV file {path} has the rows {rows}",
    takes={"path": PATH, "rows": {"type": "array", "items": {"type": "array", "items": CELL}}},
    may_take={
        "columns": names(TEXT, least=1),
        "extra_rows": FLAG,
        "any_order": FLAG,
        "tolerance": TOLERANCE,
        "ignore_case": FLAG,
        "separator": {"type": "string", "enum": [",", ";", "\t", "|"]},
    },
    produces=("rows",),
    example=Example(
        {"path": "a.csv", "columns": ["name", "sum"], "rows": [["Ada", 3], ["Bob", "x"]], "any_order": True},
        partial(files, {"a.csv": "id,name,sum\n1,Bob,x\n2,Ada,3.0\n"}),
        partial(files, {"a.csv": "name,sum\nAda,3\n"}),
    ),
)
def file_csv_rows(
    context: Context,
    path: str,
    rows: Sequence[Sequence[str | float]],
    columns: Sequence[str] = (),
    *,
    extra_rows: bool = False,
    any_order: bool = False,
    tolerance: float = 0,
    ignore_case: bool = False,
    separator: str = ",",
) -> ProbeResult:
    """The file is CSV with these rows. A text is compared without white space at its ends, a number by its value.

    With `columns`, the first row is a header, and only these columns count, in this order; without, every row and every
    cell does. With `extra_rows`, there may be others between them; with `any_order`, the order does not count.
    """
    table = _table(context, path, columns, separator)
    fold: Callable[[str], str] = (lambda text: lowered(text, context.budget)) if ignore_case else str
    actual = [[fold(cell).strip() for cell in row] for row in table]
    wanted = [[_folded_value(cell, ignore_case) for cell in row] for row in rows]
    context.budget.step(A_CELL * (1 + len(wanted)) * sum(map(len, actual)) if any_order or extra_rows else len(actual))

    def same(row: Sequence[str], expected: Sequence[str | float]) -> bool:
        return len(row) == len(expected) and all(
            _cell_fits(cell, value, tolerance) for cell, value in zip(row, expected, strict=True)
        )

    left, at, right = list(actual), 0, True
    for expected in wanted:
        place = next((i for i in range(at, len(left)) if same(left[i], expected)), None)
        if place is None or (place > at and not any_order and not extra_rows):
            right = False
            break
        del left[place]
        at = 0 if any_order else place
    return ProbeResult(
        right and (extra_rows or not left),
        f"{quoted(path)} has {len(actual)} rows: {listed([','.join(row) for row in table])}",
    )


def _table(context: Context, path: str, columns: Sequence[str], separator: str) -> list[list[str]]:
    text = _text(context, path)
    context.budget.step(A_CELL * (1 + text.count(separator) + text.count("\n")))
    try:
        lines = text.splitlines(keepends=True)  # at more than line feeds
        context.budget.step(A_CELL * len(lines) + len(text) // A_CSV)
        table = [row for row in csv.reader(lines, delimiter=separator, strict=True) if row]
    except csv.Error:
        raise TargetMissing(f"{quoted(path)} is not CSV") from None
    if not columns:
        return table
    header = [name.strip() for name in table[0]] if table else []
    if missing := [name for name in columns if name not in header]:
        raise TargetMissing(f"{quoted(path)} lacks the columns {listed(missing)}; it has {listed(header)}")
    places = [header.index(name) for name in columns]
    return [[row[place] if place < len(row) else "" for place in places] for row in table[1:]]


def _folded_value(value: str | float, ignore_case: bool) -> str | float:  # noqa: FBT001 - a flag of the document
    if isinstance(value, str):
        return value.strip().lower() if ignore_case else value.strip()
    return value


def _cell_fits(cell: str, value: str | float, tolerance: float) -> bool:
    if isinstance(value, str):
        return cell == value
    number = number_of(cell)
    return number is not None and near(number, value, tolerance)
