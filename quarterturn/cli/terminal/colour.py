"""Colour of status words, for a terminal alone; NO_COLOR and TERM=dumb turn it off (no-color.org)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Self, TextIO

GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
_END = "\x1b[0m"

COLOURS: Mapping[str, str] = dict.fromkeys(("ok", "yes", "done", "proved", "blocked", "live", "reviewed"), GREEN) | {
    **dict.fromkeys(("advice", "admitted", "unfinished", "pending", "bounded"), YELLOW),
    **dict.fromkeys(("wrong", "NO", "failed", "escaped", "rejected", "withdrawn"), RED),
}


class StatusLine(str):
    """A line of text with one word in it that is a status.

    Attributes:
        status: the word; a terminal shows its first occurrence in the colour of `COLOURS`, if it has one.
    """

    __slots__ = ("status",)
    status: str

    def __new__(cls, text: object, status: str) -> Self:
        """Make a line of a text and its status."""
        line = super().__new__(cls, text)
        line.status = status
        return line


def painted(text: str, line: Any, stream: TextIO) -> str:
    """Return `text`, which is `line` as it may be shown, with the colour of its status if `stream` shows colours."""
    if not isinstance(line, StatusLine) or line.status not in COLOURS or not shows_colours(stream):
        return text
    return re.sub(rf"\b{line.status}\b", f"{COLOURS[line.status]}{line.status}{_END}", text, count=1)


def shows_colours(stream: TextIO) -> bool:
    """Say whether a stream is a terminal whose user wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
