"""Values of a verifier that is read: what is known of the end state, without there being one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quarterturn_import.importers.formula import Formula


class Symbolic:
    """A value that is known only by what it asks of the end state; everything else is an ordinary value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Opaque(Symbolic):
    """A value that was not understood, with the place and the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cond(Symbolic):
    """A truth value that depends on the end state."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class FsPath(Symbolic):
    """A path below the folder of the task; `.` is the folder itself."""

    path: str


@dataclass(frozen=True, slots=True)
class Text(Symbolic):
    """The text of a file at the end, perhaps in lower case or without white space at its ends.

    Attributes:
        file: the arguments of the file's predicates: a path, or a repository, a branch and a path.
        server: `filesystem` or `github`.
    """

    file: tuple[tuple[str, str], ...]
    server: str = "filesystem"
    lower: bool = False
    strip: bool = False

    @property
    def arguments(self) -> dict[str, str]:
        """The file as arguments of a predicate."""
        return dict(self.file)


@dataclass(frozen=True, slots=True)
class Joined(Symbolic):
    """The texts of files, one after the other."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Lengths(Symbolic):
    """The different lengths of texts."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Extreme(Symbolic):
    """The least or the largest length of texts, or with `spread` the difference of both."""

    texts: tuple[Text, ...]
    largest: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Lines(Symbolic):
    """The lines of a text: all of them, or with `skip_blank` those that are not blank, stripped."""

    text: Text
    skip_blank: bool = False


@dataclass(frozen=True, slots=True)
class Length(Symbolic):
    """The length of a text, of its lines, or of a listing."""

    of: Any


@dataclass(frozen=True, slots=True)
class Size(Symbolic):
    """The size of a file in bytes; `status` where it is still the result of `stat`."""

    path: str
    status: bool = False


@dataclass(frozen=True, slots=True)
class DistinctLines(Symbolic):
    """The different ones of lines."""

    lines: Lines


@dataclass(frozen=True, slots=True)
class Listing(Symbolic):
    """What lies in a folder: paths, or with `names` their names."""

    path: str
    names: bool = False
    kind: str | None = None
    glob: str = "*"
    deep: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """The listing as arguments of `filesystem.entryCount`."""
        given = {"kind": self.kind, "ignore": list(self.ignore), "deep": self.deep}
        glob = {} if self.glob == "*" else {"glob": self.glob}
        return {"path": self.path, **glob, **{key: value for key, value in given.items() if value}}


@dataclass(frozen=True, slots=True)
class JsonPart(Symbolic):
    """The JSON in a file, or the part that a pointer leads to."""

    path: str
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class OpenFile(Symbolic):
    """A file that was opened for reading, as text or with `binary` as bytes."""

    path: str
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Content(Symbolic):
    """The bytes of a file, or with an algorithm their digest; `written` where that is a text."""

    path: str
    algorithm: str = ""
    written: bool = False


@dataclass(frozen=True, slots=True)
class Response(Symbolic):
    """The answer of GitHub's REST interface for an endpoint of a repository."""

    repository: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class RestObject(Symbolic):
    """A part of a JSON answer of GitHub: a file's record, an issue, its labels, its text."""

    kind: str
    repository: str
    arguments: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Encoded(Symbolic):
    """A text that is still in base64."""

    text: Text


@dataclass(frozen=True, slots=True)
class Choice(Symbolic):
    """One of several values, each under a condition."""

    options: tuple[tuple[Formula, Any], ...]


@dataclass(eq=False, slots=True)
class Collected(Symbolic):
    """A list or a set that was filled step by step, each item under a condition."""

    items: list[tuple[Formula, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Count(Symbolic):
    """A number that was counted up by one, each time under a condition; `many` where one may stand for several."""

    base: int
    guards: tuple[Formula, ...]
    many: bool = False


@dataclass(eq=False, slots=True)
class Cursor(Symbolic):
    """A cursor, or a connection: the query that it ran last, under which condition, or why that is not known."""

    query: str | None = None
    guard: Formula = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rows(Symbolic):
    """All rows of a query; `flat` where each is its only cell, `distinct` where they were made a set."""

    query: str
    flat: bool = False
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class FirstRow(Symbolic):
    """The first row of a query, or None."""

    query: str


@dataclass(frozen=True, slots=True)
class Cell(Symbolic):
    """A cell of the first row of a query that gives one, or what is calculated with it; its columns are c1, c2, …"""

    query: str
    expression: str


@dataclass(frozen=True, slots=True)
class Pairs(Symbolic):
    """Rows of a query beside those of another one, or beside constants; `numbered` by `enumerate`."""

    rows: Rows
    others: Any
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Function(Symbolic):
    """A function of the verifier."""

    node: ast.FunctionDef | ast.Lambda
    scope: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Named(Symbolic):
    """A module or a function of Python's library, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Bound(Symbolic):
    """A method of a value."""

    value: Any
    name: str


def is_plain(value: Any) -> bool:
    """Say whether a value is an ordinary one through and through."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(part) for key, part in value.items())
    return not isinstance(value, Symbolic)
