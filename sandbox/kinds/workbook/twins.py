"""Twins of workbooks: new formulas that say the same in another way.

The parts of a file are changed as text, so that all else in it stays as it is, and a changed formula loses the value
that the file remembers, so that it is calculated.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from html import escape, unescape

from verifiers.states.workbook.model import Workbook, place_of
from verifiers.states.workbook.reader import read_workbook
from verifiers.tree import FileTree

_CELL = re.compile(  # a cell with a style is left out: it may be a date
    r'(<c\b(?![^>]*(?:t="[se]| s="[1-9]))[^>]*\br="([A-Z]+[0-9]+)"[^>]*(?<!/)>)'
    r"(?:<f>([^<]*)</f>(?:<v>[^<]*</v>|<v ?/>)?|<v>(-?[0-9.]+)</v>)"
)
"""A cell with a formula or a number, without its end: its tag, its name, and either of the two."""
_NUMBER = re.compile("-?[0-9.]+")
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_OUTSIDE_TEXTS = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*'!?)""")
_CELL_NAME = re.compile(r"(?<![A-Za-z0-9_.$])([A-Z]{1,3})([1-9][0-9]*)(?![A-Za-z0-9_.(!])")
_RANGE = re.compile(r"((?:'(?:[^']|'')+'|[A-Za-z0-9_]+)!)\$?([A-Z]{1,3})\$?2:\$?\2\$?([1-9][0-9]*)(?![0-9:])")
_CALL = re.compile(r"(?<![A-Z.])(SUM|COUNTIF|SUMIF|AVERAGE)\(([^(),\"]+(?:,(?:\"[^\"]*\"|[^(),\"])+){0,2})\)")


def _changed(before: FileTree, after: FileTree, change: Callable[[str, Workbook], str]) -> FileTree:
    """Change what no workbook had before; a formula and a number are both given as a formula without its `=`."""
    nodes = dict(after)
    known = {content for node in before.values() if node.kind == "file" for content in _contents(_parts(node.data))}
    for path, node in after.items():
        if path.endswith(".xlsx") and node.kind == "file" and node != before.get(path):
            nodes[path] = replace(node, data=_with_formulas(node.data, known, change))
    return FileTree(nodes)


def _contents(parts: Mapping[str, bytes]) -> Iterator[str]:
    for name in filter(_SHEET.fullmatch, parts):
        yield from (cell[3] or cell[4] for cell in _CELL.finditer(parts[name].decode()))


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _with_formulas(data: bytes, known: Collection[str], change: Callable[[str, Workbook], str]) -> bytes:
    workbook, parts = read_workbook(data), _parts(data)
    changed = dict(parts)
    for name in filter(_SHEET.fullmatch, parts):
        changed[name] = _CELL.sub(partial(_cell, known, change, workbook), parts[name].decode()).encode()
    if changed == parts:
        return data
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, part in changed.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return written.getvalue()


def _cell(
    known: Collection[str], change: Callable[[str, Workbook], str], workbook: Workbook, cell: re.Match[str]
) -> str:
    content = cell[3] or cell[4]
    other = unescape(content) if content in known else change(unescape(content), workbook)
    if other == unescape(content):
        return cell[0]
    head = re.sub(r' t="\w+"', "", cell[1])  # of the value, which goes
    return f"{head}<f>{escape(other, quote=False)}</f>"


def _formula(formula: str, _: Workbook) -> str:
    return f"SUM({formula})" if _NUMBER.fullmatch(formula) else formula


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
    "formula": lambda before, after: _changed(before, after, _formula),
    "absolute": lambda before, after: _changed(before, after, _absolute),
    "whole-columns": lambda before, after: _changed(before, after, _whole_columns),
    "other-function": lambda before, after: _changed(before, after, _other_function),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
