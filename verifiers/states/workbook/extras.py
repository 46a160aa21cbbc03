"""What a workbook has besides cells, tables and names, told by digests: charts, notes, filters, formats.

No predicate looks into it; the frame compares it. What programs write into each file by themselves is left out (views,
margins, times, the program's name), and so are number formats, which follow from how a date is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element

from verifiers.budget import ReadingBudget

DIGEST_CHARACTERS = 16

_SHEET_PARTS = {
    "autoFilter": "filter",
    "colBreaks": "page",
    "cols": "columns",
    "conditionalFormatting": "conditional formats",
    "dataValidations": "validations",
    "extLst": "sparklines and others",
    "headerFooter": "page",
    "hyperlinks": "links",
    "pageSetup": "page",
    "pane": "frozen panes",
    "printOptions": "page",
    "protectedRanges": "protection",
    "rowBreaks": "page",
    "scenarios": "scenarios",
    "sheetProtection": "protection",
    "tabColor": "colour of the tab",
    "workbookProtection": "protection",
}
"""Element of a sheet or workbook, to what it is called."""
LINKED_PARTS = {
    "chartsheet": "chart sheets",
    "comments": "notes",
    "drawing": "drawings",
    "pivotTable": "pivot tables",
    "slicer": "slicers",
    "threadedComment": "notes",
    "timeline": "slicers",
    "vbaProject": "macros",
}
"""Kind of a part that a sheet or workbook links to, to what it is called."""
_DEEP = frozenset({"sheetPr", "sheetViews", "sheetView"})
_PROPERTIES = frozenset({"title", "subject", "keywords", "description", "category"})


def list_extras(root: Element, linked: Iterable[tuple[str, bytes]], budget: ReadingBudget) -> dict[str, str]:
    """Return a digest of each sort of thing that a sheet or workbook has besides its cells.

    Args:
        root: its part.
        linked: kind and bytes of the parts that it links to.
        budget: what listing may cost.
    """
    found: dict[str, list[object]] = {}
    for element in _watched(root):
        budget.step(sum(1 for _ in element.iter()))
        found.setdefault(_SHEET_PARTS[_name(element)], []).append(_plain(element))
    if hidden := [row.get("r") for row in root.iterfind("{*}sheetData/{*}row") if row.get("hidden") in {"1", "true"}]:
        found["hidden rows"] = [hidden]
    for kind, data in linked:
        found.setdefault(LINKED_PARTS[kind], []).append(hashlib.sha256(data).hexdigest())
    return {name: _digest(parts) for name, parts in sorted(found.items())}


def list_properties(core: Element) -> dict[str, str]:
    """Return the properties of a workbook that somebody gave it."""
    return {_name(entry): entry.text for entry in core if _name(entry) in _PROPERTIES and entry.text}


def list_formats(styles: Element) -> list[str]:
    """Return a digest of each cell format in order; it is empty where a format looks like the first one."""
    parts = {
        name: {str(place): _digest(_plain(entry)) for place, entry in enumerate(styles.iterfind(f"{{*}}{group}/*"))}
        for name, group in (("fontId", "fonts"), ("fillId", "fills"), ("borderId", "borders"))
    }
    looks = [
        [*(parts[name].get(entry.get(name, "0")) for name in parts), *(_plain(child) for child in entry)]
        for entry in styles.iterfind("{*}cellXfs/{*}xf")
    ]
    return ["" if look == looks[0] else _digest(look) for look in looks]


def _watched(root: Element) -> Iterator[Element]:
    for element in root:
        if (name := _name(element)) in _DEEP:
            yield from _watched(element)
        elif name in _SHEET_PARTS:
            yield element


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _plain(element: Element) -> list[object]:
    attributes: Mapping[str, str] = element.attrib
    return [element.tag, sorted(attributes.items()), (element.text or "").strip(), [_plain(child) for child in element]]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:DIGEST_CHARACTERS]
