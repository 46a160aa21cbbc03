"""Values of a verifier that is read: what is known of the end state, without there being one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quarterturn_import.importers.formula import Formula


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that was not understood, with the place and the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cond:
    """A truth value that depends on the end state."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class FsPath:
    """A path below the folder of the task; `.` is the folder itself."""

    path: str


@dataclass(frozen=True, slots=True)
class Text:
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
class Joined:
    """The texts of files, one after the other."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Lengths:
    """The different lengths of texts."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the largest length of texts, or with `spread` the difference of both."""

    texts: tuple[Text, ...]
    largest: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text: all of them, or with `skip_blank` those that are not blank, stripped."""

    text: Text
    skip_blank: bool = False


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a text, of its lines, or of a listing."""

    of: Any


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a file in bytes; `status` where it is still the result of `stat`."""

    path: str
    status: bool = False


@dataclass(frozen=True, slots=True)
class DistinctLines:
    """The different ones of lines."""

    lines: Lines


@dataclass(frozen=True, slots=True)
class Listing:
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
class JsonPart:
    """The JSON in a file, or the part that a pointer leads to."""

    path: str
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that was opened for reading, as text or with `binary` as bytes."""

    path: str
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, or with an algorithm their digest; `written` where that is a text."""

    path: str
    algorithm: str = ""
    written: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of GitHub's REST interface for an endpoint of a repository."""

    repository: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class RestObject:
    """A part of a JSON answer of GitHub: a file's record, an issue, its labels, its text."""

    kind: str
    repository: str
    arguments: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text that is still in base64."""

    text: Text


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values, each under a condition."""

    options: tuple[tuple[Formula, Any], ...]


@dataclass(eq=False, slots=True)
class Collected:
    """A list or a set that was filled step by step, each item under a condition."""

    items: list[tuple[Formula, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Count:
    """A number that was counted up by one, each time under a condition; `many` where one may stand for several."""

    base: int
    guards: tuple[Formula, ...]
    many: bool = False


@dataclass(eq=False, slots=True)
class Cursor:
    """A cursor, or a connection: the query that it ran last, under which condition, or why that is not known."""

    query: str | None = None
    guard: Formula = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a query; `flat` where each is its only cell, `distinct` where they were made a set."""

    query: str
    flat: bool = False
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The first row of a query, or None."""

    query: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the first row of a query that gives one, or what is calculated with it; its columns are c1, c2, …"""

    query: str
    expression: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of a query beside those of another one, or beside constants; `numbered` by `enumerate`."""

    rows: Rows
    others: Any
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the verifier."""

    node: ast.FunctionDef | ast.Lambda
    scope: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A module or a function of Python's library, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of a value."""

    value: Any
    name: str


SYMBOLIC = (
    Opaque,
    Cond,
    FsPath,
    Text,
    Joined,
    Lengths,
    Extreme,
    Lines,
    DistinctLines,
    Length,
    Size,
    Listing,
    JsonPart,
    OpenFile,
    Content,
    Response,
    RestObject,
    Encoded,
    Choice,
    Collected,
    Count,
    Cursor,
    Rows,
    FirstRow,
    Cell,
    Pairs,
    Function,
    Named,
    Bound,
)


def is_plain(value: Any) -> bool:
    """Say whether a value is an ordinary one through and through."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(part) for key, part in value.items())
    return not isinstance(value, SYMBOLIC)
