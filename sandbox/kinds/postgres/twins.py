"""Twins of PostgreSQL tables: new rows in another order, and the columns of a new table in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from verifiers.formats.snapshot import FILE, written
from verifiers.formats.snapshot_reader import parsed
from verifiers.tree import FileTree


def _changed(before: FileTree, after: FileTree, change: Callable[[Any, Any], Any]) -> FileTree:
    """Change the tables; each is given as it was, or None, and as it is."""
    if FILE not in after:
        return after
    old, document = (parsed(tree[FILE].data) if FILE in tree else {"tables": []} for tree in (before, after))
    tables = {(table["schema"], table["name"]): table for table in old["tables"]}
    changed = [change(tables.get((table["schema"], table["name"])), table) for table in document["tables"]]
    return written({**document, "tables": changed})


def _row_order(old: Any, table: Any) -> Any:
    rows = old["rows"] if old else []
    added = [row for row in table["rows"] if row not in rows]
    return {**table, "rows": [*(row for row in table["rows"] if row in rows), *added[::-1]]}


def _column_order(old: Any, table: Any) -> Any:
    if old:
        return table
    return {**table, "columns": table["columns"][::-1], "rows": [row[::-1] for row in table["rows"]]}


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "row-order": lambda before, after: _changed(before, after, _row_order),
    "column-order": lambda before, after: _changed(before, after, _column_order),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
