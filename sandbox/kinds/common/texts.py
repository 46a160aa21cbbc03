"""Mutations of a text: slightly wrong variants, one that is certainly different, and JSON in another layout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any


def wrong(text: str) -> Iterator[tuple[str, str]]:
    """Yield wrong variants of a text, each with its name: another case, a number off by one, the last line left out."""
    if text.swapcase() != text:
        yield "wrong-case", text.swapcase()
    if match := re.search(r"\d+", text):
        yield "off-by-one", f"{text[: match.start()]}{int(match.group()) + 1}{text[match.end() :]}"
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        yield "last-line-left-out", "".join(lines[:-1])
        if lines[0].rstrip("\n") != lines[-1].rstrip("\n"):
            yield "first-and-last-line-swapped", "".join([_ended(lines[-1]), *lines[1:-1], _ended(lines[0])])


def other(text: str) -> str:
    """Return a text that differs however the two are compared: trimmed, without case, by lines or as part."""
    return f"{text[::-1]} not this" if text else "not this"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"


def other_layout(text: str) -> str | None:
    """Return a JSON object or array with its keys in another order and other white space; None of any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict | list):
        return None
    return json.dumps(_reversed_keys(value), indent=None if "\n " in text else 1, ensure_ascii=False)


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(part) for key, part in reversed(value.items())}
    return [_reversed_keys(part) for part in value] if isinstance(value, list) else value
