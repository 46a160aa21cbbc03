"""Conditions on the end state: what a value's truth and its comparisons ask, under the path to a statement."""

# ruff: noqa: PLR0911, PLR0912 - tables of idioms, written as matches with one return each

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from quarterturn_import.importers.formula import Formula, all_of, any_of, given, negated, unknown
from quarterturn_import.importers.mcpmark import idioms, queries
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.plain import (
    COMPARE,
    COMPARE_SIGNS,
    MAX_OPTIONS,
    MIRRORED,
)
from quarterturn_import.importers.mcpmark.values import (
    Cell,
    Choice,
    Collected,
    Cond,
    Content,
    Count,
    DistinctLines,
    Encoded,
    Extreme,
    FirstRow,
    FsPath,
    Function,
    Joined,
    JsonPart,
    Length,
    Lines,
    Listing,
    Opaque,
    RestObject,
    Rows,
    Size,
    Symbolic,
    Text,
    is_plain,
)

MAX_UNKNOWN_SUBSETS = 5


class Conditions:
    """Values and conditions under a path condition.

    Attributes:
        live: the condition under which the statement at hand is reached, within the function at hand.
        outer: the same for the calls around it.
    """

    def __init__(self, where: str, account: str) -> None:
        self.where, self.account = where, account
        self.live: Formula = True
        self.outer: list[Formula] = []
        self.steps = 0

    # what the statements provide

    def call_function(self, function: Function, args: list[Any], kwargs: dict[str, Any], node: ast.AST) -> Any:
        """Call a function of the verifier."""
        raise NotImplementedError

    def require(self, condition: Formula, kind: str) -> None:
        """Go on only where the condition holds; elsewhere an exception is raised."""
        raise NotImplementedError

    def leave(self, code: Any) -> None:
        """End the program."""
        raise NotImplementedError

    def departed(self) -> int:
        """Count the departures from the straight line."""
        raise NotImplementedError

    def remaining(self, before: Formula, since: int) -> Formula:
        """Return the condition under which the straight line goes on after a part of the program."""
        raise NotImplementedError

    def database_compared(self, left: Any, sign: str, right: Any) -> Formula | None:
        """Compare what is known of a database; None where it is nothing of the kind."""
        raise NotImplementedError

    def read(self, node: ast.expr, env: dict[str, Any]) -> Any:
        """Return the value of an expression."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Any, env: dict[str, Any]) -> None:
        """Assign a value to a target."""
        raise NotImplementedError

    # helpers

    def path(self) -> Formula:
        """Return the whole condition under which the statement at hand is reached."""
        return all_of([*self.outer, self.live])

    def opaque(self, node: ast.AST, why: str = "is not understood") -> Opaque:
        """Return a value that is not understood."""
        line = getattr(node, "lineno", 0)
        text = " ".join(ast.unparse(node).split())
        return Opaque(f"{self.where}:{line}: `{text[:100]}` {why}")

    def truth(self, value: Any) -> Formula:
        """Return the condition under which a value counts as true."""
        if not isinstance(value, Symbolic):
            return bool(value)
        match value:
            case Opaque(reason):
                return unknown(reason)
            case Cond(formula):
                return formula
            case Choice(options):
                return any_of(all_of([guard, self.truth(option)]) for guard, option in options)
            case Collected(items):
                return any_of(given(guard, self.path()) for guard, _ in items)
            case Count():
                return self.counted(value, "!=", 0)
            case Text() | Lines() | Listing():
                return idioms.not_empty(value)
            case Encoded(text):
                return idioms.not_empty(text)
            case Length():
                return idioms.length_compared(value, "!=", 0)
            case Size():
                return idioms.size_compared(value, "!=", 0)
            case RestObject(kind="issue title" | "issue state"):
                return True
            case Rows(query) | FirstRow(query):
                return queries.has_rows(query, 1, at_least=True)
            case Cell():
                return queries.cell_holds(value)
            case Joined() | Extreme() | Content(algorithm=""):
                return unknown(
                    f"{self.where}: whether {type(value).__name__.lower()} texts are empty is not understood"
                )
            case JsonPart() | RestObject(kind="issue labels" | "issue label names" | "issue body"):
                return unknown(f"{self.where}: whether {type(value).__name__} is empty is not understood")
        return True

    def certain(self, guard: Formula) -> bool:
        """Say whether a condition holds whenever the statement at hand is reached."""
        return given(guard, self.path()) is True

    def counted(self, count: Count, sign: str, number: int) -> Formula:
        """Compare a count with a number."""
        path = self.path()
        guards = [reduced for guard in count.guards if (reduced := given(guard, path)) is not False]
        open_ = [guard for guard in guards if not self.certain(guard)]
        base = count.base + len(guards) - len(open_)

        def at_least(least: int) -> Formula:
            need = least - base
            if count.many and least > 1 and guards:
                raise CannotSay("how many of several rows")
            if need <= 0 or need > len(open_):
                return need <= 0
            if need == 1:
                return any_of(open_)
            if need == len(open_):
                return all_of(open_)
            if len(open_) > MAX_UNKNOWN_SUBSETS:
                raise CannotSay("at least some of many conditions")
            rest = Count(base, tuple(open_[1:]), count.many)
            return any_of([all_of([open_[0], self.counted(rest, ">=", least - 1)]), self.counted(rest, ">=", least)])

        return idioms.ranged(sign, number, at_least)

    def choose(self, options: Iterable[tuple[Formula, Any]]) -> Any:
        """Join values that hold under different conditions."""
        kept: list[tuple[Formula, Any]] = []
        for guard, value in options:
            inner = value.options if isinstance(value, Choice) else ((True, value),)
            for condition, option in inner:
                both = all_of([guard, condition])
                if both is False:
                    continue
                same = next(
                    (i for i, (_, other) in enumerate(kept) if other is option or same_value(other, option)), None
                )
                if same is None:
                    kept.append((both, option))
                else:
                    kept[same] = (any_of([kept[same][0], both]), kept[same][1])
        if len(kept) == 1:
            return kept[0][1]
        if kept and all(isinstance(value, bool | Cond) for _, value in kept):
            return cond(any_of(all_of([guard, self.truth(value)]) for guard, value in kept))
        sizes = {len(value) if isinstance(value, tuple) else -1 for _, value in kept}
        if len(sizes) == 1 and sizes != {-1}:
            return tuple(self.choose([(guard, value[i]) for guard, value in kept]) for i in range(min(sizes)))
        if len(kept) > MAX_OPTIONS:
            return Opaque(f"{self.where}: a value that depends on more than {MAX_OPTIONS} conditions")
        return Choice(tuple(kept))

    def condition(self, node: ast.expr, env: dict[str, Any]) -> Formula:
        """Return the condition under which an expression is true."""
        value = self.read(node, env)
        try:
            return given(self.truth(value), self.path())
        except CannotSay as error:
            return unknown(self.opaque(node, f"has no predicate: {error}").reason)

    # comparisons

    def compared(self, sign: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Formula:
        """Return the condition under which a comparison holds."""
        for value in (left, right):
            if isinstance(value, Choice):
                return any_of(
                    all_of(
                        [
                            guard,
                            self.compared(
                                sign, option if value is left else left, option if value is right else right, node
                            ),
                        ]
                    )
                    for guard, option in value.options
                )
        if isinstance(sign, ast.Is | ast.IsNot) and right is None and not isinstance(left, Opaque):
            if isinstance(left, FirstRow | Cell):
                there = self.truth(left) if isinstance(left, FirstRow) else negated(queries.cell_is(left, None))
                return negated(there) if isinstance(sign, ast.Is) else there
            return (left is None) == isinstance(sign, ast.Is)
        for value in (left, right):
            if isinstance(value, Opaque):
                return unknown(value.reason)
        try:
            if isinstance(sign, ast.In | ast.NotIn):
                inside = self._inside(left, right)
                return inside if isinstance(sign, ast.In) else negated(inside)
            if isinstance(sign, ast.Is | ast.IsNot):
                same = self.truth(left) if right is True else negated(self.truth(left))
                return same if isinstance(sign, ast.Is) else negated(same)
            text, plain = COMPARE[type(sign)]
            if is_plain(left) and is_plain(right):
                return bool(plain(left, right))
            if is_plain(left):
                left, right, text = right, left, MIRRORED[text]
            return self._symbolic(left, text, right)
        except (CannotSay, LookupError, TypeError) as error:
            why = f"has no predicate: {error}" if isinstance(error, CannotSay) else "is not understood"
            return unknown(self.opaque(node, why).reason)

    def _inside(self, item: Any, group: Any) -> Formula:
        if isinstance(group, dict | set | list | tuple | frozenset) and is_plain(item):
            if is_plain(group):
                return item in group
            return any_of(
                self._symbolic(other, "==", item) if not is_plain(other) else other == item for other in group
            )
        if isinstance(group, Rows) and is_plain(item):
            return queries.contains(group, item)
        if isinstance(group, Collected):
            return any_of(all_of([guard, self._equal(value, item)]) for guard, value in group.items)
        if isinstance(group, list | tuple | set) and is_plain(group):
            return any_of(self._symbolic(item, "==", other) for other in group)
        if isinstance(item, str):
            match group:
                case str():
                    return item in group
                case Text():
                    return idioms.contains(group, item)
                case Lines():
                    return idioms.has_line(group, item)
                case Listing():
                    return idioms.in_listing(group, item)
                case RestObject():
                    return idioms.rest_contains(group, item)
        raise CannotSay("whether it is among these")

    def _equal(self, left: Any, right: Any) -> Formula:
        if is_plain(left) and is_plain(right):
            return bool(left == right)
        return self._symbolic(right, "==", left) if is_plain(left) else self._symbolic(left, "==", right)

    def _symbolic(self, left: Any, sign: str, right: Any) -> Formula:
        """Compare a value of the end state."""
        of_database = self.database_compared(left, sign, right)
        if of_database is not None:
            return of_database
        if isinstance(left, Collected) and all(self.certain(guard) for guard, _ in left.items):
            return bool(COMPARE_SIGNS[sign]([value for _, value in left.items], right))
        if isinstance(left, Length) and isinstance(right, Length) and sign in {"==", "!="}:
            for one, other in ((left.of, right.of), (right.of, left.of)):
                if isinstance(other, DistinctLines) and other.lines == one:
                    return idioms.lines_differ(one) if sign == "==" else negated(idioms.lines_differ(one))
        if isinstance(left, Length) and isinstance(right, int):
            if isinstance(left.of, Collected):
                return self.counted(Count(0, tuple(guard for guard, _ in left.of.items)), sign, right)
            return idioms.length_compared(left, sign, right)
        if isinstance(left, Count) and isinstance(right, int):
            return self.counted(left, sign, right)
        if isinstance(left, Extreme) and isinstance(right, int):
            return idioms.spread_compared(left, sign, right)
        if isinstance(left, Size) and isinstance(right, int | float):
            return idioms.size_compared(left, sign, right)
        if sign == "!=":
            return negated(self._symbolic(left, "==", right))
        if right is None and isinstance(left, Text | Content | Lines | Listing | Joined | FsPath):
            return False
        if sign == "==":
            match left:
                case Cond(formula) if isinstance(right, bool):
                    return formula if right else negated(formula)
                case Text() if isinstance(right, str):
                    return idioms.text_is(left, right)
                case Joined() if isinstance(right, Text):
                    return idioms.joined_is(left, right)
                case Text() if isinstance(right, Joined):
                    return idioms.joined_is(right, left)
                case Content() if isinstance(right, Content):
                    return idioms.contents_equal(left, right)
                case Text() if isinstance(right, Text):
                    return idioms.texts_equal(left, right)
                case Lines() if isinstance(right, list) and is_plain(right):
                    return idioms.lines_are(left, right)
                case Listing() if isinstance(right, set | list | frozenset) and is_plain(right):
                    return idioms.listing_is(left, set(right))
                case JsonPart() if is_plain(right) and not isinstance(right, set | tuple):
                    return idioms.json_is(left, right)
                case RestObject() if is_plain(right):
                    return idioms.rest_is(left, right)
        raise CannotSay(f"a comparison of {type(left).__name__.lower()}")

    def each(self, items: Any) -> list[tuple[Formula, Any]]:
        """Return the items of a value that is gone through, each with its condition.

        Raises:
            CannotSay: they are not known.
        """
        match items:
            case Collected():
                return list(items.items)
            case dict() | list() | tuple() | str():
                return [(True, value) for value in items]
            case set() | frozenset():
                return [(True, value) for value in sorted(items, key=repr)]
        raise CannotSay(f"a loop over {type(items).__name__.lower()}")

    def present(self, value: Choice) -> list[tuple[Formula, Any]]:
        """Return the options that are something: where it is None, an operation on it raises an exception."""
        for guard, option in value.options:
            if option is None:
                self.require(negated(given(guard, self.path())), "TypeError")
        return [(guard, option) for guard, option in value.options if option is not None]


def cond(formula: Formula) -> Any:
    """Return a condition as a value."""
    return formula if isinstance(formula, bool) else Cond(formula)


def same_value(left: Any, right: Any) -> bool:
    """Say whether two values are known to be the same."""
    if isinstance(left, Collected) or isinstance(right, Collected):
        return left is right
    return type(left) is type(right) and bool(left == right)
