"""How evidence shows a piece of a state: short, on one line, and printable whatever the bytes were.

Evidence ends up in JSON, so nothing in it may hold a lone surrogate or a control character.
"""

from __future__ import annotations

import json
from collections.abc import Collection

LIMIT = 120
NAMES = 12


def quoted(value: object, limit: int = LIMIT) -> str:
    """Show a value as JSON would write it, cut after `limit` characters."""
    if isinstance(value, bytes):
        text = "the bytes " + value[:limit].hex()
    elif isinstance(value, str):
        text = json.dumps(value[: limit + 1])
    else:
        try:
            text = json.dumps(value, default=str)
        except RecursionError:
            text = "a value that nests too deeply to be shown"
    return text if len(text) <= limit else text[:limit] + "…"


def listed(names: Collection[str]) -> str:
    """Show some names, the first few of many."""
    shown = ", ".join(quoted(name, 60) for name in list(names)[:NAMES])
    more = len(names) - NAMES
    return f"{shown} and {more} more" if more > 0 else shown or "none"
