"""Reading of expressions: ordinary values are computed, values of the end state become conditions by the idioms."""

# ruff: noqa: PLR0911 - tables of idioms, written as matches with one return each

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from quarterturn_import.importers.formula import Formula, TooLarge, all_of, any_of, negated
from quarterturn_import.importers.mcpmark import idioms
from quarterturn_import.importers.mcpmark.calls import Calls
from quarterturn_import.importers.mcpmark.comprehensions import Comprehensions
from quarterturn_import.importers.mcpmark.conditions import cond
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.plain import (
    BINARY,
)
from quarterturn_import.importers.mcpmark.values import (
    Bound,
    Cell,
    Choice,
    Collected,
    Extreme,
    FirstRow,
    FsPath,
    Function,
    JsonPart,
    Listing,
    Named,
    Opaque,
    Response,
    RestObject,
    Rows,
    Size,
    is_plain,
)

MAX_STEPS = 60_000


class Expressions(Calls, Comprehensions):
    """Reader of expressions under a path condition."""

    def read(self, node: ast.expr, env: dict[str, Any]) -> Any:
        """Return the value of an expression; what is not understood is opaque."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooLarge
        reader = getattr(self, f"_{type(node).__name__.lower()}", None)
        if reader is None:
            return self.opaque(node)
        try:
            return reader(node, env)
        except CannotSay as error:
            return self.opaque(node, f"has no predicate: {error}")
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, re.error):
            return self.opaque(node)

    def _constant(self, node: ast.Constant, _env: dict[str, Any]) -> Any:
        return node.value

    def _name(self, node: ast.Name, env: dict[str, Any]) -> Any:
        return env[node.id] if node.id in env else Named(node.id)

    def _list(self, node: ast.List, env: dict[str, Any]) -> Any:
        return [self.read(item, env) for item in node.elts] if node.elts else Collected()

    def _tuple(self, node: ast.Tuple, env: dict[str, Any]) -> Any:
        return tuple(self.read(item, env) for item in node.elts)

    def _set(self, node: ast.Set, env: dict[str, Any]) -> Any:
        return {self.read(item, env) for item in node.elts}

    def _dict(self, node: ast.Dict, env: dict[str, Any]) -> Any:
        if any(key is None for key in node.keys):
            return self.opaque(node)
        return {
            self.read(key, env): self.read(value, env)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }

    def _joinedstr(self, node: ast.JoinedStr, env: dict[str, Any]) -> Any:
        parts = []
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                parts.append(str(piece.value))
                continue
            if not isinstance(piece, ast.FormattedValue):
                return self.opaque(node)
            value = self.read(piece.value, env)
            form = self._joinedstr(piece.format_spec, env) if isinstance(piece.format_spec, ast.JoinedStr) else ""
            if isinstance(value, Opaque) or not isinstance(value, str | int | float):
                return self.opaque(node)
            parts.append(format(value, form))
        return "".join(parts)

    def _ifexp(self, node: ast.IfExp, env: dict[str, Any]) -> Any:
        test = self.condition(node.test, env)
        if isinstance(test, bool):
            return self.read(node.body if test else node.orelse, env)
        kept, since = self.live, self.departed()
        made = []
        for condition, branch in ((test, node.body), (negated(test), node.orelse)):
            self.live = all_of([kept, condition])
            made.append((condition, self.read(branch, env)))
        self.live = self.remaining(kept, since)
        return self.choose(made)

    def _boolop(self, node: ast.BoolOp, env: dict[str, Any]) -> Any:
        conjunction, kept, since = isinstance(node.op, ast.And), self.live, self.departed()
        parts: list[Formula] = []
        for value in node.values:
            part = self.condition(value, env)
            parts.append(part)
            self.live = all_of([self.live, part if conjunction else negated(part)])
            if self.live is False:
                break
        self.live = self.remaining(kept, since)
        return cond(all_of(parts) if conjunction else any_of(parts))

    def _unaryop(self, node: ast.UnaryOp, env: dict[str, Any]) -> Any:
        if isinstance(node.op, ast.Not):
            return cond(negated(self.condition(node.operand, env)))
        value = self.read(node.operand, env)
        return -value if isinstance(node.op, ast.USub) else self.opaque(node)

    def _binop(self, node: ast.BinOp, env: dict[str, Any]) -> Any:
        left, right = self.read(node.left, env), self.read(node.right, env)
        if isinstance(left, Choice):
            return self.choose([(guard, self._binary(node, value, right)) for guard, value in left.options])
        return self._binary(node, left, right)

    def _binary(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        if isinstance(left, Opaque):
            return left
        if isinstance(left, Extreme) and isinstance(right, Extreme) and isinstance(node.op, ast.Sub):
            if left.texts == right.texts and left.largest and not right.largest and not left.spread:
                return replace(left, spread=True)
            return self.opaque(node)
        if isinstance(left, Cell):
            return self.calculated(left, node.op, right)
        if isinstance(left, FsPath) and isinstance(node.op, ast.Div) and isinstance(right, str):
            return FsPath(idioms.joined(left.path, right))
        if isinstance(node.op, ast.Sub) and isinstance(left, Listing) and left.names and is_plain(right):
            return replace(left, ignore=tuple(sorted({*left.ignore, *right})))
        if isinstance(node.op, ast.Sub) and isinstance(right, Listing) and is_plain(left):
            return Collected([(negated(idioms.in_listing(right, name)), name) for name in sorted(left)])
        if is_plain(left) and is_plain(right):
            if type(node.op) in BINARY:
                return BINARY[type(node.op)](left, right)
            if isinstance(node.op, ast.Mult) and isinstance(left, int | float) and isinstance(right, int | float):
                return left * right
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return left + right
        return self.opaque(node)

    def _compare(self, node: ast.Compare, env: dict[str, Any]) -> Any:
        values = [self.read(value, env) for value in (node.left, *node.comparators)]
        parts = [self.compared(sign, values[number], values[number + 1], node) for number, sign in enumerate(node.ops)]
        return cond(all_of(parts))

    def _attribute(self, node: ast.Attribute, env: dict[str, Any]) -> Any:
        value = self.read(node.value, env)
        if isinstance(value, Choice):
            return Bound(value, node.attr)
        if isinstance(value, Named):
            return Named(f"{value.name}.{node.attr}")
        if isinstance(value, FsPath) and node.attr in {"name", "stem", "suffix", "parent"}:
            return idioms.path_part(value, node.attr)
        if isinstance(value, Size) and value.status:
            if node.attr != "st_size":
                raise CannotSay("times and modes of files are not kept")
            return replace(value, status=False)
        if isinstance(value, Response) and node.attr == "status_code":
            exists = idioms.rest_exists(value)
            return Choice(((exists, 200), (negated(exists), 404)))
        return value if isinstance(value, Opaque) else Bound(value, node.attr)

    def _subscript(self, node: ast.Subscript, env: dict[str, Any]) -> Any:
        value = self.read(node.value, env)
        if isinstance(node.slice, ast.Slice):
            bounds = [
                None if b is None else self.read(b, env) for b in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return value[slice(*bounds)] if isinstance(value, str | list | tuple) else self.opaque(node)
        key = self.read(node.slice, env)
        return self.item(value, key, node)

    def item(self, value: Any, key: Any, node: ast.AST) -> Any:
        """Return a part of a value by its key."""
        match value:
            case Opaque():
                return value
            case Named("os.environ") if isinstance(node, ast.Subscript):
                return self.environment(key, node)
            case JsonPart():
                return idioms.deeper(value, key)
            case RestObject():
                return idioms.rest_field(value, key)
            case FirstRow() | Rows():
                return self.row_item(value, key)
            case Choice():
                return self.choose([(guard, self.item(option, key, node)) for guard, option in self.present(value)])
            case dict() | list() | tuple() | str() if is_plain(key):
                return value[key]
        return self.opaque(node)

    def _lambda(self, node: ast.Lambda, env: dict[str, Any]) -> Any:
        return Function(node, env)

    def bind(self, target: ast.expr, value: Any, env: dict[str, Any]) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, Choice):
                value = self._parted(value, len(target.elts))
            if isinstance(value, FirstRow):
                value = self.row_parts(value, len(target.elts))
            parts = list(value) if isinstance(value, list | tuple) and len(value) == len(target.elts) else None
            for number, inner in enumerate(target.elts):
                opaque = value if isinstance(value, Opaque) else self.opaque(target)
                self.bind(inner, opaque if parts is None else parts[number], env)
        elif isinstance(target, ast.Subscript):
            held, key = self.read(target.value, env), self.read(target.slice, env)
            if isinstance(held, dict) and is_plain(key):
                held[key] = (
                    value if key not in held else self.choose([(self.live, value), (negated(self.live), held[key])])
                )

    def _parted(self, value: Choice, size: int) -> Any:
        """Return a choice of tuples as a tuple of choices; what is no tuple of this size stays opaque."""
        options = [
            (guard, option if isinstance(option, tuple) and len(option) == size else (option,) * size)
            for guard, option in value.options
            if isinstance(option, tuple | Opaque | bool)
        ]
        return tuple(self.choose([(guard, option[i]) for guard, option in options]) for i in range(size))
