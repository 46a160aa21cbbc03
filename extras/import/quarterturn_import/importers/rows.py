"""Importer of plain rows: JSON lines or CSV with a goal, an initial state and a predicate each.

Columns: `goal` and `predicate` are needed; `state`, `solution`, `difficulty`, `server` and `name` may be there. In CSV,
`state`, `predicate` and `solution` are JSON. A solution is a list of calls `{"tool": …, "arguments": {…}}`, or
`{"calls": [...], "answer": "…"}`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from grammars.errors import Malformed
from quarterturn_import.importers.conversion import SourceTask

KNOWN = ("goal", "predicate", "state", "solution", "difficulty", "server", "name")
_JSON = ("predicate", "state", "solution")


def read_rows(text: str, name: str) -> list[SourceTask]:
    """Read all rows; the name's ending says whether they are CSV.

    Raises:
        Malformed: a row is none, or lacks its goal or its predicate; the message names its line.
    """
    rows = list(_csv_rows(text, name) if name.endswith(".csv") else _json_rows(text, name))
    if not rows:
        raise Malformed(f"{name} has no rows; each has `goal`, `state` and `predicate`")
    return [_task(row, place) for place, row in rows]


def _json_rows(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise Malformed(f"{name}, line {number}: it is not JSON; each line is one object") from None
        if not isinstance(row, dict):
            raise Malformed(f"{name}, line {number}: it is no object with `goal`, `state` and `predicate`")
        yield f"{name}, line {number}", row


def _csv_rows(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in reader:
            place = f"{name}, line {reader.line_num}"
            if None in row or None in row.values():
                raise Malformed(f"{place}: it has another number of cells than the header")
            yield place, {key: _cell(key, value, place) for key, value in row.items() if value}
    except csv.Error as error:
        raise Malformed(f"{name}, line {reader.line_num}: it is not CSV ({error})") from None


def _cell(column: str, text: str, place: str) -> Any:
    if column not in _JSON:
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise Malformed(f"{place}: the column {column} is not JSON") from None


def _task(row: Mapping[str, Any], place: str) -> SourceTask:
    if extra := sorted(set(row) - set(KNOWN)):
        raise Malformed(f"{place}: unknown columns {', '.join(extra)[:200]}; it takes {', '.join(KNOWN)}")
    for column, kind in (("goal", str), ("predicate", dict)):
        if not isinstance(row.get(column), kind) or not row[column]:
            raise Malformed(f"{place}: it lacks `{column}`, or that is no {'text' if kind is str else 'object'}")
    for column, kind in (("state", dict), ("difficulty", str), ("server", str), ("name", str)):
        if column in row and not isinstance(row[column], kind):
            raise Malformed(f"{place}: `{column}` is no {'text' if kind is str else 'object'}")
    solution = row.get("solution")
    if isinstance(solution, list):
        solution = {"calls": solution}
    if solution is not None and not (isinstance(solution, dict) and isinstance(solution.get("calls"), list)):
        raise Malformed(f"{place}: `solution` is no list of calls")
    return SourceTask(
        row.get("name", place),
        row["goal"],
        row["predicate"],
        state=row.get("state", {}),
        difficulty=row.get("difficulty", ""),
        server=row.get("server", ""),
        solution=solution,
    )
