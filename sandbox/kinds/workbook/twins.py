"""Twins of workbooks: new formulas that say the same in another way.

The parts of a file are changed as text, so that all else in it stays as it is, and a changed formula loses the value
that the file remembers, so that it is calculated.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html import escape, unescape

from verifiers.errors import CorruptState
from verifiers.states.workbook.model import Workbook, place_of
from verifiers.states.workbook.reader import read_workbook
from verifiers.tree import FileTree

_CELL = re.compile(r'(<c\b[^>]*\br="([A-Z]+[0-9]+)"[^>]*>)<f>([^<]*)</f>(?:<v>[^<]*</v>|<v/>)?')
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_OUTSIDE_TEXTS = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*'!?)""")
_CELL_NAME = re.compile(r"(?<![A-Za-z0-9_.$])([A-Z]{1,3})([1-9][0-9]*)(?![A-Za-z0-9_.(!])")
_RANGE = re.compile(r"((?:'(?:[^']|'')+'|[A-Za-z0-9_]+)!)\$?([A-Z]{1,3})\$?2:\$?\2\$?([1-9][0-9]*)(?![0-9:])")
_CALL = re.compile(r"(?<![A-Z.])(SUM|COUNTIF|SUMIF|AVERAGE)\(([^(),\"]+(?:,(?:\"[^\"]*\"|[^(),\"])+){0,2})\)")


def _changed(before: FileTree, after: FileTree, change: Callable[[str, Workbook], str]) -> FileTree:
    """Change the formulas that are new in a workbook."""
    nodes = dict(after)
    for path, node in after.items():
        if path.endswith(".xlsx") and node.kind == "file" and node != before.get(path):
            known = {sheet: set(cells) for sheet, cells in _formulas(before[path].data)} if path in before else {}
            nodes[path] = replace(node, data=_with_formulas(node.data, known, change))
    return FileTree(nodes)


def _formulas(data: bytes) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in filter(_SHEET.fullmatch, archive.namelist()):
            yield name, [(cell[2], cell[3]) for cell in _CELL.finditer(archive.read(name).decode())]


def _with_formulas(
    data: bytes, known: Mapping[str, set[tuple[str, str]]], change: Callable[[str, Workbook], str]
) -> bytes:
    try:
        workbook = read_workbook(data)
    except CorruptState:
        return data
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(written, "w") as other:
        for name in archive.namelist():
            part = archive.read(name)
            if _SHEET.fullmatch(name):
                old = known.get(name, set())
                part = _CELL.sub(lambda cell, old=old: _cell(cell, old, change, workbook), part.decode()).encode()  # type: ignore[misc]
            other.writestr(zipfile.ZipInfo(name), part)
    return written.getvalue()


def _cell(
    cell: re.Match[str], known: set[tuple[str, str]], change: Callable[[str, Workbook], str], workbook: Workbook
) -> str:
    formula = unescape(cell[3])
    if (cell[2], cell[3]) in known or (other := change(formula, workbook)) == formula:
        return cell[0]
    head = re.sub(r' t="\w+"', "", cell[1])  # of the value, which goes
    return f"{head}<f>{escape(other, quote=False)}</f>"


def _absolute(formula: str, _: Workbook) -> str:
    parts = _OUTSIDE_TEXTS.split(formula)
    parts[::2] = [_CELL_NAME.sub(r"$\1$\2", part) for part in parts[::2]]
    return "".join(parts)


def _whole_columns(formula: str, workbook: Workbook) -> str:
    """Take whole columns of other sheets where nothing but a heading is in them beside the range."""

    def whole(area: re.Match[str]) -> str:
        sheet = next((sheet for sheet in workbook.sheets if sheet.name == area[1].strip("'!")), None)
        column = place_of(f"{area[2]}1")[1]
        rows = {row: cell.value for (row, at), cell in sheet.cells.items() if at == column} if sheet else {}
        if not isinstance(rows.get(1), str) or max(rows) > int(area[3]):
            return area[0]
        return f"{area[1]}{area[2]}:{area[2]}"

    changed = _RANGE.sub(whole, formula)
    return changed if not _RANGE.search(changed) else formula  # of ranges of one length all or none


def _other_function(formula: str, _: Workbook) -> str:
    def other(call: re.Match[str]) -> str:
        name, arguments = call[1], call[2].split(",")  # of two arguments the first is summed too
        if name == "COUNTIF":
            return f"COUNTIFS({call[2]})"
        if name == "SUMIF":
            return f"SUMIFS({','.join([arguments[-1], *arguments[:2]])})"
        return f"(SUM({call[2]})/COUNT({call[2]}))" if name == "AVERAGE" else f"SUMPRODUCT({call[2]})"

    return _CALL.sub(other, formula)


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "absolute": lambda before, after: _changed(before, after, _absolute),
    "whole-columns": lambda before, after: _changed(before, after, _whole_columns),
    "other-function": lambda before, after: _changed(before, after, _other_function),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
