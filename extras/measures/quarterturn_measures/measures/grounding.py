"""Grounding: whether the places that an answer cites exist, as `path:line` or `path:line:symbol`. Pure.

A cited path that is not there is *unresolved*. One that is there is *hallucinated* where the line is less than 1 or
beyond the file's end, or where the symbol stands nowhere in the file, or more than five lines away; else it is
*grounded* (the rules of *How do you benchmark an MCP server you built?*, step 1; there a symbol stands where it is
defined, here where it stands as a whole word). An answer without a citation has no grounding, and not one of 0.

Compared is the initial state (`cited_files`). What the run itself may have written there is in no record, so a citation
of it is left out and counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, NamedTuple

from quarterturn_measures.measures.cited_files import Versions, normal
from quarterturn_measures.measures.failure_class import reads
from sandbox.transcript import CallRecord

NEAR = 5
"""Lines between a cited line and its symbol."""
DIGITS = 9
"""Digits of a line's number that are read; a longer one is beyond the end of every file."""
MAX_CITATIONS = 1000
"""Of an answer; the first ones are looked up."""
MAX_PATH_CHARACTERS = 4096
Status = Literal["grounded", "unresolved", "hallucinated"]

_CITATION = re.compile(
    r"(?<![^\s`'\"<(\[{,;|*=])(?P<path>[^\s:`'\"<>()\[\]{},;|*=]+):(?P<line>\d+)(?!\d)(?::(?P<symbol>[A-Za-z_][\w.]*))?"
)


class Citation(NamedTuple):
    """A place that a text cites."""

    path: str
    line: int | None
    symbol: str | None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Citations of one answer, counted.

    Attributes:
        grounded: the place is there.
        unresolved: the path is not there.
        hallucinated: the file is there, and the line or the symbol is not.
        left_out: the run may have written the file itself, so nobody can tell.
    """

    grounded: int = 0
    unresolved: int = 0
    hallucinated: int = 0
    left_out: int = 0

    @property
    def decided(self) -> int:
        """How many citations are grounded or not."""
        return self.grounded + self.unresolved + self.hallucinated

    @property
    def share(self) -> Fraction | None:
        """The grounded share; None without a citation that could be looked up."""
        return Fraction(self.grounded, self.decided) if self.decided else None


def ground(answer: str | None, files: Versions, calls: Iterable[CallRecord]) -> Grounding:
    """Look up each citation of an answer once.

    Args:
        answer: the text.
        files: what can be cited.
        calls: the run's calls, which say what it may have written.
    """
    changing = (call for call in calls if call.passed_on and not reads(call.tool))
    written = {tuple(normal(text).split("/")) for call in changing for text in _names(call)}
    counts = {"grounded": 0, "unresolved": 0, "hallucinated": 0, "left_out": 0}
    for cited in islice(dict.fromkeys(citations(answer or "", files)), MAX_CITATIONS):
        place = tuple(normal(cited.path).split("/"))
        own = any(_holds(name, place) for name in written)
        counts["left_out" if own else look_up(cited, files)] += 1
    return Grounding(**counts)


def citations(text: str, files: Versions) -> Iterator[Citation]:
    """Yield the places that a text cites.

    A time (`12:30`), a port (`example.org:80`) and a key (`order:17`) are none: a path has a slash and ends in a name
    with a letter, or ends as some file does, or is a file.
    """
    endings = {path.rpartition(".")[2] for path in files if "." in path}
    for match in _CITATION.finditer(text):
        path, line, symbol = match["path"], match["line"], match["symbol"]
        name = path.rpartition("/")[2]
        a_path = "/" in path and any(letter.isalpha() for letter in name)
        if a_path or name.rpartition(".")[2] in endings or normal(path) in files:
            yield Citation(path, int(line) if len(line) <= DIGITS else None, symbol.strip(".") if symbol else None)


def look_up(cited: Citation, files: Versions) -> Status:
    """Say whether a cited place exists in some version of its file."""
    texts = files.get(normal(cited.path))
    if texts is None:
        return "unresolved"
    return "grounded" if any(text is not None and _is_there(cited, _lines(text)) for text in texts) else "hallucinated"


def _lines(text: str) -> list[str]:
    """Return the lines of a text as editors number them; a newline at its end begins no line."""
    return text.removesuffix("\n").split("\n") if text else []


def _is_there(cited: Citation, lines: Sequence[str]) -> bool:
    if cited.line is None or not 1 <= cited.line <= len(lines):
        return False
    if not cited.symbol:
        return True
    word = re.compile(rf"(?<!\w){re.escape(cited.symbol.rpartition('.')[2])}(?!\w)")
    near = lines[max(0, cited.line - 1 - NEAR) : cited.line + NEAR]
    return any(word.search(line) for line in near)


def _holds(name: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Say whether a path may name another or a folder of it; either may begin with more folders than the other."""
    longer = any(place[: len(name) - start] == name[start:] for start in range(len(name)))
    return longer or any(place[start : start + len(name)] == name for start in range(1, len(place)))


def _names(call: CallRecord) -> Iterator[str]:
    """Yield the texts among a call's arguments that can be a path."""
    texts = (text for text in _texts(call.arguments.values()) if len(text) <= MAX_PATH_CHARACTERS and "\n" not in text)
    yield from (text for text in texts if normal(text))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            yield from _texts(value.values() if isinstance(value, dict) else value)
