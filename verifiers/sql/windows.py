"""Window functions (PostgreSQL's manual, 3.5 and 9.22), computed for all rows of a query at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.sql.aggregates import aggregate
from verifiers.sql.compiler import Compiled, Compiler
from verifiers.sql.errors import QueryFailed
from verifiers.sql.names import AGGREGATES
from verifiers.sql.scope import Environment, Row, Scope
from verifiers.sql.sorting import ordered
from verifiers.sql.syntax import Call, Window
from verifiers.sql.values import converter

Compute = Callable[[list[Row], Environment | None], list[Any]]
A_ROW = 6
_MORE = 2  # an offset and a default


def windowed(compiler: Compiler, call: Call, scope: Scope, budget: ReadingBudget) -> tuple[str, Compute]:
    """Return the type of a window function, and the function from rows to its value for each.

    Raises:
        QueryFailed: it has no meaning for these types.
    """
    window = call.over
    if window is None:
        raise QueryFailed(f"{call.name} has no window")
    partition = [compiler.compile(key, scope) for key in window.partition]
    keys = [compiler.compile(one.key, scope) for one in window.order]
    arguments = [compiler.compile(argument, scope) for argument in call.arguments]
    where = None if call.where is None else compiler.condition(call.where, scope)
    type_, of_partition = _function(call, window, arguments, where, budget)
    cost = A_ROW + sum(one.cost for one in [*partition, *keys, *arguments, *([where] if where else [])])

    def compute(rows: list[Row], env: Environment | None) -> list[Any]:
        budget.step(len(rows) * cost)
        parts: dict[Row, list[tuple[Row, int]]] = {}
        for place, row in enumerate(rows):
            key = tuple(one.run((row, env)) for one in partition)
            parts.setdefault(key, []).append((tuple(one.run((row, env)) for one in keys), place))
        made: list[Any] = [None] * len(rows)
        for members in parts.values():
            places = (
                ordered(members, window.order, [one.type for one in keys], budget)
                if keys
                else [place for _, place in members]
            )
            by_place = {place: key for key, place in members}
            peers = [list(group) for _, group in groupby(places, key=by_place.__getitem__)] if keys else [places]
            values = of_partition([(rows[place], env) for place in places], [len(group) for group in peers])
            for place, value in zip(places, values, strict=True):
                made[place] = value
        return made

    return type_, compute


OfPartition = Callable[[Sequence[Environment | Any], Sequence[int]], list[Any]]


def _function(  # noqa: PLR0911 - one return for each function
    call: Call, window: Window, arguments: Sequence[Compiled], where: Compiled | None, budget: ReadingBudget
) -> tuple[str, OfPartition]:
    if call.name in AGGREGATES:
        return _running(call, window, arguments, where, budget)
    match call.name, list(arguments):
        case "row_number", []:
            return "int8", lambda rows, _: list(range(1, len(rows) + 1))
        case "rank", []:
            return "int8", lambda _, peers: [sum(peers[:i]) + 1 for i in _spread(peers)]
        case "dense_rank", []:
            return "int8", lambda _, peers: [i + 1 for i in _spread(peers)]
        case (("lag" | "lead"), [_, *more]) if len(more) <= _MORE:
            return _shifted(call.name, arguments)
        case "first_value", [value]:
            return value.type, lambda rows, _: [value.run(rows[0])] * len(rows)
        case "last_value", [value] if window.frame == "all":
            return value.type, lambda rows, _: [value.run(rows[-1])] * len(rows)
    raise QueryFailed(f"the window function {call.name} has another number of arguments, or another frame")


def _spread(peers: Sequence[int]) -> list[int]:
    return [number for number, size in enumerate(peers) for _ in range(size)]


def _shifted(name: str, arguments: Sequence[Compiled]) -> tuple[str, OfPartition]:
    value, *more = arguments
    offset, default = (*more, None, None)[:_MORE]
    sign = -1 if name == "lag" else 1
    if offset is not None and offset.type != "int4":
        raise QueryFailed(f"{name} is shifted by something that is no number")
    inward = converter(default.type, value.type) if default is not None else None

    def shifted(rows: Sequence[Any], _peers: Sequence[int]) -> list[Any]:
        made: list[Any] = []
        for place, row in enumerate(rows):
            steps = 1 if offset is None else offset.run(row)
            if steps is None:
                made.append(None)
                continue
            there = place + sign * steps
            if 0 <= there < len(rows):
                made.append(value.run(rows[there]))
            else:
                other = None if default is None else default.run(row)
                made.append(None if other is None or inward is None else inward(other))
        return made

    return value.type, shifted


def _running(
    call: Call, window: Window, arguments: Sequence[Compiled], where: Compiled | None, budget: ReadingBudget
) -> tuple[str, OfPartition]:
    """Return an aggregate over a window: of the whole partition, or up to the current row and, by range, its peers."""
    type_, fold = aggregate(call.name, [one.type for one in arguments], budget)
    if call.order or call.name == "string_agg":
        raise QueryFailed(f"{call.name} over a window is not evaluated here")

    def folded(rows: Sequence[Any]) -> Any:
        budget.step(len(rows))
        rows = rows if where is None else [row for row in rows if where.run(row)]
        if call.star:
            return len(rows)
        return fold([value for row in rows if (value := arguments[0].run(row)) is not None])

    def running(rows: Sequence[Any], peers: Sequence[int]) -> list[Any]:
        if window.frame == "all":
            return [folded(rows)] * len(rows)
        sizes = peers if window.frame == "range" else [1] * len(rows)
        made: list[Any] = []
        for size in sizes:
            made += [folded(rows[: len(made) + size])] * size
        return made

    return type_, running
