"""Small workbooks, calendars and mailboxes, on which the catalogue's examples are shown and run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from verifiers.calendar_state import HOME, PROPERTIES
from verifiers.examples import tree_of
from verifiers.ics import Item, write_item
from verifiers.mail_file import Letter, maildir
from verifiers.views import Tree, Views
from verifiers.workbook import Cell, Sheet, Table, Value, Workbook, name_of
from verifiers.workbook_file import write_workbook


def workbook(
    path: str,
    sheets: Mapping[str, Sequence[Sequence[Value]]],
    *,
    names: Mapping[str, str] | None = None,
    table: str | None = None,
    merged: str | None = None,
) -> Views:
    """Give the views of a world whose spreadsheet server left one workbook.

    Args:
        path: where it is.
        sheets: its rows from A1 on; a text that begins with `=` is a formula.
        names: its names, and what each refers to.
        table: the name of a table over all of the first sheet.
        merged: an area of the last sheet that is merged.
    """
    made = [_sheet(name, rows) for name, rows in sheets.items()]
    if table:
        rows = next(iter(sheets.values()))
        area = f"A1:{name_of((len(rows), len(rows[0])))}"
        made[0] = Sheet(made[0].name, made[0].cells, tables=(Table(table, area, tuple(map(str, rows[0]))),))
    if merged:
        made[-1] = Sheet(made[-1].name, made[-1].cells, merged=(merged,))
    return Views({"spreadsheet": tree_of({path: write_workbook(Workbook(tuple(made), names or {}))})})


def _sheet(name: str, rows: Sequence[Sequence[Value]]) -> Sheet:
    cells = {
        (row, column): cell_of(value)
        for row, values in enumerate(rows, 1)
        for column, value in enumerate(values, 1)
        if value is not None
    }
    return Sheet(name, cells)


def cell_of(value: Value) -> Cell:
    """Give the cell that a value stands for; a text that begins with `=` is a formula."""
    if isinstance(value, str) and value.startswith("="):
        return Cell(None, value[1:])
    return Cell(value)


def calendars(items: Mapping[str, Sequence[Item]]) -> Views:
    """Give the views of a world whose calendar server left these events and tasks."""
    return Views({"calendar": calendar_tree(dict.fromkeys(items, ""), items)})


def calendar_tree(titles: Mapping[str, str], items: Mapping[str, Sequence[Item]]) -> Tree:
    """Give the folder of Radicale: each calendar with its title, and the events and tasks in it."""
    made: dict[str, str | bytes] = {}
    for name, title in titles.items():
        properties = {"C:supported-calendar-component-set": "VEVENT,VTODO", "D:displayname": title or name}
        made[f"{HOME}/{name}/{PROPERTIES}"] = json.dumps({**properties, "tag": "VCALENDAR"}, ensure_ascii=False)
        made |= {f"{HOME}/{name}/{item.uid}.ics": write_item(item) for item in items.get(name, ())}
    return tree_of(made)


def mailbox(folders: Mapping[str, Sequence[Letter]], sent: Sequence[Letter] = ()) -> Views:
    """Give the views of a world whose email server left these messages, and sent those."""
    return Views({"email": maildir(folders, sent)})
