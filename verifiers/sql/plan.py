"""Plans of queries over the tables of a database, counted in steps.

A plan joins its sources, keeps the rows that the condition takes, groups them, computes window functions, and orders
what comes out. Rows without an order come as the tables have them, and those that an order holds equal stay in that
order. Text is ordered by its code points (the collation C).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from verifiers.budget import ReadingBudget
from verifiers.quoting import quoted
from verifiers.sql.compiler import Compiler, Plan
from verifiers.sql.errors import QueryFailed
from verifiers.sql.scope import Environment, Field, Row, Scope
from verifiers.sql.select import Selection
from verifiers.sql.sorting import ordered
from verifiers.sql.sources import joined_rows
from verifiers.sql.syntax import (
    Column,
    Derived,
    Expression,
    Join,
    Literal,
    Named,
    Order,
    Query,
    Select,
    SetOperation,
    Slot,
    Source,
    Table,
    Values,
)
from verifiers.sql.values import common, converter

A_ROW = 2


class StoredTable(NamedTuple):
    """A table: its columns with their types, its rows, and the names of its primary key."""

    columns: Sequence[tuple[str, str]]
    rows: list[Row]
    key: Sequence[str] = ()


class Tables(Protocol):
    """The tables that a query can read."""

    def table(self, schema: str | None, name: str) -> StoredTable:
        """Return a table.

        Raises:
            QueryFailed: there is none.
        """
        ...


class Result(NamedTuple):
    """The rows that a query gives, and the names of its columns."""

    columns: Sequence[str]
    rows: list[Row]


def rows_of(query: Query, tables: Tables, budget: ReadingBudget) -> Result:
    """Evaluate a query.

    Raises:
        QueryFailed: it fails on this database.
        BudgetSpent: it takes more steps than there are.
    """
    plan = Planner(tables, budget).plan(query, None)
    return Result([name for name, _ in plan.columns], plan.rows(None))


class Planner:
    """A maker of plans; `named` has the queries of the WITH lists around it."""

    def __init__(self, tables: Tables, budget: ReadingBudget, named: Mapping[str, Plan] | None = None) -> None:
        self.tables, self.budget, self.named = tables, budget, dict(named or {})
        self.compiler = Compiler(self, budget)

    def plan(self, query: Query, parent: Scope | None) -> Plan:
        """Make the plan of a query; what it gives is kept where it does not depend on a query around it.

        Raises:
            QueryFailed: it fails on this database.
        """
        inner = Planner(self.tables, self.budget, self.named)
        for named in query.named:
            inner.named[named.name] = inner.named_plan(named, parent)
        body = query.body
        if isinstance(body, Select):
            plan = Selection(inner, body, query.order, parent).plan()
        else:
            plan = inner.combined(body, query.order, parent)
        return _kept(inner.limited(plan, query))

    def named_plan(self, named: Named, parent: Scope | None) -> Plan:
        """Make the plan of a query of a WITH list."""
        plan = self.plan(named.query, parent)
        if plan.outer:
            raise QueryFailed("a query of WITH names a column of a query around it")
        return _renamed(plan, named.columns)

    def limited(self, plan: Plan, query: Query) -> Plan:
        """Return a plan with its LIMIT and OFFSET."""
        if query.limit is None and query.offset is None:
            return plan
        start, count = (self._number(part) for part in (query.offset, query.limit))

        def rows(env: Environment | None) -> list[Row]:
            found = plan.rows(env)
            end = None if count is None else (start or 0) + count
            return found[start or 0 : end]

        return Plan(plan.columns, rows, plan.outer)

    def _number(self, part: Expression | None) -> int | None:
        if part is None:
            return None
        made = self.compiler.compile(part, Scope((), None))
        value = None if made.type not in {"int4", "int8"} else made.run(((), None))
        if value is None or value < 0:
            raise QueryFailed("LIMIT or OFFSET is no number")
        return int(value)

    # bodies that are not SELECT

    def combined(self, body: Values | SetOperation, order: Sequence[Order], parent: Scope | None) -> Plan:
        """Make the plan of VALUES or of a set operation."""
        plan = self._values(body, parent) if isinstance(body, Values) else self._set(body, parent)
        if not order:
            return plan
        scope = Scope([Field("", name, type_) for name, type_ in plan.columns], None)
        keys = [_output_key(one.key, scope) for one in order]
        compiled = [self.compiler.compile(key, scope) for key in keys]
        env_rows = plan.rows

        def rows(env: Environment | None) -> list[Row]:
            found = env_rows(env)
            sort_rows = [(tuple(one.run((row, None)) for one in compiled), row) for row in found]
            return ordered(sort_rows, order, [one.type for one in compiled], self.budget)

        return Plan(plan.columns, rows, plan.outer)

    def _values(self, body: Values, parent: Scope | None) -> Plan:
        scope = Scope((), parent)
        compiled = [[self.compiler.compile(cell, scope) for cell in row] for row in body.rows]
        columns, parts = [], []
        for number, cells in enumerate(zip(*compiled, strict=True), 1):
            type_, converted = self.compiler.all_as(cells)
            columns.append((f"column{number}", type_))
            parts.append([one.run for one in converted])

        def rows(env: Environment | None) -> list[Row]:
            self.budget.step(len(body.rows) * len(columns))
            return [tuple(run(((), env)) for run in row) for row in zip(*parts, strict=True)]

        return Plan(columns, rows, scope.outer)

    def _set(self, body: SetOperation, parent: Scope | None) -> Plan:
        left, right = self.plan(body.left, parent), self.plan(body.right, parent)
        if len(left.columns) != len(right.columns):
            raise QueryFailed(f"the queries of {body.operator.upper()} have different numbers of columns")
        types = [common([one, two]) for (_, one), (_, two) in zip(left.columns, right.columns, strict=True)]
        sides = [(plan, _conversion(plan, types)) for plan in (left, right)]

        def rows(env: Environment | None) -> list[Row]:
            one, two = ([convert(row) for row in plan.rows(env)] for plan, convert in sides)
            self.budget.step(A_ROW * (len(one) + len(two)))
            return _united(body.operator, one, two, every=body.every)

        columns = [(name, type_) for (name, _), type_ in zip(left.columns, types, strict=True)]
        return Plan(columns, rows, left.outer or right.outer)

    # sources

    def source(self, source: Source, parent: Scope | None) -> tuple[Scope, Callable[[Environment | None], list[Row]]]:
        """Return the scope of a source, and the function that gives its rows."""
        match source:
            case Table():
                return self._table(source, parent)
            case Derived():
                plan = _renamed(self.plan(source.query, parent), source.columns)
                fields = [Field(source.alias, name, type_) for name, type_ in plan.columns]
                return Scope(fields, parent, plan.outer), plan.rows
            case Join():
                return joined_rows(self, source, parent)

    def _table(self, source: Table, parent: Scope | None) -> tuple[Scope, Callable[[Environment | None], list[Row]]]:
        if source.schema is None and source.name in self.named:
            plan = self.named[source.name]
            return Scope([Field(source.alias, name, type_) for name, type_ in plan.columns], parent), plan.rows
        stored = self.tables.table(source.schema, source.name)
        fields = [Field(source.alias, name, type_, key=name in stored.key) for name, type_ in stored.columns]
        rows = stored.rows
        return Scope(fields, parent), lambda _: rows


def _output_key(key: Expression, scope: Scope) -> Expression:
    """Return the column that a key of an order means, where only the output can be named."""
    if isinstance(key, Literal) and isinstance(key.value, int):
        if not 0 < key.value <= len(scope.fields):
            raise QueryFailed("an order names a column by a number that there is none of")
        found = scope.fields[key.value - 1]
        return Slot(0, key.value - 1, found.type, found.name)
    if not isinstance(key, Column) or key.table is not None:
        raise QueryFailed("the order of a set operation names something else than its columns")
    return scope.find(key)


def _renamed(plan: Plan, names: Sequence[str]) -> Plan:
    if len(names) > len(plan.columns):
        raise QueryFailed(f"there are more names than columns: {quoted(list(names))}")
    columns = [
        (names[place] if place < len(names) else name, "text" if type_ == "unknown" else type_)
        for place, (name, type_) in enumerate(plan.columns)
    ]
    return Plan(columns, plan.rows, plan.outer)


def _kept(plan: Plan) -> Plan:
    """Return a plan that is run once, if it does not depend on a query around it."""
    if plan.outer:
        return plan
    kept: list[list[Row]] = []

    def rows(env: Environment | None) -> list[Row]:
        if not kept:
            kept.append(plan.rows(env))
        return kept[0]

    return Plan(plan.columns, rows, outer=False)


def _conversion(plan: Plan, types: Sequence[str]) -> Callable[[Row], Row]:
    made = [converter(source, type_) for (_, source), type_ in zip(plan.columns, types, strict=True)]
    if all(source == type_ for (_, source), type_ in zip(plan.columns, types, strict=True)):
        return lambda row: row
    return lambda row: tuple(
        None if value is None else convert(value) for convert, value in zip(made, row, strict=True)
    )


def _united(operator: str, one: list[Row], two: list[Row], *, every: bool) -> list[Row]:
    if operator == "union":
        return one + two if every else list(dict.fromkeys(one + two))
    if every:
        raise QueryFailed(f"{operator.upper()} ALL is not evaluated here")
    others = set(two)
    wanted = operator == "intersect"
    return [row for row in dict.fromkeys(one) if (row in others) is wanted]
