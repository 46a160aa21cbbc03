"""Reader of hostile .xlsx files (ECMA-376, part 1) into plain values.

- The zip is capped: entries, bytes of a part and of all parts, and how far a part may swell. Only stored and deflated
  parts are read, nothing is written anywhere, and no link, image or macro in it is looked at.
- A part with a document type is refused, so no entity can be declared; nothing is followed but the workbook's own
  relations to its sheets, and theirs to their tables.
- Each part is unpacked and parsed once; two sheets that are one part are refused. Elements, attributes, names of
  namespaces, cells, texts and formulas are capped or counted.
- A merged or named area is a text and is never expanded.

A cell's value is a text, a number, a boolean or nothing. A number that is formatted as a date is the text of that date
(`2026-01-05`, `2026-01-05T10:30:00`, or `10:30:00` where it is less than a day). A formula keeps its text; its value is
the one that the file remembers, or what it is calculated to be where the file remembers none.
"""

from __future__ import annotations

import codecs
import datetime
import io
import math
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree.ElementTree import Element, ParseError, XMLParser, fromstring

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.workbook.appearance import list_appearance
from verifiers.states.workbook.book import Unclear
from verifiers.states.workbook.formula import Calculator
from verifiers.states.workbook.model import (
    COLUMNS,
    EPOCH,
    ROWS,
    DateText,
    Place,
    SharedFormula,
    Sheet,
    Value,
    Workbook,
    WorkbookCell,
    WorkbookTable,
    area_of,
    place_of,
)
from verifiers.states.workbook.operands import MAX_TEXT
from verifiers.tree import FileTree

MAX_PARTS = 1000
MAX_PART = 8 << 20
MAX_BYTES = 24 << 20
MAX_SWELL = 200  # times; a sheet of one repeated row is near 100
MAX_CELLS = 100_000
MAX_SHEETS = 200
MAX_FORMULA = 8192  # characters, in any spreadsheet
MAX_FORMAT = 255  # characters of a number's format, in any spreadsheet
MAX_ROOT = 8192  # bytes in which a part's first element declares its namespaces
MAX_NAMESPACE = 256  # bytes of a namespace's name, which is copied into the name of each element
AN_ELEMENT, A_ROW, A_CELL = 2, 2, 4  # steps
A_FILE = 60  # steps
A_FORMULA = 8  # times what it costs to write a shared formula down is what it costs to take it apart
PIECES = 8
"""Pieces of a text for a step: the parser hands over each line and each entity on its own."""

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built-in formats (18.8.30)
_NUMBER = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_UNSHOWN = re.compile(r'"[^"]*"|[\\_*].|\[[^\]]*\]')
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DECLARES = re.compile(
    rb"""xmlns(?::[^\s=<>"']{1,64})?\s{0,16}=\s{0,16}(?:"[^"]{0,%d}"|'[^']{0,%d}')""" % (MAX_NAMESPACE, MAX_NAMESPACE)
)
_ROOT = re.compile(rb".*?<[A-Za-z_][^>]*>", re.DOTALL)
_STRICT = re.compile(
    rb"""(xmlns(?::[^\s=<>"']{1,64})?\s{0,16}=\s{0,16}["'])(http://purl\.oclc\.org/ooxml/[A-Za-z]{1,20}/[a-z]{1,20})(?=["'])"""
)
_OF_STRICT = {
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": _MAIN[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": _LINK[1:].partition("}")[0].encode(),
}
"""The namespaces of a strict workbook (ISO/IEC 29500), and what they are called in all others."""
_GOES_ON = {bytes([letter]) for letter in b":= \t\r\n"}

codecs.lookup("cp437")  # in which a zip names its parts; now, because reading opens no file


def read_workbooks(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every file as a workbook, and calculate its formulas.

    Raises:
        CorruptState: there is more than the budget allows; a file that is no workbook says so in its own place.
    """
    books: dict[str, Any] = {}
    for path, node in tree.items():
        budget.step(1 if node.kind != "file" else A_FILE)
        if node.kind == "file":
            try:
                books[path] = _book(read_workbook(node.data, budget), budget)
            except CorruptWorkbook as error:
                books[path] = {"spoiled": str(error)}
    return NormalState({"paths": [[path, node.kind] for path, node in tree.items()], "books": books})


def _book(workbook: Workbook, budget: ReadingBudget) -> dict[str, Any]:
    """Return the normal form of a workbook (`verifiers.states.workbook.book`)."""
    calculator = Calculator(workbook, budget)
    sheets = []
    for sheet in workbook.sheets:
        cells: list[list[Any]] = []
        for place, cell in sheet.cells.items():
            budget.step()
            value = cell.value if cell.formula is None else calculator.value(sheet.name, place)
            is_clear = not isinstance(value, Unclear)
            formula = [] if cell.formula is None else [cell.formula, is_clear]
            cells.append([*place, _plain(value) if is_clear else None, *formula])
        tables = [[table.name, table.area, list(table.columns)] for table in sheet.tables]
        plain = [(place, cell.value) for place, cell in sheet.cells.items() if cell.formula is None]
        dates = [list(place) for place, value in plain if isinstance(value, DateText)]
        made = {"name": sheet.name, "hidden": sheet.hidden, "tables": tables, "merged": list(sheet.merged)}
        sheets.append({**made, "cells": cells, "dates": dates})
    return {
        "sheets": sheets,
        "names": dict(workbook.names),
        "appearance": [list(entry) for entry in workbook.appearance],
    }


def _plain(value: Value | Unclear) -> Any:
    return str(value) if isinstance(value, DateText) else value


class CorruptWorkbook(CorruptState):
    """This file is not a readable workbook; others may be."""


def read_workbook(data: bytes, budget: ReadingBudget | None = None) -> Workbook:
    """Read one workbook file.

    Raises:
        CorruptState: it is not a workbook that this reader supports.
        CorruptState: it costs more than the budget has.
    """
    if data.count(b"PK\x01\x02") > 2 * MAX_PARTS:  # each entry of a zip begins so, and zipfile reads them all
        raise CorruptWorkbook(f"the workbook has more than {MAX_PARTS} parts or {MAX_BYTES} bytes")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _Reader(archive, budget or ReadingBudget()).workbook()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise CorruptWorkbook(f"the workbook is no zip that we read ({type(error).__name__})") from None
    except (ParseError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise CorruptWorkbook(f"the workbook is not written as one ({type(error).__name__})") from None


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, budget: ReadingBudget) -> None:
        entries = archive.infolist()
        if len(entries) > MAX_PARTS or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise CorruptWorkbook(f"the workbook has more than {MAX_PARTS} parts or {MAX_BYTES} bytes")
        if len({_fold_path(entry.filename) for entry in entries}) < len(entries):
            raise CorruptWorkbook("two parts of the workbook have one name")
        budget.step(len(entries) * A_FILE)
        self.archive, self.budget = archive, budget
        self.parts = {_fold_path(entry.filename): entry for entry in entries}
        self.parsed: dict[str, Element] = {}
        self.tables: dict[str, WorkbookTable] = {}
        self.sheet_parts: set[str] = set()
        self.cells_left = MAX_CELLS
        self.early = False  # the workbook counts days from 1904
        self.dates: frozenset[int] = frozenset()
        self.strings: tuple[str, ...] = ()

    def workbook(self) -> Workbook:
        ((_, main),) = [link for link in self.relations("").values() if link[0] == "officeDocument"]
        root, related = self.xml(main), self.relations(main)
        for kind, target in related.values():
            if kind == "styles":
                self.dates = frozenset(_dates(self.xml(target)))
            if kind == "sharedStrings":
                self.strings = tuple(map(_text, self.xml(target).iterfind(f"{_MAIN}si")))
        settings = root.find(f"{_MAIN}workbookPr")
        self.early = settings is not None and settings.get("date1904") in {"1", "true"}
        entries = root.findall(f"{_MAIN}sheets/{_MAIN}sheet")
        if len(entries) > MAX_SHEETS:
            raise CorruptWorkbook(f"the workbook has more than {MAX_SHEETS} sheets")
        sheets = [
            self.sheet(related[entry.attrib[_LINK]][1], entry)
            for entry in entries
            if related[entry.attrib[_LINK]][0] == "worksheet"
        ]
        names, local_names = {}, {}
        for entry in root.iterfind(f"{_MAIN}definedNames/{_MAIN}definedName"):
            name, refers = entry.attrib["name"], (entry.text or "").strip()
            if sheet := entry.get("localSheetId"):
                local_names[entries[int(sheet)].attrib["name"], name] = refers
            else:
                names[name] = refers
        parts = {
            entry.filename: partial(self.unpacked, path)
            for path, entry in self.parts.items()
            if path not in self.parsed or path.startswith("docprops/")
        }
        places = {entry.attrib["name"]: related[entry.attrib[_LINK]] for entry in entries}
        appearance = list_appearance(
            root,
            {name: self.xml(path) for name, (kind, path) in places.items() if kind == "worksheet"},
            next((self.xml(target) for kind, target in related.values() if kind == "styles"), None),
            parts,
        )
        return Workbook(tuple(sheets), names, tuple(self.counted(appearance)), local_names, self.early)

    def counted(self, appearance: Iterator[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
        """Charge the budget for what there is beside values."""
        for sheet, place, text in appearance:
            self.budget.step(A_CELL)
            self.budget.keep(len(sheet) + len(place) + len(text))
            yield sheet, place, text

    def xml(self, path: str) -> Element:
        """Unpack and parse a part, once."""
        if path not in self.parsed:
            self.parsed[path] = self.parse(self.unpacked(path))
        return self.parsed[path]

    def unpacked(self, path: str) -> bytes:
        entry = self.parts[path]
        if entry.file_size > MAX_PART or entry.file_size > MAX_SWELL * max(entry.compress_size, 100):
            raise CorruptWorkbook(
                f"a part of the workbook is beyond {MAX_PART} bytes, or swells by more than {MAX_SWELL}"
            )
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise CorruptWorkbook("a part of the workbook is packed in a way that no workbook is")
        self.budget.keep(entry.file_size)
        return self.archive.read(entry)

    def parse(self, data: bytes) -> Element:
        if b"<!DOCTYPE" in data:
            raise CorruptWorkbook("a part of the workbook declares a document type")
        self.budget.parse(len(data))
        self.budget.step(
            AN_ELEMENT * (data.count(b"<") + data.count(b"=")) + (data.count(b"\n") + data.count(b"&")) // 8
        )
        _must_have_short_namespaces(data, self.budget)
        root = _ROOT.match(data[:MAX_ROOT])
        start = b"" if root is None else _STRICT.sub(_transitional, root[0])
        return fromstring(start + data[len(root[0]) if root else 0 :], parser=XMLParser(encoding="utf-8"))  # noqa: S314 - without a DOCTYPE there are no entities

    def relations(self, path: str) -> dict[str, tuple[str, str]]:
        """Return what a part is related to inside of the file: id -> kind and path."""
        folder, name = posixpath.split(path)
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        if place not in self.parts:
            return {}
        return {
            entry.attrib["Id"]: (entry.attrib["Type"].rpartition("/")[2], self.target(folder, entry.attrib["Target"]))
            for entry in self.xml(place)
            if entry.get("TargetMode") != "External"
        }

    def target(self, folder: str, target: str) -> str:
        """Return the part that a target names, from a folder on; some programs leave out the slash of a whole path."""
        from_folder = _fold_path(posixpath.normpath(posixpath.join("/", folder, unquote_to_bytes(target).decode())))
        from_root = _fold_path(posixpath.normpath(posixpath.join("/", unquote_to_bytes(target).decode())))
        return from_root if from_folder not in self.parts and from_root in self.parts else from_folder

    def sheet(self, path: str, entry: Element) -> Sheet:
        if path in self.sheet_parts:
            raise CorruptWorkbook("two sheets of the workbook are one part")
        self.sheet_parts.add(path)
        root = self.xml(path)
        cells = dict(self.cells(root))
        for cell in [cell for cell in cells.values() if ":" in cell.array]:
            (top, left), (bottom, right) = area_of(cell.array)
            for row in range(top, bottom + 1):
                for column in range(left, right + 1):  # a file may leave these out, although they have a value
                    self.count_cell()
                    cells.setdefault((row, column), WorkbookCell(None, cell.formula, array=cell.array))
        targets = [target for kind, target in self.relations(path).values() if kind == "table"]
        tables = tuple(map(self.table, targets))
        merged = tuple(area.attrib["ref"] for area in root.iterfind(f"{_MAIN}mergeCells/{_MAIN}mergeCell"))
        hidden = (entry.get("state") or "visible") != "visible"
        hides_rows = any(row.get("hidden") in {"1", "true"} for row in root.iterfind(f"{_MAIN}sheetData/{_MAIN}row"))
        return Sheet(entry.attrib["name"], cells, hidden, tables, merged, hides_rows)

    def table(self, path: str) -> WorkbookTable:
        self.budget.step(A_FILE)
        if path not in self.tables:
            self.tables[path] = _table(self.xml(path))
        self.budget.step(len(self.tables[path].columns))
        return self.tables[path]

    def cells(self, root: Element) -> Iterator[tuple[Place, WorkbookCell]]:
        row = 0
        shared: dict[str, SharedFormula] = {}
        for line in root.iterfind(f"{_MAIN}sheetData/{_MAIN}row"):
            self.budget.step(A_ROW + A_CELL * len(line))
            row, column = int(line.get("r") or row + 1), 0
            for entry in line.iterfind(f"{_MAIN}c"):
                place = place_of(entry.attrib["r"]) if entry.get("r") else (row, column + 1)
                column = place[1]
                if not (0 < place[0] <= ROWS and column <= COLUMNS):
                    raise ValueError
                self.count_cell()
                cell = self.cell(entry, place, shared)
                if cell.value is not None or cell.formula is not None:
                    yield place, cell

    def count_cell(self) -> None:
        self.budget.step()
        self.cells_left -= 1
        if self.cells_left < 0:
            raise CorruptWorkbook(f"the workbook has more than {MAX_CELLS} cells")

    def cell(self, entry: Element, place: Place, shared: dict[str, SharedFormula]) -> WorkbookCell:
        formula = entry.find(f"{_MAIN}f")
        value, text = self.value(entry), None if formula is None else (formula.text or "").strip()
        if formula is not None and formula.get("t") == "shared":
            text = self.shared_formula(formula, text or "", place, shared)
        if (isinstance(value, str) and len(value) > MAX_TEXT) or (text is not None and len(text) > MAX_FORMULA):
            raise CorruptWorkbook(
                f"a cell of the workbook has a text of more than {MAX_TEXT} letters, or such a formula"
            )
        array = "" if formula is None or formula.get("t") not in {"array", "dataTable"} else formula.get("ref", "")
        return WorkbookCell(value, text, is_date=self.is_date(entry), array=array)

    def shared_formula(self, formula: Element, text: str, place: Place, shared: dict[str, SharedFormula]) -> str:
        """Return the formula of a cell that shares that of another one, moved to where it stands."""
        number = formula.attrib["si"]
        if text:
            shared[number] = SharedFormula(text[:MAX_FORMULA], place)
            self.budget.step(A_FORMULA * shared[number].cost)
            return text
        first = shared[number]
        self.budget.step(first.cost)
        self.budget.keep(len(first.text))
        return first.at(place)

    def is_date(self, entry: Element) -> bool:
        return int(entry.get("s") or 0) in self.dates

    def value(self, entry: Element) -> Value:
        kind, inline = entry.get("t") or "n", entry.find(f"{_MAIN}is")
        if kind == "inlineStr":
            return None if inline is None else _text(inline)
        text = entry.findtext(f"{_MAIN}v")
        return None if text is None or (not text and kind != "str") else self.plain(kind, text, entry)

    def plain(self, kind: str, text: str, entry: Element) -> Value:
        match kind:
            case "s":
                return self.strings[int(text)]
            case "b":
                return text.strip() in {"1", "true"}
            case "str" | "e":
                return _unescaped(text)
            case "d":
                return _date_of(text)
        number = _number(text)
        return DateText.of(number, early=self.early) if self.is_date(entry) else number


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _date_of(text: str) -> Value:
    """Return the date that a strict workbook writes as such (ISO 8601), or the text that it is no date of."""
    moment = datetime.datetime.fromisoformat(text.removesuffix("Z"))
    return DateText.of((moment - EPOCH) / datetime.timedelta(days=1))


def _text(entry: Element) -> str:
    """Return the text of a string item with all its runs, without phonetic hints."""
    runs = entry.findall(f"{_MAIN}r")
    parts = [part.text or "" for owner in (entry, *runs) for part in owner.findall(f"{_MAIN}t")]
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _must_have_short_namespaces(data: bytes, budget: ReadingBudget) -> None:
    """Refuse a part with long namespace names: the parser copies them for every element."""
    at = data.find(b"xmlns")
    while at >= 0:
        budget.step()
        declared = _DECLARES.match(data, at)
        if declared is None and data[at + 5 : at + 6] in _GOES_ON:
            raise CorruptWorkbook("a part of the workbook names a namespace in a way that no workbook does")
        at = data.find(b"xmlns", at + 5)


def _fold_path(path: str) -> str:
    """Return the path of a part in one spelling: their names are the same in any case (ECMA-376, part 2)."""
    return path.replace("\\", "/").lstrip("/").lower()


def _transitional(match: re.Match[bytes]) -> bytes:
    return match[1] + _OF_STRICT.get(match[2], match[2])


def _dates(root: Element) -> Iterator[int]:
    """Yield the numbers of the cell formats that display dates."""
    date_formats = set(_DATES)
    for entry in root.iterfind(f"{_MAIN}numFmts/{_MAIN}numFmt"):
        code = entry.get("formatCode", "")
        if len(code) > MAX_FORMAT:
            raise ValueError(code[:MAX_FORMAT])
        code = _UNSHOWN.sub("", code).lower()
        if code != "general" and re.search("[dmyhs]", code):
            date_formats.add(int(entry.get("numFmtId") or 0))
    for number, entry in enumerate(root.iterfind(f"{_MAIN}cellXfs/{_MAIN}xf")):
        if int(entry.get("numFmtId") or 0) in date_formats:
            yield number


def _table(root: Element) -> WorkbookTable:
    columns = tuple(
        _unescaped(entry.attrib["name"]) for entry in root.iterfind(f"{_MAIN}tableColumns/{_MAIN}tableColumn")
    )
    return WorkbookTable(
        root.get("displayName") or root.attrib["name"],
        root.attrib["ref"],
        columns,
    )
