"""Parser of a query: one SELECT or VALUES with WITH, joins, groups, windows and set operations.

The grammar is PostgreSQL's (its manual, "SELECT" and chapter 4.2), without what changes data, locks, calls anything
that is not in `verifiers.sql.names`, or depends on the clock.
"""

from __future__ import annotations

from functools import lru_cache

from verifiers.sql.errors import NotSupported
from verifiers.sql.expression_parser import ExpressionParser
from verifiers.sql.names import RESERVED
from verifiers.sql.syntax import (
    Derived,
    Expression,
    Item,
    Join,
    Named,
    Order,
    Query,
    Select,
    SetOperation,
    Source,
    Star,
    Table,
    Values,
)

_NO_NAMES: tuple[str, ...] = ()
_JOINS = {"join", "inner", "left", "right", "full", "cross", "natural"}


@lru_cache(maxsize=256)
def parsed(text: str) -> Query:
    """Parse a query.

    Raises:
        NotSupported: it is none, or has something that is not evaluated here; the message names it.
    """
    parser = Parser(text)
    try:
        query = parser.query()
    except RecursionError:
        raise NotSupported("the query nests too deep") from None
    parser.take(";")
    if parser.here.kind != "end":
        raise parser.unexpected("the end of the query")
    return query


class Parser(ExpressionParser):
    """A parser at a place of its text."""

    def query(self) -> Query:
        """Parse a query up to what does not belong to it."""
        with self.deeper():
            named = self._named() if self.take("with") else ()
            body = self._set_operation()
            order: tuple[Order, ...] = ()
            limit, offset = None, None
            if self.take("order"):
                self.expect("by")
                order = self.orders()
            while self.here.text in {"limit", "offset"} and self.here.kind == "word":
                if self.take("limit"):
                    limit = None if self.take("all") else self.expression()
                elif self.take("offset"):
                    offset = self.expression()
                    self.take("rows") or self.take("row")
            return Query(named, body, order, limit, offset)

    def _named(self) -> tuple[Named, ...]:
        if self.take("recursive"):
            raise self.refused("the query has WITH RECURSIVE")
        made = []
        while True:
            name = self.name()
            columns = self._names_in_brackets() if self.here.text == "(" else ()
            self.expect("as")
            self.take("not")
            self.take("materialized")
            self.expect("(")
            made.append(Named(name, columns, self.query()))
            self.expect(")")
            if not self.take(","):
                return tuple(made)

    def _set_operation(self) -> Select | Values | SetOperation:
        left = self._intersection()
        while self.here.kind == "word" and self.here.text in {"union", "except"}:
            operator, every = self._operator()
            left = SetOperation(operator, every, _query(left), _query(self._intersection()))
        return left if not isinstance(left, Query) else _body(left)

    def _intersection(self) -> Select | Values | SetOperation | Query:
        left = self._simple()
        while self.here.kind == "word" and self.here.text == "intersect":
            operator, every = self._operator()
            left = SetOperation(operator, every, _query(left), _query(self._simple()))
        return left

    def _operator(self) -> tuple[str, bool]:
        operator = self.next().text
        every = self.take("all")
        self.take("distinct")
        return operator, every

    def _simple(self) -> Select | Values | SetOperation | Query:
        if self.take("("):
            query = self.query()
            self.expect(")")
            return query
        if self.take("values"):
            rows = [self._row()]
            while self.take(","):
                rows.append(self._row())
            if len({len(row) for row in rows}) > 1:
                raise self.refused("the rows of VALUES have different lengths")
            return Values(tuple(rows))
        self.expect("select")
        return self._select()

    def _row(self) -> tuple[Expression, ...]:
        self.expect("(")
        row = self.expressions()
        self.expect(")")
        return row

    def _select(self) -> Select:
        distinct_on: tuple[Expression, ...] = ()
        distinct = False
        if self.take("distinct"):
            distinct = not self.take("on")
            if not distinct:
                distinct_on = self._row()
        else:
            self.take("all")
        items = () if self._is_at(("from", "where", ")", ";", "")) else self._items()
        source = self._sources() if self.take("from") else None
        where = self.expression() if self.take("where") else None
        group: tuple[Expression, ...] = ()
        if self.take("group"):
            self.expect("by")
            group = self.expressions()
        having = self.expression() if self.take("having") else None
        if self.here.kind == "word" and self.here.text in {"window", "for", "fetch", "into"}:
            raise self.refused(f"the query has {self.here.text.upper()}")
        return Select(items, source, where, group, having, distinct, distinct_on)

    def _is_at(self, words: tuple[str, ...]) -> bool:
        return self.here.kind in {"word", "sign", "end"} and self.here.text in words

    def _items(self) -> tuple[Item, ...]:
        made = [self._item()]
        while self.take(","):
            made.append(self._item())
        return tuple(made)

    def _item(self) -> Item:
        if self.take("*"):
            return Item(Star(None), None)
        ahead = self.ahead(2)
        if self.here.kind in {"word", "quoted"} and [token.text for token in ahead] == [".", "*"]:
            table = self.next().text
            self.next(), self.next()
            return Item(Star(table), None)
        value = self.expression()
        if self.take("as"):
            return Item(value, self.label())
        return Item(value, self._alias())

    def _alias(self) -> str | None:
        is_name = self.here.kind == "quoted" or (self.here.kind == "word" and self.here.text not in RESERVED)
        return self.next().text if is_name else None

    def _sources(self) -> Source:
        source = self._joined()
        while self.take(","):
            source = Join("cross", source, self._joined(), None, ())
        return source

    def _joined(self) -> Source:
        source = self._source()
        while self.here.kind == "word" and self.here.text in _JOINS:
            kind = self.next().text
            if kind == "natural":
                raise self.refused("the query has NATURAL JOIN")
            if kind != "join":
                self.take("outer")
                self.expect("join")
            kind = "inner" if kind == "join" else kind
            right = self._source()
            on, using = None, _NO_NAMES
            if kind != "cross":
                if self.take("using"):
                    using = self._names_in_brackets()
                else:
                    self.expect("on")
                    on = self.expression()
            source = Join(kind, source, right, on, using)
        return source

    def _source(self) -> Source:
        if self.take("lateral"):
            raise self.refused("the query has LATERAL")
        if self.here.text == "(" and self.here.kind == "sign":
            return self._in_brackets()
        first = self.name()
        schema, name = (first, self.name()) if self.take(".") else (None, first)
        if self.here.text == "(" and self.here.kind == "sign":
            raise self.refused("the query reads from a function")
        self.take("as")
        return Table(schema, name, self._alias() or name)

    def _in_brackets(self) -> Source:
        before = self.place
        self.expect("(")
        if self._is_at(("select", "values", "with", "(")):
            try:
                query = self.query()
                self.expect(")")
            except NotSupported:
                if self.tokens[before + 1].text != "(":
                    raise
            else:
                self.take("as")
                alias = self._alias()
                if alias is None:
                    raise self.refused("a query in FROM has no name")
                return Derived(query, alias, self._names_in_brackets() if self.here.text == "(" else ())
            self.place = before + 1
        source = self._joined()
        self.expect(")")
        return source

    def _names_in_brackets(self) -> tuple[str, ...]:
        self.expect("(")
        made = [self.name()]
        while self.take(","):
            made.append(self.name())
        self.expect(")")
        return tuple(made)


def _query(part: Select | Values | SetOperation | Query) -> Query:
    return part if isinstance(part, Query) else Query((), part)


def _body(query: Query) -> Select | Values | SetOperation:
    """Return a query in brackets as a body: with an order of its own it stays a query of its own."""
    if not query.named and not query.order and query.limit is None and query.offset is None:
        return query.body
    return Select((Item(Star(None), None),), Derived(query, "", ()), None, (), None, False, ())  # noqa: FBT003
