"""Mutations of a text: slightly wrong variants, and one that is certainly different."""

from __future__ import annotations

import re
from collections.abc import Iterator


def wrong(text: str) -> Iterator[tuple[str, str]]:
    """Give wrong variants of a text, each with its name: another case, a number off by one, the last line left out."""
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
    """Give a text that differs however the two are compared: trimmed, without case, by lines or as part."""
    return f"{text[::-1]} not this" if text else "not this"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"
