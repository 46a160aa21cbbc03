"""Custom CEL functions for grammar expressions. Pure: they take and return text, numbers, lists and maps."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def sort_by(rows: Sequence[Row], key: str) -> list[Row]:
    """Sort maps by one of their fields, smallest first; equal ones keep their order."""
    return sorted(rows, key=lambda row: row[key])


def lines(items: Sequence[str]) -> str:
    """Write a text file: each item on a line of its own, a newline after the last."""
    return "".join(f"{item}\n" for item in items)


def listing(items: Sequence[str]) -> str:
    """Join a list as in an English sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Write a comma-separated file with a header; values must need no quotes."""
    return lines([",".join(columns), *(",".join(str(row[column]) for column in columns) for row in rows)])


def table(rows: Sequence[Row], columns: Sequence[str]) -> list[list[Any]]:
    """Convert maps to rows: for each map, the list of its values in these columns."""
    return [[row[column] for column in columns] for row in rows]


def mapping(keys: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Build a map from a list of keys and a list of values of equal length; a repeated key keeps its last value."""
    return dict(zip(keys, values, strict=True))


def groups(rows: Sequence[Row], key: str, value: str) -> list[dict[str, Any]]:
    """Group maps by one field: `{key, count, total, least, most}` of another, sorted by the first."""
    grouped: dict[Any, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row[key], []).append(row[value])
    return [
        {"key": name, "count": len(values), "total": sum(values), "least": min(values), "most": max(values)}
        for name, values in sorted(grouped.items())
    ]


def money(cents: int) -> str:
    """Write an amount in cents with two decimals, `12.05`."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def pad(number: int, width: int) -> str:
    """Write an integer with leading zeros."""
    return f"{number:0{width}d}"


def capital(text: str) -> str:
    """Make the first letter a capital."""
    return text[:1].upper() + text[1:]


def sha256(text: str) -> str:
    """Return the SHA-256 of the text as UTF-8, in lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def stem(path: str) -> str:
    """Return a file's name without folder and extension."""
    return posixpath.splitext(posixpath.basename(path))[0]


def to_json(value: Any) -> str:
    """Write a value as JSON with two spaces of indentation, keys in order, and a newline at the end."""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sort_by": sort_by,
    "lines": lines,
    "listing": listing,
    "csv": csv,
    "table": table,
    "groups": groups,
    "mapping": mapping,
    "money": money,
    "pad": pad,
    "capital": capital,
    "sha256": sha256,
    "stem": stem,
    "to_json": to_json,
}
