"""Plan of one SELECT: its sources, condition, groups, window functions, output and order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verifiers.sql.aggregates import aggregate
from verifiers.sql.compiler import Compiled, Plan, resolved
from verifiers.sql.errors import QueryFailed
from verifiers.sql.names import AGGREGATES
from verifiers.sql.scope import Environment, Row, Scope
from verifiers.sql.sorting import ordered
from verifiers.sql.syntax import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Item,
    Literal,
    Order,
    Select,
    Slot,
    Star,
    parts,
    walk,
)
from verifiers.sql.windows import windowed

if TYPE_CHECKING:
    from verifiers.sql.plan import Planner

Rows = Callable[[Environment | None], list[Row]]
A_ROW, A_GROUP = 2, 8


class Selection:
    """A SELECT on its way to a plan; what it computes for a row stands behind the row's columns."""

    def __init__(self, planner: Planner, select: Select, order: Sequence[Order], parent: Scope | None) -> None:
        self.planner, self.select, self.budget = planner, select, planner.budget
        if select.source is None:
            self.scope: Scope = Scope((), parent)
            self.rows: Rows = lambda _: [()]
        else:
            self.scope, self.rows = planner.source(select.source, parent)
        self.items = self._named_items()
        self.order = tuple(replace(one, key=self._order_key(one.key)) for one in order)
        self.group = tuple(self._group_key(key) for key in select.group)

    def plan(self) -> Plan:
        """Make the plan.

        Raises:
            QueryFailed: it fails on this database.
        """
        self._keep_where()
        self._group_rows()
        self._compute_windows()
        return self._output()

    # names

    def _named_items(self) -> list[tuple[str, Expression]]:
        made: list[tuple[str, Expression]] = []
        for item in self.select.items:
            if isinstance(item.value, Star):
                made += [(slot.name, slot) for slot in self.scope.starred(item.value.table)]
            else:
                made.append((_name(item), resolved(item.value, self.scope)))
        return made

    def _order_key(self, key: Expression) -> Expression:
        """Return what a key of the order means: an output column by its number or name, else an expression."""
        if isinstance(key, Literal) and isinstance(key.value, int) and not isinstance(key.value, bool):
            return self._numbered(key.value)
        if isinstance(key, Column) and key.table is None:
            named = [value for name, value in self.items if name == key.name]
            if named:
                if any(value != named[0] for value in named):
                    raise QueryFailed("an order names an output column that is there twice")
                return named[0]
        made: Expression = resolved(key, self.scope)
        return made

    def _group_key(self, key: Expression) -> Expression:
        """Return what a key of GROUP BY means: an output column by its number, a column, or an output column's name."""
        if isinstance(key, Literal) and isinstance(key.value, int):
            return self._numbered(key.value)
        if isinstance(key, Column) and key.table is None and not self.scope.places(key):
            named = [value for name, value in self.items if name == key.name]
            if named:
                return named[0]
        made: Expression = resolved(key, self.scope)
        return made

    def _numbered(self, number: int) -> Expression:
        if not 0 < number <= len(self.items):
            raise QueryFailed("an output column is named by a number that there is none of")
        return self.items[number - 1][1]

    def _outputs(self) -> tuple[Expression, ...]:
        return (*(value for _, value in self.items), *(one.key for one in self.order))

    # rows

    def _keep_where(self) -> None:
        if self.select.where is None:
            return
        condition = self.planner.compiler.condition(resolved(self.select.where, self.scope), self.scope)
        run, rows = condition.run, self.rows

        def kept(env: Environment | None) -> list[Row]:
            found = rows(env)
            self.budget.step(len(found) * (1 + condition.cost))
            return [row for row in found if run((row, env))]

        self.rows = kept

    def _group_rows(self) -> None:
        having = None if self.select.having is None else resolved(self.select.having, self.scope)
        outputs = self._outputs() if having is None else (*self._outputs(), having)
        calls = _calls(outputs, aggregates=True)
        if not calls and not self.group and having is None:
            return
        for part in outputs:
            self._must_be_grouped(part)
        keys = [self.planner.compiler.compile(key, self.scope) for key in self.group]
        folds = [self._fold(call) for call in calls]
        rows, width = self.rows, len(self.scope.fields)
        cost = A_ROW + sum(key.cost for key in keys) + sum(fold[2] for fold in folds)

        def grouped(env: Environment | None) -> list[Row]:
            found = rows(env)
            self.budget.step(len(found) * cost)
            groups: dict[Row, list[Row]] = {} if keys else {(): []}
            for row in found:
                groups.setdefault(tuple(key.run((row, env)) for key in keys), []).append(row)
            self.budget.step(A_GROUP * len(groups))
            empty = (None,) * width
            return [
                (members[0] if members else empty) + tuple(fold[1](members, env) for fold in folds)
                for members in groups.values()
            ]

        self.rows = grouped
        for place, (call, fold) in enumerate(zip(calls, folds, strict=True), width):
            self.scope.computed[call] = (place, fold[0])
        if having is not None:
            condition, made = self.planner.compiler.condition(having, self.scope), self.rows
            self.rows = lambda env: [row for row in made(env) if condition.run((row, env))]

    def _must_be_grouped(self, part: Any) -> None:
        """Refuse a column that a group has more than one value of, as PostgreSQL does.

        Raises:
            QueryFailed: it is neither a key, nor of a table whose primary key is among them, nor in an aggregate.
        """
        if part in self.group or (isinstance(part, Call) and part.name in AGGREGATES and part.over is None):
            return
        if isinstance(part, Slot):
            if part.depth == 0 and not self._follows(part):
                raise QueryFailed(f"the column {part.name} is neither grouped nor in an aggregate")
            return
        for inner in parts(part):
            self._must_be_grouped(inner)

    def _follows(self, slot: Slot) -> bool:
        table = self.scope.fields[slot.index].table
        keys = [place for place, known in enumerate(self.scope.fields) if known.table == table and known.key]
        grouped = {key.index for key in self.group if isinstance(key, Slot) and key.depth == 0}
        return bool(keys) and grouped.issuperset(keys)

    def _fold(self, call: Call) -> tuple[str, Callable[[list[Row], Environment | None], Any], int]:
        compiler = self.planner.compiler
        arguments = [compiler.compile(argument, self.scope) for argument in call.arguments]
        where = None if call.where is None else compiler.condition(call.where, self.scope)
        order = [compiler.compile(one.key, self.scope) for one in call.order]
        type_, fold = aggregate(call.name, [one.type for one in arguments], self.budget)
        runs = [one.run for one in arguments]

        def folded(rows: list[Row], env: Environment | None) -> Any:
            if where is not None:
                rows = [row for row in rows if where.run((row, env))]
            if order:
                keyed = [(tuple(one.run((row, env)) for one in order), row) for row in rows]
                rows = ordered(keyed, call.order, [one.type for one in order], self.budget)
            if call.star:
                return len(rows)
            values = [tuple(run((row, env)) for run in runs) for row in rows]
            values = [value for value in values if value[0] is not None]
            if call.distinct:
                values = list(dict.fromkeys(values))
            return fold([value[0] for value in values] if len(runs) == 1 else values)

        return type_, folded, A_ROW + sum(one.cost for one in [*arguments, *order, *([where] if where else [])])

    def _compute_windows(self) -> None:
        for call in _calls(self._outputs(), aggregates=False):
            type_, compute = windowed(self.planner.compiler, call, self.scope, self.budget)
            self._append(compute)
            self.scope.computed[call] = (len(self.scope.fields) + len(self.scope.computed), type_)

    def _append(self, compute: Callable[[list[Row], Environment | None], list[Any]]) -> None:
        rows = self.rows

        def appended(env: Environment | None) -> list[Row]:
            found = rows(env)
            return [(*row, value) for row, value in zip(found, compute(found, env), strict=True)]

        self.rows = appended

    # output

    def _output(self) -> Plan:
        compiler, scope, select = self.planner.compiler, self.scope, self.select
        compiled = [compiler.compile(value, scope) for _, value in self.items]
        columns = [(name, one.type) for (name, _), one in zip(self.items, compiled, strict=True)]
        keys = [compiler.compile(one.key, scope) for one in self.order]
        if select.distinct and any(one.key not in {value for _, value in self.items} for one in self.order):
            raise QueryFailed("DISTINCT is ordered by something that it does not give")
        on = [compiler.compile(resolved(key, scope), scope) for key in select.distinct_on]
        rows, cost = self.rows, A_ROW + sum(one.cost for one in [*compiled, *keys, *on])

        def output(env: Environment | None) -> list[Row]:
            found = rows(env)
            self.budget.step(len(found) * cost)
            made = [(row, tuple(one.run((row, env)) for one in compiled)) for row in found]
            if select.distinct:
                made = list({values: (row, values) for row, values in reversed(made)}.values())[::-1]
            if keys:
                keyed = [(tuple(key.run((row, env)) for key in keys), (row, values)) for row, values in made]
                made = ordered(keyed, self.order, [key.type for key in keys], self.budget)
            if on:
                return _first_of_each(made, on, env)
            return [values for _, values in made]

        return Plan(columns, output, scope.outer)


def _first_of_each(made: list[tuple[Row, Row]], on: Sequence[Compiled], env: Environment | None) -> list[Row]:
    firsts: dict[Row, Row] = {}
    for row, values in made:
        firsts.setdefault(tuple(one.run((row, env)) for one in on), values)
    return list(firsts.values())


def _calls(parts: Any, *, aggregates: bool) -> list[Call]:
    """Return the different aggregates, or the window functions, in expressions."""
    calls = [part for part in walk(parts) if isinstance(part, Call)]
    wanted = [
        call
        for call in calls
        if (call.over is None and call.name in AGGREGATES if aggregates else call.over is not None)
    ]
    for call in wanted:
        if any(isinstance(inner, Call) and inner in wanted for inner in walk((call.arguments, call.where))):
            raise QueryFailed("an aggregate is inside another one")
    return list(dict.fromkeys(wanted))


def _name(item: Item) -> str:
    if item.alias is not None:
        return item.alias
    value = item.value
    while isinstance(value, Cast):
        value = value.operand
    match value:
        case Column(_, name) | Call(name):
            return name
        case Case():
            return "case"
    return "?column?"
