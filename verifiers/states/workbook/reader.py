"""Reads an .xlsx file that somebody hostile may have made (ECMA-376, part 1) into plain values.

- The zip is capped: entries, bytes of a part and of all parts, and how far a part may swell. Only stored and deflated
  parts are read, nothing is written anywhere, and no link, image or macro in it is looked at.
- A part with a document type is refused, so no entity can be declared; nothing is followed but the workbook's own
  relations to its sheets, and theirs to their tables.
- A merged or named area is a text and is never expanded.

A cell's value is a text, a number, a boolean or nothing. A number that is formatted as a date is the text of that date
(`2026-01-05`, `2026-01-05T10:30:00`, or `10:30:00` where it is less than a day). A formula keeps its text; its value is
the one that the file remembers, and None where the file remembers none.
"""

from __future__ import annotations

import datetime
import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, XMLParser, fromstring

from verifiers.errors import Spoiled
from verifiers.states.workbook.model import Cell, Place, Sheet, Table, Value, Workbook, place_of

MAX_PARTS = 1000
MAX_PART = 8 << 20
MAX_BYTES = 24 << 20
MAX_SWELL = 200  # times; a sheet of one repeated row is near 100
MAX_CELLS = 100_000

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built-in formats (18.8.30)
_NUMBER = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_UNSHOWN = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_workbook(data: bytes) -> Workbook:
    """Read a file.

    Raises:
        Spoiled: it is no workbook that we read.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _Reader(archive).workbook()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise Spoiled(f"the workbook is no zip that we read ({type(error).__name__})") from None
    except (ParseError, KeyError, ValueError, OverflowError, IndexError) as error:
        raise Spoiled(f"the workbook is not written as one ({type(error).__name__})") from None


class _Reader:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        entries = archive.infolist()
        if len(entries) > MAX_PARTS or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise Spoiled(f"the workbook has more than {MAX_PARTS} parts or {MAX_BYTES} bytes")
        self.archive = archive
        self.parts = {entry.filename: entry for entry in entries}
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
        sheets = [
            self.sheet(related[entry.attrib[_LINK]][1], entry)
            for entry in root.iterfind(f"{_MAIN}sheets/{_MAIN}sheet")
            if related[entry.attrib[_LINK]][0] == "worksheet"
        ]
        names = {
            entry.attrib["name"]: (entry.text or "").strip()
            for entry in root.iterfind(f"{_MAIN}definedNames/{_MAIN}definedName")
            if "localSheetId" not in entry.attrib
        }
        return Workbook(tuple(sheets), names)

    def xml(self, path: str) -> Element:
        entry = self.parts[path]
        if entry.file_size > MAX_PART or entry.file_size > MAX_SWELL * max(entry.compress_size, 100):
            raise Spoiled(f"a part of the workbook is beyond {MAX_PART} bytes, or swells by more than {MAX_SWELL}")
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise Spoiled("a part of the workbook is packed in a way that no workbook is")
        data = self.archive.read(entry)
        if b"<!DOCTYPE" in data:
            raise Spoiled("a part of the workbook declares a document type")
        return fromstring(data, parser=XMLParser(encoding="utf-8"))  # noqa: S314 - without a DOCTYPE there are no entities

    def relations(self, path: str) -> dict[str, tuple[str, str]]:
        """Give what a part is related to inside of the file: id -> kind and path."""
        folder, name = posixpath.split(path)
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        if place not in self.parts:
            return {}
        return {
            entry.attrib["Id"]: (
                entry.attrib["Type"].rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, entry.attrib["Target"])).lstrip("/"),
            )
            for entry in self.xml(place)
            if entry.get("TargetMode") != "External"
        }

    def sheet(self, path: str, entry: Element) -> Sheet:
        root = self.xml(path)
        cells = dict(self.cells(root))
        tables = tuple(_table(self.xml(target)) for kind, target in self.relations(path).values() if kind == "table")
        merged = tuple(area.attrib["ref"] for area in root.iterfind(f"{_MAIN}mergeCells/{_MAIN}mergeCell"))
        hidden = entry.get("state", "visible") != "visible"
        return Sheet(entry.attrib["name"], cells, hidden, tables, merged)

    def cells(self, root: Element) -> Iterator[tuple[Place, Cell]]:
        row = 0
        for line in root.iterfind(f"{_MAIN}sheetData/{_MAIN}row"):
            row, column = int(line.get("r", row + 1)), 0
            for entry in line.iterfind(f"{_MAIN}c"):
                place = place_of(entry.attrib["r"]) if "r" in entry.attrib else (row, column + 1)
                column = place[1]
                self.cells_left -= 1
                if self.cells_left < 0:
                    raise Spoiled(f"the workbook has more than {MAX_CELLS} cells")
                cell = self.cell(entry)
                if cell.value is not None or cell.formula is not None:
                    yield place, cell

    def cell(self, entry: Element) -> Cell:
        formula = entry.find(f"{_MAIN}f")
        return Cell(self.value(entry), None if formula is None else (formula.text or "").strip())

    def value(self, entry: Element) -> Value:
        kind, inline = entry.get("t", "n"), entry.find(f"{_MAIN}is")
        if kind == "inlineStr":
            return None if inline is None else _text(inline)
        text = entry.findtext(f"{_MAIN}v")
        return None if text is None or (not text and kind != "str") else self.plain(kind, text, entry)

    def plain(self, kind: str, text: str, entry: Element) -> Value:
        match kind:
            case "s":
                return self.strings[int(text)]
            case "b":
                return text == "1"
            case "str" | "e" | "d":
                return _unescaped(text)
        number = _number(text)
        return self.date(number) if int(entry.get("s", "0")) in self.dates else number

    def date(self, number: float) -> str:
        epoch = datetime.datetime(1904, 1, 1) if self.early else datetime.datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet has no time zone
        moment = epoch + datetime.timedelta(seconds=round(number * 86400))
        if 0 <= number < 1:
            return moment.time().isoformat()
        return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat()


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(entry: Element) -> str:
    """Give the text of a string item, of all its runs, without what tells how to read it aloud."""
    runs = entry.findall(f"{_MAIN}r")
    parts = [part.text or "" for owner in (entry, *runs) for part in owner.findall(f"{_MAIN}t")]
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _dates(root: Element) -> Iterator[int]:
    """Give the numbers of the cell formats that show a date."""
    custom = {
        int(entry.attrib["numFmtId"]): entry.get("formatCode", "")
        for entry in root.iterfind(f"{_MAIN}numFmts/{_MAIN}numFmt")
    }
    for number, entry in enumerate(root.iterfind(f"{_MAIN}cellXfs/{_MAIN}xf")):
        shown = int(entry.get("numFmtId", "0"))
        code = _UNSHOWN.sub("", custom.get(shown, "")).lower()
        if shown in _DATES or (code != "general" and re.search("[dmyhs]", code)):
            yield number


def _table(root: Element) -> Table:
    columns = tuple(
        _unescaped(entry.attrib["name"]) for entry in root.iterfind(f"{_MAIN}tableColumns/{_MAIN}tableColumn")
    )
    return Table(
        root.get("displayName") or root.attrib["name"],
        root.attrib["ref"],
        columns,
    )
