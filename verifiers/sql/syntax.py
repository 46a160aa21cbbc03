"""Syntax tree of a query: expressions, tables and queries, as the parser makes them. All of it is hashable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; a text and NULL have the type `unknown` until their place gives them one."""

    value: Any
    type: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its name, perhaps with the name of its table."""

    table: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A column that was found: so many queries further out, at this place of the row."""

    depth: int
    index: int
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Star:
    """All columns, or all of a table."""

    table: str | None


@dataclass(frozen=True, slots=True)
class Unary:
    """`not`, `-`, `+`, or `is null`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two expressions."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to a type, with its length or its precision and scale."""

    operand: Expression
    type: str
    modifiers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """A key of an order."""

    key: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """The rows that a window function sees: `range` and `rows` end at the current row, `all` is the partition."""

    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    frame: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, an aggregate or a window function."""

    name: str
    arguments: tuple[Expression, ...]
    star: bool = False
    distinct: bool = False
    order: tuple[Order, ...] = ()
    where: Expression | None = None
    over: Window | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The first branch whose condition is true."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class InList:
    """A value that is one of a list."""

    operand: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class InQuery:
    """A value that is in the one column of a query."""

    operand: Expression
    query: Query


@dataclass(frozen=True, slots=True)
class Exists:
    """A query gives a row."""

    query: Query


@dataclass(frozen=True, slots=True)
class Scalar:
    """The one value that a query gives, or null where it gives no row."""

    query: Query


Expression: TypeAlias = (
    Literal | Column | Slot | Star | Unary | Binary | Cast | Call | Case | InList | InQuery | Exists | Scalar
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table by its name."""

    schema: str | None
    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A query in the place of a table."""

    query: Query
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Two sources joined: `inner`, `left`, `right`, `full` or `cross`."""

    kind: str
    left: Source
    right: Source
    on: Expression | None
    using: tuple[str, ...]


Source: TypeAlias = Table | Derived | Join


@dataclass(frozen=True, slots=True)
class Item:
    """An output column."""

    value: Expression
    alias: str | None


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT; `distinct_on` are the keys of DISTINCT ON."""

    items: tuple[Item, ...]
    source: Source | None
    where: Expression | None
    group: tuple[Expression, ...]
    having: Expression | None
    distinct: bool
    distinct_on: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows of constants."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class SetOperation:
    """`union`, `intersect` or `except` of two queries."""

    operator: str
    every: bool
    left: Query
    right: Query


@dataclass(frozen=True, slots=True)
class Named:
    """A query of a WITH list."""

    name: str
    columns: tuple[str, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query."""

    named: tuple[Named, ...]
    body: Select | Values | SetOperation
    order: tuple[Order, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None


_INNER = (Unary, Binary, Cast, Call, Case, InList, InQuery, Order, Window)


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of an expression in which each direct part is changed; queries inside it are left alone."""
    if isinstance(node, tuple):
        return tuple(rebuilt(part, change) if isinstance(part, tuple) else change(part) for part in node)
    if not isinstance(node, _INNER):
        return node
    parts = {}
    for field in dataclasses.fields(node):
        part = getattr(node, field.name)
        if isinstance(part, tuple):
            parts[field.name] = rebuilt(part, change)
        elif dataclasses.is_dataclass(part) and not isinstance(part, Query):
            parts[field.name] = change(part)
    return dataclasses.replace(node, **parts)


def parts(node: Any) -> Iterator[Any]:
    """Yield the direct parts of an expression, or of a tuple of them; queries inside it are left alone."""
    inner = node if isinstance(node, tuple) else [getattr(node, field.name) for field in dataclasses.fields(node)]
    for part in inner:
        if isinstance(part, tuple):
            yield from parts(part)
        elif dataclasses.is_dataclass(part) and not isinstance(part, Query):
            yield part


def walk(node: Any) -> Iterator[Any]:
    """Yield an expression, or those of a tuple, and all expressions in it, outermost first."""
    if not isinstance(node, tuple):
        yield node
    for part in parts(node):
        yield from walk(part)


def tables_in(query: Query) -> list[Table]:
    """Return the tables that a query reads, in its order; the names of its WITH lists are none."""
    nodes = list(_nodes(query))
    named = {node.name for node in nodes if isinstance(node, Named)}
    return [node for node in nodes if isinstance(node, Table) and (node.schema is not None or node.name not in named)]


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a node and all that is in it, queries too."""
    if isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)
    elif dataclasses.is_dataclass(node):
        yield node
        for field in dataclasses.fields(node):
            yield from _nodes(getattr(node, field.name))
