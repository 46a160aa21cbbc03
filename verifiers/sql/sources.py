"""Joins of sources: by hash where conditions compare a column of each side, else row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from verifiers.sql.compiler import Run, resolved
from verifiers.sql.errors import QueryFailed
from verifiers.sql.operators import comparable
from verifiers.sql.scope import Environment, Row, Scope
from verifiers.sql.syntax import Binary, Column, Expression, Join, Slot, walk
from verifiers.sql.values import converter

if TYPE_CHECKING:
    from verifiers.sql.plan import Planner

A_PAIR, A_JOINED_ROW = 1, 6


def joined_rows(
    planner: Planner, join: Join, parent: Scope | None
) -> tuple[Scope, Callable[[Environment | None], list[Row]]]:
    """Return the scope of a join, and the function that gives its rows.

    Raises:
        QueryFailed: its condition has no meaning here.
    """
    (left, left_rows), (right, right_rows) = planner.source(join.left, parent), planner.source(join.right, parent)
    if {field.table for field in left.fields if field.table} & {field.table for field in right.fields if field.table}:
        raise QueryFailed("two tables of a query have the same name")
    scope = Scope([*left.fields, *right.fields], parent, left.outer or right.outer)
    conditions = [resolved(part, scope) for part in _conjuncts(join.on)]
    if join.using:
        conditions = _merge(join, scope, len(left.fields))
    matcher = _Matcher(planner, scope, conditions, len(left.fields))
    empty_left, empty_right = (None,) * len(left.fields), (None,) * len(right.fields)
    keeps_left, keeps_right = join.kind in {"left", "full"}, join.kind in {"right", "full"}

    def rows(env: Environment | None) -> list[Row]:
        ones, twos = left_rows(env), right_rows(env)
        made, used = [], set()
        candidates = matcher.candidates(twos, env)
        for one in ones:
            matched = False
            for place in candidates(one):
                row = one + twos[place]
                if matcher.holds(row, env):
                    made.append(row)
                    used.add(place)
                    matched = True
            if keeps_left and not matched:
                made.append(one + empty_right)
        if keeps_right:
            made += [empty_left + two for place, two in enumerate(twos) if place not in used]
        return made

    return scope, rows


def _merge(join: Join, scope: Scope, width: int) -> list[Expression]:
    """Merge the columns of USING into those of the left side, or of the right side for a right join."""
    if join.kind == "full":
        raise QueryFailed("FULL JOIN with USING is not evaluated here")
    conditions: list[Expression] = []
    fields = list(scope.fields)
    for name in join.using:
        sides = [
            [place for place in scope.places(Column(None, name)) if (place < width) is is_left]
            for is_left in (True, False)
        ]
        if [len(side) for side in sides] != [1, 1]:
            raise QueryFailed("USING names a column that is not just once on each side")
        (left,), (right,) = sides
        kept, hidden = (right, left) if join.kind == "right" else (left, right)
        fields[kept] = fields[kept]._replace(merged=True)
        fields[hidden] = fields[hidden]._replace(hidden=True)
        slots = [Slot(0, place, fields[place].type, name) for place in (left, right)]
        conditions.append(Binary("=", *slots))
    scope.fields = fields
    return conditions


def _conjuncts(node: Expression | None) -> list[Expression]:
    if node is None:
        return []
    if isinstance(node, Binary) and node.operator == "and":
        return [*_conjuncts(node.left), *_conjuncts(node.right)]
    return [node]


class _Side(NamedTuple):
    """One side of an equality, and the conversion to the type that both have together."""

    run: Run
    convert: Callable[[Any], Any]


class _Matcher:
    """The condition of a join: equalities of the two sides, which are looked up, and the rest."""

    def __init__(self, planner: Planner, scope: Scope, conditions: Sequence[Expression], width: int) -> None:
        self.budget = planner.budget
        self.pairs: list[tuple[_Side, _Side]] = []
        rest = []
        for condition in conditions:
            sides = _sides(condition, width)
            if sides is None:
                rest.append(planner.compiler.condition(condition, scope))
                continue
            left, right = (planner.compiler.compile(side, scope) for side in sides)
            type_ = comparable(left.type, right.type, "=")
            if type_ == "bpchar":
                rest.append(planner.compiler.condition(condition, scope))
                continue
            self.pairs.append(
                (_Side(left.run, converter(left.type, type_)), _Side(right.run, converter(right.type, type_)))
            )
        self.rest = rest
        self.width = width
        self.cost = A_JOINED_ROW + sum(one.cost for one in rest)

    def candidates(self, rows: list[Row], env: Environment | None) -> Callable[[Row], Sequence[int]]:
        """Return the function from a row of the left side to the places of those on the right that may fit."""
        self.budget.step(len(rows) * (1 + len(self.pairs)))
        if not self.pairs:
            return lambda _: range(len(rows))
        padding = (None,) * self.width
        places: dict[Row, list[int]] = {}
        for place, row in enumerate(rows):
            key = self._key((padding + row, env), side=1)
            if key is not None:
                places.setdefault(key, []).append(place)

        def fitting(row: Row) -> Sequence[int]:
            self.budget.step(A_PAIR + len(self.pairs))
            key = self._key((row, env), side=0)
            return () if key is None else places.get(key, ())

        return fitting

    def _key(self, env: Environment, *, side: int) -> Row | None:
        made = []
        for pair in self.pairs:
            value = pair[side].run(env)
            if value is None:
                return None
            made.append(pair[side].convert(value))
        return tuple(made)

    def holds(self, row: Row, env: Environment | None) -> bool:
        self.budget.step(self.cost)
        return all(condition.run((row, env)) for condition in self.rest)


def _sides(condition: Expression, width: int) -> tuple[Expression, Expression] | None:
    """Return the two sides of an equality, that of the left source first, where each reads one source alone."""
    if not isinstance(condition, Binary) or condition.operator != "=":
        return None
    reads = [_reads(part, width) for part in (condition.left, condition.right)]
    if reads == ["left", "right"]:
        return condition.left, condition.right
    if reads == ["right", "left"]:
        return condition.right, condition.left
    return None


def _reads(node: Expression, width: int) -> str | None:
    slots = [part for part in walk(node) if isinstance(part, Slot)]
    if not slots or any(slot.depth for slot in slots) or not isinstance(node, Slot):
        return None
    return "left" if slots[0].index < width else "right"
