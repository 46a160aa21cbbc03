"""Writer of .xlsx files, which the workbook reader reads back; the same workbook gives the same bytes.

Only what `Workbook` holds is written. A text that is the date of a cell is written as a date where it is in `dates`.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Collection, Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from verifiers.states.workbook.model import EPOCH, Place, Sheet, Workbook, WorkbookCell, WorkbookTable, name_of

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="3">'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def write_workbook(workbook: Workbook, dates: Collection[tuple[str, Place]] = ()) -> bytes:
    """Write a workbook as the bytes of an .xlsx file.

    Args:
        workbook: what to write; its sheets have different names.
        dates: sheet and place of the cells whose texts are dates, to be written as such.

    Raises:
        ValueError: a text in `dates` is no date.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _parts(workbook, frozenset(dates)):
            archive.writestr(zipfile.ZipInfo(name), (_HEAD + text).encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _parts(workbook: Workbook, dates: frozenset[tuple[str, Place]]) -> Iterator[tuple[str, str]]:
    tables = [(number, table) for number, sheet in enumerate(workbook.sheets, 1) for table in sheet.tables]
    yield "[Content_Types].xml", _types(len(workbook.sheets), len(tables))
    yield "_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")])
    yield "xl/workbook.xml", _workbook(workbook)
    links = [("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(workbook.sheets) + 1)]
    yield "xl/_rels/workbook.xml.rels", _relations([*links, ("styles", "styles.xml")])
    yield "xl/styles.xml", _STYLES
    for number, sheet in enumerate(workbook.sheets, 1):
        own = [place for place, (on, _) in enumerate(tables, 1) if on == number]
        if own:
            relations = _relations([("table", f"../tables/table{place}.xml") for place in own])
            yield f"xl/worksheets/_rels/sheet{number}.xml.rels", relations
        yield f"xl/worksheets/sheet{number}.xml", _sheet(sheet, {place for name, place in dates if name == sheet.name})
    for place, (_, table) in enumerate(tables, 1):
        yield f"xl/tables/table{place}.xml", _table(place, table)


def _types(sheets: int, tables: int) -> str:
    parts = [
        ("/xl/workbook.xml", "sheet.main"),
        ("/xl/styles.xml", "styles"),
        *((f"/xl/worksheets/sheet{number}.xml", "worksheet") for number in range(1, sheets + 1)),
        *((f"/xl/tables/table{number}.xml", "table") for number in range(1, tables + 1)),
    ]
    named = "".join(f'<Override PartName="{name}" ContentType="{_KIND}.{kind}+xml"/>' for name, kind in parts)
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{named}</Types>'
    )


def _relations(links: list[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_LINKS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(links, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def _workbook(workbook: Workbook) -> str:
    sheets = "".join(
        f'<sheet name={quoteattr(sheet.name)} sheetId="{number}"{_hidden(sheet)} r:id="rId{number}"/>'
        for number, sheet in enumerate(workbook.sheets, 1)
    )
    names = "".join(
        f"<definedName name={quoteattr(name)}>{escape(refers)}</definedName>"
        for name, refers in sorted(workbook.names.items())
    )
    named = f"<definedNames>{names}</definedNames>" if names else ""
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>{sheets}</sheets>{named}</workbook>'


def _hidden(sheet: Sheet) -> str:
    return ' state="hidden"' if sheet.hidden else ""


def _sheet(sheet: Sheet, dates: set[Place]) -> str:
    rows = ""
    for row, cells in groupby(sorted(sheet.cells.items(), key=lambda item: item[0]), lambda item: item[0][0]):
        written = (_dated(place, cell) if place in dates else _cell(place, cell) for place, cell in cells)
        rows += f'<row r="{row}">{"".join(written)}</row>'
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in sheet.merged)
    merged = f'<mergeCells count="{len(sheet.merged)}">{merged}</mergeCells>' if merged else ""
    tables = "".join(f'<tablePart r:id="rId{number}"/>' for number in range(1, len(sheet.tables) + 1))
    tables = f'<tableParts count="{len(sheet.tables)}">{tables}</tableParts>' if tables else ""
    return f'<worksheet xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheetData>{rows}</sheetData>{merged}{tables}</worksheet>'


def _cell(place: Place, cell: WorkbookCell) -> str:
    start = f'<c r="{name_of(place)}"'
    formula = "" if cell.formula is None else f"<f>{_xml_text(cell.formula)}</f>"
    match cell.value:
        case None:
            return f"{start}>{formula}</c>"
        case bool(value):
            return f'{start} t="b">{formula}<v>{int(value)}</v></c>'
        case str(value) if formula:
            return f'{start} t="str">{formula}<v>{_xml_text(value)}</v></c>'
        case str(value):
            return f'{start} t="inlineStr"><is><t xml:space="preserve">{_xml_text(value)}</t></is></c>'
        case value:
            return f"{start}>{formula}<v>{value!r}</v></c>"


def _dated(place: Place, cell: WorkbookCell) -> str:
    text = str(cell.value)
    days = (datetime.datetime.fromisoformat(text) - EPOCH).total_seconds() / 86400
    return f'<c r="{name_of(place)}" s="{1 if len(text) == len("2026-01-05") else 2}"><v>{days!r}</v></c>'


def _xml_text(text: str) -> str:
    return escape(_escaped(text))


def _escaped(text: str) -> str:
    """Escape a text for a workbook: what XML forbids becomes `_x000D_`, and so does text that looks like that."""
    return _CONTROL.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def _table(number: int, table: WorkbookTable) -> str:
    columns = "".join(
        f'<tableColumn id="{place}" name={quoteattr(_escaped(name))}/>' for place, name in enumerate(table.columns, 1)
    )
    name = quoteattr(table.name)
    return (
        f'<table xmlns="{_MAIN}" id="{number}" name={name} displayName={name} ref="{table.area}" totalsRowShown="0">'
        f'<autoFilter ref="{table.area}"/><tableColumns count="{len(table.columns)}">{columns}</tableColumns></table>'
    )
