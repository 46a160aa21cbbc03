"""What a workbook has beside its cells' values: formats, widths, notes, charts, rules, protection, properties.

It is listed as texts by place, to be compared and not to be understood. What a program writes into each file that it
saves, such as the place of the cursor, is left out, and so is the format of a date, which its value shows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
# What the reader reads elsewhere, and what says nothing about the sheet.
_READ = {"sheetData", "mergeCells", "tableParts", "dimension", "sheetFormatPr"}
_BOOK_READ = {"sheets", "definedNames", "bookViews", "workbookPr", "fileVersion"}
_PARTS = re.compile(
    r"\[Content_Types\]\.xml|(.*/)?_rels/.*|docProps/.*|xl/(workbook|styles|sharedStrings|calcChain|theme/.*"
    r"|(worksheets|tables)/[^/]*)(\.xml)?",
    re.IGNORECASE,
)
_PROPERTIES = re.compile(rb"<(?:\w+:)?(title|subject|creator|keywords|Company)>([^<]*)</")
_IGNORED = {"r", "spans", "workbookViewId", "tabSelected", "calcId", "fullCalcOnLoad", "ht"}
# As programs write it where nobody asked for anything else.
_USUAL = {
    ("summaryBelow", "1"), ("summaryRight", "1"), ("calcMode", "auto"), ("locked", "1"), ("hidden", "0"),
    ("horizontal", "general"), ("vertical", "bottom"), ("patternType", "none"), ("val", "none"),
    ("zoomScale", "100"), ("zoomScaleNormal", "100"), ("showGridLines", "1"), ("showRowColHeaders", "1"),
    ("showFormulas", "0"), ("rightToLeft", "0"), ("orientation", "portrait"), ("scale", "100"), ("iterate", "0"),
    ("fitToPage", "0"), ("gridLines", "0"), ("horizontalCentered", "0"), ("verticalCentered", "0"),
}  # fmt: skip
_MARGINS = {"left": "0.75", "right": "0.75", "top": "1", "bottom": "1", "header": "0.5", "footer": "0.5"}
_NEUTRAL = {"family", "scheme", "charset"}
_TIME = "hh:mm:ss"
_DATE = {"yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", _TIME, "yyyy-mm-dd h:mm:ss"}
DIGITS_OF_A_DAY = 4
"""Digits of the number of a day since 1902."""
_OFF = {"0", "false"}
_OWN_WIDTHS = {"10.42578125", "18.28515625", "13"}
"""Widths that the spreadsheet server gives a column by itself: with a date, with a date and a time, and shown again."""


def list_appearance(
    book: Element, sheets: Mapping[str, Element], styles: Element | None, parts: Mapping[str, Callable[[], bytes]]
) -> Iterator[tuple[str, str, str]]:
    """List what there is beside values: the name of its sheet, or nothing, its place and its text.

    Args:
        book: the workbook's own part.
        sheets: the part of each worksheet by its name.
        styles: the part with the formats.
        parts: what unpacks each part of the file, by its path.
    """
    yield from (("", *entry) for entry in _of_book(book))
    formats = [] if styles is None else list(_formats(styles))
    for name, sheet in sheets.items():
        yield from ((name, *entry) for entry in _of_sheet(name, sheet, formats))
    for path, unpack in parts.items():
        if not _PARTS.fullmatch(path):
            yield "", f"part {path}", hashlib.sha256(unpack()).hexdigest()
        elif path.lower() in {"docprops/core.xml", "docprops/app.xml"}:
            for what, value in _PROPERTIES.findall(unpack()):
                if value not in {b"", b"openpyxl"}:
                    yield "", f"property {what.decode()}", value.decode("utf-8", "replace")


def _of_book(book: Element) -> Iterator[tuple[str, str]]:
    for child in book:
        if _name(child) not in _BOOK_READ and (text := _written(child)):
            yield _name(child), text
    if any(entry.get("date1904") in {"1", "true"} for entry in book.iterfind(f"{MAIN}workbookPr")):
        yield "days", "from 1904"
    for entry in book.iterfind(f"{MAIN}definedNames/{MAIN}definedName"):
        if "localSheetId" in entry.attrib:
            yield f"name {entry.get('name', '')} of sheet {entry.get('localSheetId')}", (entry.text or "").strip()


def _of_sheet(name: str, sheet: Element, formats: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    for child in sheet:
        if _name(child) == "cols":
            for place, entry in enumerate(child, 1):
                if entry.get("width") not in _OWN_WIDTHS or {*entry.attrib} - {"width", "customWidth", "min", "max"}:
                    yield f"column {place} of {name}", _attributes(entry.attrib)
        elif _name(child) not in _READ and child.attrib != _MARGINS and (text := _written(child)):
            yield f"{_name(child)} of {name}", text
    for row in sheet.iterfind(f"{MAIN}sheetData/{MAIN}row"):
        height = row.get("ht", "") if "customHeight" in row.attrib else ""
        if text := _attributes({**row.attrib, "s": "", "height": height}):
            yield f"row {row.get('r')} of {name}", text
        for cell in row.iterfind(f"{MAIN}c[@s]"):
            number = int(cell.attrib["s"] or 0)
            text, is_time = formats[number] if number < len(formats) else ("", False)
            if is_time and _is_a_day(cell):
                text += f"number {_TIME}"
            if text:
                yield f"format of {name}!{cell.get('r')}", text


def _is_a_day(cell: Element) -> bool:
    """Say whether a cell has a date, which a time's format would hide; a sum of times may be more than a day."""
    number = cell.findtext(f"{MAIN}v") or ""
    is_plain = cell.get("t", "n") == "n" and cell.find(f"{MAIN}f") is None
    return is_plain and len(number.partition(".")[0]) >= DIGITS_OF_A_DAY


def _formats(styles: Element) -> Iterator[tuple[str, bool]]:
    """List what is unusual about each cell format, the first being the usual one, and whether it shows times."""
    codes = {entry.get("numFmtId"): entry.get("formatCode", "") for entry in styles.iterfind(f"{MAIN}numFmts/*")}
    tables = {what: styles.findall(f"{MAIN}{what}s/*") for what in ("font", "fill", "border")}
    usual: dict[str, set[str]] = {}
    for entry in styles.iterfind(f"{MAIN}cellXfs/{MAIN}xf"):
        of = {what: _described(rows, entry.get(f"{what}Id", "0")) for what, rows in tables.items()}
        usual = usual or of
        code = codes.get(entry.get("numFmtId"), entry.get("numFmtId", "0"))
        plain = code.replace("\\", "").replace('"', "").partition(";")[0].lower()
        said = [text for what in of for text in sorted(of[what] ^ usual[what])]
        said += [f"number {code}"] if plain not in {"0", "general", *_DATE} else []
        yield " ".join([*said, *filter(None, (_written(child) for child in entry))]), plain == _TIME


def _described(rows: list[Element], number: str) -> set[str]:
    entry = rows[int(number)] if int(number) < len(rows) else None
    return set() if entry is None else {
        text for child in entry if _name(child) not in _NEUTRAL and (text := _written(child, flag=True))
    }  # fmt: skip


def _written(element: Element, *, flag: bool = False) -> str:
    """Write an element down without its usual parts, or nothing where nothing is left.

    With `flag` one without attributes says something by being there, as in a font, unless it has parts of its own kind.
    """
    if element.get("val") in _OFF or _name(element) == "selection":  # the place of the cursor
        return ""
    inside = " ".join(filter(None, map(_written, element)))
    words = _attributes(element.attrib)
    bare = flag and not element.attrib and not len(element) and _name(element) in {"b", "i", "u", "strike"}
    if not (inside or words or bare or (element.text or "").strip()):
        return ""
    return f"<{_name(element)}{' ' if words else ''}{words}>{(element.text or '').strip()}{inside}"


def _attributes(attributes: Mapping[str, str]) -> str:
    named = sorted((key.rpartition("}")[2], value) for key, value in attributes.items())
    return " ".join(
        f"{key}={value}" for key, value in named if value and key not in _IGNORED and (key, value) not in _USUAL
    )


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
