"""Compiler of expressions: makes a function of a row from an expression whose columns were found, with its type.

Null is Python's None, and `and`, `or`, `in` and comparisons have SQL's three values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.functions import function
from verifiers.sql.operators import COMPARISONS, LikePart, arithmetic, comparable, joined, like, like_parts, lowered
from verifiers.sql.scope import Environment, Row, Scope
from verifiers.sql.syntax import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expression,
    InList,
    InQuery,
    Literal,
    Query,
    Scalar,
    Slot,
    Unary,
    rebuilt,
)
from verifiers.sql.values import Value, common, converter, text_of

Run = Callable[[Environment], Value]


class Compiled(NamedTuple):
    """An expression's type, its function, and how many steps it takes for a row."""

    type: str
    run: Run
    cost: int


class Plan(NamedTuple):
    """A query that is ready: its columns with their types, its rows, and whether they depend on a query around it."""

    columns: Sequence[tuple[str, str]]
    rows: Callable[[Environment | None], list[Row]]
    outer: bool


class Planner(Protocol):
    """What makes a plan of a query inside an expression."""

    def plan(self, query: Query, parent: Scope) -> Plan:
        """Make the plan of a query."""
        ...


def resolved(node: Any, scope: Scope) -> Any:
    """Return an expression with its columns found."""
    if isinstance(node, Column):
        return scope.find(node)
    return rebuilt(node, lambda part: resolved(part, scope))


class Compiler:
    """A compiler for one query."""

    def __init__(self, planner: Planner, budget: ReadingBudget) -> None:
        self.planner, self.budget = planner, budget

    def compile(self, node: Expression, scope: Scope) -> Compiled:  # noqa: PLR0911 - one return for each form
        """Compile an expression whose columns were found.

        Raises:
            QueryFailed: it has no meaning for these types.
        """
        match node:
            case Literal(value, type_):
                return Compiled(type_, lambda _: value, 0)
            case Slot(depth, index, type_):
                return Compiled(type_, _slot(depth, index), 1)
            case Unary():
                return self._unary(node, scope)
            case Binary():
                return self._binary(node, scope)
            case Cast(operand, type_, modifiers):
                return self._converted(self.compile(operand, scope), type_, modifiers)
            case Case():
                return self._case(node, scope)
            case InList(operand, items):
                return self._in_list(self.compile(operand, scope), [self.compile(item, scope) for item in items])
            case InQuery() | Exists() | Scalar():
                return self._query(node, scope)
            case Call():
                return self._call(node, scope)
        raise QueryFailed("a part of the query stands where it has no meaning")

    def condition(self, node: Expression, scope: Scope) -> Compiled:
        """Compile a condition.

        Raises:
            QueryFailed: it is no truth value.
        """
        made = self.compile(node, scope)
        if made.type not in {"bool", "unknown"}:
            raise QueryFailed(f"a {made.type} stands where a condition is needed")
        return self._converted(made, "bool")

    def all_as(self, compiled: Sequence[Compiled]) -> tuple[str, list[Compiled]]:
        """Convert expressions to the type that they have together."""
        type_ = common([one.type for one in compiled])
        return type_, [self._converted(one, type_) for one in compiled]

    def _converted(self, one: Compiled, type_: str, modifiers: Sequence[int] = ()) -> Compiled:
        if one.type == type_ and not modifiers:
            return one
        convert, run = converter(one.type, type_, modifiers), one.run

        def converted(env: Environment) -> Value:
            value = run(env)
            return None if value is None else convert(value)

        return Compiled(type_, converted, one.cost + 1)

    def _unary(self, node: Unary, scope: Scope) -> Compiled:
        if node.operator == "not":
            made = self.condition(node.operand, scope)
            run = made.run

            def negated(env: Environment) -> Value:
                value = run(env)
                return None if value is None else not value

            return Compiled("bool", negated, made.cost + 1)
        made = self.compile(node.operand, scope)
        run = made.run
        if node.operator == "is null":
            return Compiled("bool", lambda env: run(env) is None, made.cost + 1)
        return self._calculated("-", Compiled("int4", lambda _: 0, 0), made)

    def _binary(self, node: Binary, scope: Scope) -> Compiled:  # noqa: PLR0911 - one return for each operator
        if node.operator in {"and", "or"}:
            return _connected(node.operator, self.condition(node.left, scope), self.condition(node.right, scope))
        left, right = self.compile(node.left, scope), self.compile(node.right, scope)
        if node.operator in COMPARISONS:
            return self._compared(node.operator, left, right)
        match node.operator:
            case "is":
                return self._same(left, right)
            case "||":
                return self._text_pair(left, right, joined)
            case "like":
                return self._text_pair(left, right, self._matched(str), "bool")
            case "ilike":
                return self._text_pair(left, right, self._matched(lowered), "bool")
        return self._calculated(node.operator, left, right)

    def _matched(self, fold: Callable[[str], str]) -> Callable[[str, str], bool]:
        """Return the test of a text with a pattern, which is split once where it is the same for many rows."""
        known: dict[str, Sequence[LikePart]] = {}

        def matched(text: str, pattern: str) -> bool:
            if pattern not in known:
                self.budget.step(len(pattern))
                known.clear()
                known[pattern] = like_parts(fold(pattern))
            return like(fold(text), known[pattern], self.budget)

        return matched

    def _calculated(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        type_, made = arithmetic(sign, left.type, right.type, self.budget)
        left = self._converted(left, right.type) if left.type == "unknown" else left
        right = self._converted(right, left.type) if right.type == "unknown" else right
        return Compiled(type_, _pair(left.run, right.run, made), left.cost + right.cost + 1)

    def _compared(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        type_ = comparable(left.type, right.type, sign)
        left, right = self._converted(left, type_), self._converted(right, type_)
        made = COMPARISONS[sign]
        if type_ == "bpchar":
            return Compiled(
                "bool",
                _pair(left.run, right.run, lambda one, two: made(one.rstrip(" "), two.rstrip(" "))),
                left.cost + right.cost + 1,
            )
        return Compiled("bool", _pair(left.run, right.run, made), left.cost + right.cost + 1)

    def _same(self, left: Compiled, right: Compiled) -> Compiled:
        type_ = comparable(left.type, right.type, "=")
        one, two = self._converted(left, type_).run, self._converted(right, type_).run
        return Compiled("bool", lambda env: one(env) == two(env), left.cost + right.cost + 1)

    def _text_pair(
        self, left: Compiled, right: Compiled, made: Callable[[str, str], Value], result: str = "text"
    ) -> Compiled:
        if result == "text" and not {left.type, right.type} & {"text", "unknown", "bpchar"}:
            raise QueryFailed(f"there is no {left.type} || {right.type} here")
        if result == "bool" and not {left.type, right.type} <= {"text", "unknown", "bpchar", "name"}:
            raise QueryFailed(f"a {left.type} is not matched with a pattern")
        one, two = self._converted(left, "text"), self._converted(right, "text")

        def counted(first: str, second: str) -> Value:
            self.budget.step((len(first) + len(second)) // A_STEP)
            return made(first, second)

        return Compiled(result, _pair(one.run, two.run, counted), left.cost + right.cost + 2)

    def _case(self, node: Case, scope: Scope) -> Compiled:
        conditions = [self.condition(condition, scope) for condition, _ in node.whens]
        results = [self.compile(result, scope) for _, result in node.whens]
        results.append(self.compile(node.otherwise or Literal(None, "unknown"), scope))
        type_, converted = self.all_as(results)
        branches = [(condition.run, result.run) for condition, result in zip(conditions, converted, strict=False)]
        otherwise = converted[-1].run

        def chosen(env: Environment) -> Value:
            for condition, result in branches:
                if condition(env):
                    return result(env)
            return otherwise(env)

        return Compiled(type_, chosen, sum(one.cost for one in [*conditions, *converted]) + 1)

    def _in_list(self, operand: Compiled, items: Sequence[Compiled]) -> Compiled:
        tests = [self._compared("=", operand, item) for item in items]

        def is_in(env: Environment) -> Value:
            verdict: bool | None = False
            for test in tests:
                value = test.run(env)
                if value:
                    return True
                verdict = None if value is None else verdict
            return verdict

        return Compiled("bool", is_in, sum(test.cost for test in tests) + 1)

    def _query(self, node: InQuery | Exists | Scalar, scope: Scope) -> Compiled:
        plan = self.planner.plan(node.query, scope)
        if isinstance(node, Exists):
            return Compiled("bool", lambda env: bool(plan.rows(env)), 2)
        if len(plan.columns) != 1:
            raise QueryFailed("a query inside an expression gives more than one column")
        type_ = plan.columns[0][1]
        if isinstance(node, Scalar):
            return Compiled(type_, lambda env: _only(plan.rows(env)), 2)
        return self._in_query(self.compile(node.operand, scope), plan, type_)

    def _in_query(self, operand: Compiled, plan: Plan, type_: str) -> Compiled:
        together = comparable(operand.type, type_, "=")
        value, convert = self._converted(operand, together).run, converter(type_, together)
        kept: dict[int, tuple[set[Any], bool]] = {}

        def members(env: Environment) -> tuple[set[Any], bool]:
            rows = plan.rows(env)
            self.budget.step(len(rows))
            return {convert(row[0]) for row in rows if row[0] is not None}, any(row[0] is None for row in rows)

        def is_in(env: Environment) -> Value:
            if plan.outer:
                found, has_null = members(env)
            else:
                if 0 not in kept:
                    kept[0] = members(env)
                found, has_null = kept[0]
            sought = value(env)
            if sought is None:
                return None if found or has_null else False
            return True if sought in found else None if has_null else False

        return Compiled("bool", is_in, operand.cost + 3)

    def _call(self, node: Call, scope: Scope) -> Compiled:
        if node in scope.computed:
            place, type_ = scope.computed[node]
            return Compiled(type_, lambda env: env[0][place], 1)
        arguments = [self.compile(argument, scope) for argument in node.arguments]
        cost = sum(argument.cost for argument in arguments) + 2
        if node.name == "nullif":
            return self._nullif(arguments, cost)
        match node.name:
            case "coalesce" | "greatest" | "least" if arguments:
                return self._first_or_extreme(node.name, arguments, cost)
            case "concat" | "concat_ws" if arguments:
                return self._concatenated(node.name, arguments, cost)
            case "coalesce" | "greatest" | "least" | "concat" | "concat_ws":
                raise QueryFailed(f"{node.name} has another number of arguments")
        type_, made = function(node.name, [argument.type for argument in arguments], self.budget)
        runs = [argument.run for argument in arguments]

        def called(env: Environment) -> Value:
            values = [run(env) for run in runs]
            return None if any(value is None for value in values) else made(*values)

        return Compiled(type_, called, cost)

    def _nullif(self, arguments: Sequence[Compiled], cost: int) -> Compiled:
        match arguments:
            case [one, other]:
                same, run = self._compared("=", one, other).run, one.run
                type_ = "text" if one.type == "unknown" else one.type
                return Compiled(type_, lambda env: None if same(env) else run(env), cost)
        raise QueryFailed("nullif has another number of arguments")

    def _first_or_extreme(self, name: str, arguments: Sequence[Compiled], cost: int) -> Compiled:
        type_, converted = self.all_as(arguments)
        runs = [one.run for one in converted]
        if name == "coalesce":

            def first(env: Environment) -> Value:
                return next((value for run in runs if (value := run(env)) is not None), None)

            return Compiled(type_, first, cost)
        comparable(type_, type_, "<")
        pick: Callable[..., Any] = max if name == "greatest" else min
        return Compiled(
            type_,
            lambda env: pick((value for run in runs if (value := run(env)) is not None), default=None),
            cost,
        )

    def _concatenated(self, name: str, arguments: Sequence[Compiled], cost: int) -> Compiled:
        if any(argument.type == "bool" for argument in arguments):
            raise QueryFailed("a truth value is not concatenated here")
        runs = [argument.run for argument in arguments]

        def concatenated(env: Environment) -> Value:
            values = [run(env) for run in runs]
            separator = values.pop(0) if name == "concat_ws" else ""
            if separator is None:
                return None
            parts = [text_of(value) for value in values if value is not None]
            self.budget.step(1 + sum(map(len, parts)) // A_STEP)
            return joined(separator.join(parts), "")  # which caps its length

        return Compiled("text", concatenated, cost)


def _slot(depth: int, index: int) -> Run:
    if depth == 0:
        return lambda env: env[0][index]

    def outer(env: Environment) -> Value:
        for _ in range(depth):
            env = env[1]
        return env[0][index]

    return outer


def _pair(left: Run, right: Run, made: Callable[[Any, Any], Value]) -> Run:
    def both(env: Environment) -> Value:
        one, two = left(env), right(env)
        return None if one is None or two is None else made(one, two)

    return both


def _connected(word: str, left: Compiled, right: Compiled) -> Compiled:
    one, two, decisive = left.run, right.run, word == "or"

    def connected(env: Environment) -> Value:
        first = one(env)
        if first is decisive:
            return decisive
        second = two(env)
        if second is decisive:
            return decisive
        return None if first is None or second is None else not decisive

    return Compiled("bool", connected, left.cost + right.cost + 1)


def _only(rows: list[Row]) -> Value:
    if len(rows) > 1:
        raise QueryFailed("a query inside an expression gives more than one row")
    return rows[0][0] if rows else None
