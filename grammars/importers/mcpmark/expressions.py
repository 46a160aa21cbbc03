"""Reading of expressions: ordinary values are computed, values of the end state become conditions by the idioms."""

# ruff: noqa: PLR0911, PLR0912, PLR0917 - tables of idioms, written as matches with one return each

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from grammars.importers.formula import Formula, TooLarge, all_of, any_of, given, negated, unknown
from grammars.importers.mcpmark import idioms
from grammars.importers.mcpmark.idioms import CannotSay
from grammars.importers.mcpmark.values import (
    SYMBOLIC,
    Bound,
    Choice,
    Collected,
    Cond,
    Count,
    Encoded,
    FsPath,
    Function,
    JsonPart,
    Length,
    Lines,
    Listing,
    Named,
    Opaque,
    OpenFile,
    Response,
    RestObject,
    Size,
    Text,
    is_plain,
)

MAX_STEPS, MAX_OPTIONS, MAX_VALUE = 60_000, 12, 100_000
MAX_UNKNOWN_SUBSETS = 5
ROOT_VARIABLE = "FILESYSTEM_TEST_DIR"
OWNERS = ("GITHUB_EVAL_ORG", "GITHUB_ORG")

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARE: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PLAIN_CALLS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (len, sorted, list, set, tuple, dict, str, int, float, sum, min, max, abs, round, bool)},
    "range": lambda *bounds: list(range(*bounds)) if max(map(abs, bounds)) < MAX_OPTIONS * 1000 else None,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *items: list(zip(*items, strict=False)),
    "reversed": lambda items: list(reversed(items)),
}
_PLAIN_METHODS = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "endswith",
        "replace",
        "join",
        "format",
        "title",
        "items",
        "keys",
        "values",
        "get",
        "copy",
        "union",
        "difference",
        "intersection",
        "issubset",
        "index",
        "count",
        "zfill",
        "casefold",
    ]
)
_FLAGS = {"re.IGNORECASE": "i", "re.I": "i", "re.MULTILINE": "m", "re.M": "m", "re.DOTALL": "s", "re.S": "s"}


class Expressions:
    """Reader of expressions under a path condition.

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

    # helpers

    def path(self) -> Formula:
        """Give the whole condition under which the statement at hand is reached."""
        return all_of([*self.outer, self.live])

    def opaque(self, node: ast.AST, why: str = "is not understood") -> Opaque:
        """Give a value that is not understood."""
        line = getattr(node, "lineno", 0)
        text = " ".join(ast.unparse(node).split())
        return Opaque(f"{self.where}:{line}: `{text[:100]}` {why}")

    def truth(self, value: Any) -> Formula:
        """Give the condition under which a value counts as true."""
        if not isinstance(value, SYMBOLIC):
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
            if need <= 0 or need > len(open_):
                return need <= 0
            if need == 1:
                return any_of(open_)
            if need == len(open_):
                return all_of(open_)
            if len(open_) > MAX_UNKNOWN_SUBSETS:
                raise CannotSay("at least some of many conditions")
            rest = Count(base, tuple(open_[1:]))
            return any_of([all_of([open_[0], self.counted(rest, ">=", least - 1)]), self.counted(rest, ">=", least)])

        return idioms._ranged(sign, number, at_least)

    def choose(self, options: Iterable[tuple[Formula, Any]]) -> Any:
        """Join values that hold under different conditions."""
        kept: list[tuple[Formula, Any]] = []
        for guard, value in options:
            inner = value.options if isinstance(value, Choice) else ((True, value),)
            for condition, option in inner:
                both = all_of([guard, condition])
                if both is False:
                    continue
                same = next((i for i, (_, other) in enumerate(kept) if other is option or _same(other, option)), None)
                if same is None:
                    kept.append((both, option))
                else:
                    kept[same] = (any_of([kept[same][0], both]), kept[same][1])
        if len(kept) == 1:
            return kept[0][1]
        if kept and all(isinstance(value, bool | Cond) for _, value in kept):
            return _cond(any_of(all_of([guard, self.truth(value)]) for guard, value in kept))
        sizes = {len(value) if isinstance(value, tuple) else -1 for _, value in kept}
        if len(sizes) == 1 and sizes != {-1}:
            return tuple(self.choose([(guard, value[i]) for guard, value in kept]) for i in range(min(sizes)))
        if len(kept) > MAX_OPTIONS:
            return Opaque(f"{self.where}: a value that depends on more than {MAX_OPTIONS} conditions")
        return Choice(tuple(kept))

    # expressions

    def read(self, node: ast.expr, env: dict[str, Any]) -> Any:
        """Give the value of an expression; what is not understood is opaque."""
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

    def condition(self, node: ast.expr, env: dict[str, Any]) -> Formula:
        """Give the condition under which an expression is true."""
        value = self.read(node, env)
        try:
            return given(self.truth(value), self.path())
        except CannotSay as error:
            return unknown(self.opaque(node, f"has no predicate: {error}").reason)

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
        return self.choose([(test, self.read(node.body, env)), (negated(test), self.read(node.orelse, env))])

    def _boolop(self, node: ast.BoolOp, env: dict[str, Any]) -> Any:
        conjunction, kept = isinstance(node.op, ast.And), self.live
        parts: list[Formula] = []
        for value in node.values:
            part = self.condition(value, env)
            parts.append(part)
            self.live = all_of([self.live, part if conjunction else negated(part)])
            if self.live is False:
                break
        self.live = kept
        return _cond(all_of(parts) if conjunction else any_of(parts))

    def _unaryop(self, node: ast.UnaryOp, env: dict[str, Any]) -> Any:
        if isinstance(node.op, ast.Not):
            return _cond(negated(self.condition(node.operand, env)))
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
        if isinstance(left, FsPath) and isinstance(node.op, ast.Div) and isinstance(right, str):
            return FsPath(idioms.joined(left.path, right))
        if isinstance(node.op, ast.Sub) and isinstance(left, Listing) and left.names and is_plain(right):
            return replace(left, ignore=tuple(sorted({*left.ignore, *right})))
        if isinstance(node.op, ast.Sub) and isinstance(right, Listing) and is_plain(left):
            return Collected([(negated(idioms.in_listing(right, name)), name) for name in sorted(left)])
        if is_plain(left) and is_plain(right):
            if type(node.op) in _BINARY:
                return _BINARY[type(node.op)](left, right)
            if isinstance(node.op, ast.Mult) and isinstance(left, int | float) and isinstance(right, int | float):
                return left * right
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return left + right
        return self.opaque(node)

    def _compare(self, node: ast.Compare, env: dict[str, Any]) -> Any:
        values = [self.read(value, env) for value in (node.left, *node.comparators)]
        parts = [self._compared(sign, values[number], values[number + 1], node) for number, sign in enumerate(node.ops)]
        return _cond(all_of(parts))

    def _compared(self, sign: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Formula:
        for value in (left, right):
            if isinstance(value, Choice):
                return any_of(
                    all_of(
                        [
                            guard,
                            self._compared(
                                sign, option if value is left else left, option if value is right else right, node
                            ),
                        ]
                    )
                    for guard, option in value.options
                )
        if isinstance(sign, ast.Is | ast.IsNot) and right is None and not isinstance(left, Opaque):
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
            text, plain = _COMPARE[type(sign)]
            if is_plain(left) and is_plain(right):
                return bool(plain(left, right))
            if is_plain(left):
                left, right, text = right, left, _MIRRORED[text]
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
        if isinstance(left, Collected) and all(self.certain(guard) for guard, _ in left.items):
            return bool(_COMPARE_SIGNS[sign]([value for _, value in left.items], right))
        if isinstance(left, Length) and isinstance(right, int):
            if isinstance(left.of, Collected):
                return self.counted(Count(0, tuple(guard for guard, _ in left.of.items)), sign, right)
            return idioms.length_compared(left, sign, right)
        if isinstance(left, Count) and isinstance(right, int):
            return self.counted(left, sign, right)
        if isinstance(left, Size) and isinstance(right, int | float):
            return idioms.size_compared(left, sign, right)
        if sign == "!=":
            return negated(self._symbolic(left, "==", right))
        if sign == "==":
            match left:
                case Cond(formula) if isinstance(right, bool):
                    return formula if right else negated(formula)
                case Text() if isinstance(right, str):
                    return idioms.text_is(left, right)
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
        """Give a part of a value by its key."""
        match value:
            case Opaque():
                return value
            case JsonPart():
                return idioms.deeper(value, key)
            case RestObject():
                return idioms.rest_field(value, key)
            case Choice():
                return self.choose([(guard, self.item(option, key, node)) for guard, option in self._present(value)])
            case dict() | list() | tuple() | str() if is_plain(key):
                return value[key]
        return self.opaque(node)

    def _lambda(self, node: ast.Lambda, env: dict[str, Any]) -> Any:
        return Function(node, env)

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: dict[str, Any]) -> Any:
        if len(node.generators) != 1:
            return self.opaque(node)
        generator = node.generators[0]
        items = self.read(generator.iter, env)
        if isinstance(items, Opaque):
            return items
        if isinstance(items, Lines | Listing | RestObject) and isinstance(generator.target, ast.Name):
            return self._narrowed(items, generator.target.id, generator.ifs, node.elt, node, env)
        made = Collected()
        for guard, value in self.each(items):
            inner, kept = {**env}, self.live
            self.bind(generator.target, value, inner)
            tests: list[Formula] = [guard]
            for test in generator.ifs:
                tests.append(self.condition(test, inner))
            self.live = all_of([kept, *tests])
            if self.live is not False:
                made.items.append((self.path(), self.read(node.elt, inner)))
            self.live = kept
        values = [value for guard, value in made.items]
        if all(self.certain(guard) for guard, _ in made.items) and values:
            return set(values) if isinstance(node, ast.SetComp) and is_plain(values) else values
        return made

    _setcomp = _listcomp
    _generatorexp = _listcomp

    def _narrowed(
        self, items: Any, name: str, tests: list[ast.expr], element: ast.expr, node: ast.expr, env: dict[str, Any]
    ) -> Any:
        """Read a comprehension over lines, a listing or labels, by what it keeps and what it makes of it."""
        made = ast.unparse(element)
        wanted = [ast.unparse(test) for test in tests]
        if isinstance(items, RestObject):
            if items.kind == "issue labels" and not tests and made in {f"{name}['name']", f"{name}.get('name')"}:
                return replace(items, kind="issue label names")
            return self.opaque(node)
        if isinstance(items, Lines):
            blank = {f"{name}.strip()", name} if items.skip_blank else {f"{name}.strip()"}
            if not set(wanted) <= blank or made not in {
                name,
                f"{name}.strip()",
                f"{name}.strip().lower()",
                f"{name}.lower()",
            }:
                return self.opaque(node)
            text = replace(items.text, lower=items.text.lower or made.endswith(".lower()"))
            if not (wanted or items.skip_blank) or (wanted and made == name and not items.skip_blank):
                return self.opaque(node) if made != name or wanted else items
            return Lines(text, skip_blank=True)
        for test in tests:
            items = self._kept(items, name, test, env)
        if made == f"{name}.name" and not items.names:
            return replace(items, names=True)
        return items if made == name else self.opaque(node)

    def _kept(self, items: Listing, name: str, test: ast.expr, env: dict[str, Any]) -> Listing:
        text = ast.unparse(test)
        own = name if items.names else f"{name}.name"
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                items = self._kept(items, name, part, env)
            return items
        if not items.names and text in {f"{name}.is_file()", f"{name}.is_dir()"}:
            kind = "file" if text.endswith("is_file()") else "directory"
            if items.kind in {None, kind}:
                return replace(items, kind=kind)
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and ast.unparse(test.left) == own:
            other = self.read(test.comparators[0], env)
            others = [other] if isinstance(test.ops[0], ast.NotEq) else other
            if isinstance(test.ops[0], ast.NotIn | ast.NotEq) and is_plain(others) and not isinstance(others, str):
                return replace(items, ignore=tuple(sorted({*items.ignore, *others})))
        suffix = re.fullmatch(
            rf"(?:{re.escape(own)}\.endswith\('([^'*?\[\]]+)'\)|{re.escape(name)}\.suffix == '([^'*?\[\]]+)')", text
        )
        if suffix and items.glob == "*":
            return replace(items, glob=f"*{suffix[1] or suffix[2]}")
        raise CannotSay("a listing that is narrowed by another condition")

    def each(self, items: Any) -> list[tuple[Formula, Any]]:
        """Give the items of a value that is gone through, each with its condition.

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

    def bind(self, target: ast.expr, value: Any, env: dict[str, Any]) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, Choice):
                value = self._parted(value, len(target.elts))
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
        """Give a choice of tuples as a tuple of choices; what is no tuple of this size stays opaque."""
        options = [
            (guard, option if isinstance(option, tuple) and len(option) == size else (option,) * size)
            for guard, option in value.options
            if isinstance(option, tuple | Opaque | bool)
        ]
        return tuple(self.choose([(guard, option[i]) for guard, option in options]) for i in range(size))

    # calls

    def _call(self, node: ast.Call, env: dict[str, Any]) -> Any:
        function = self.read(node.func, env)
        args = [self.read(arg.value if isinstance(arg, ast.Starred) else arg, env) for arg in node.args]
        kwargs = {keyword.arg or "**": self.read(keyword.value, env) for keyword in node.keywords}
        match function:
            case Function():
                return self.call_function(function, args, kwargs, node)
            case Named(name):
                return self._library(name, args, kwargs, node)
            case Bound(value, name):
                return self._method(value, name, args, kwargs, node)
            case Opaque():
                return function
        return self.opaque(node)

    def _library(self, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Any:
        """Call a function of Python's library."""
        if name in {"print", "load_dotenv", "traceback.print_exc", "time.sleep", "sys.stdout.flush"}:
            return None
        if name in {"sys.exit", "exit", "quit"}:
            self.leave(args[0] if args else 0)
            return None
        if name in {"os.environ.get", "os.getenv"} and args:
            if args[0] == ROOT_VARIABLE:
                return FsPath(".")
            return self.account if args[0] in OWNERS else "given" if "TOKEN" in str(args[0]) else self.opaque(node)
        first = args[0] if args else None
        if isinstance(first, Choice) and name not in {"isinstance", "hasattr", "bool"}:
            return self.choose(
                [
                    (guard, self._library(name, [value, *args[1:]], kwargs, node))
                    for guard, value in self._present(first)
                ]
            )
        if isinstance(first, Opaque):
            return first
        handled = self._known(name, first, args, kwargs)
        if handled is not None:
            return handled
        if name in _PLAIN_CALLS:
            if not args and name in {"list", "set"}:
                return Collected()
            if not args and name == "dict":
                return {}
            if isinstance(first, Listing | RestObject) and name in {"set", "list", "sorted"}:
                return first
            if isinstance(first, Collected):
                return self._gathered(name, first, node)
            if name in {"enumerate", "zip", "list"} and isinstance(first, list | tuple):
                return _PLAIN_CALLS[name](*args)
            if is_plain(args) and is_plain(kwargs) and not kwargs.get("key"):
                return _PLAIN_CALLS[name](*args, **kwargs)
            if name == "bool":
                return _cond(self.truth(first))
            if name == "len" and isinstance(first, Text | Lines | Listing | Collected):
                return Length(first)
            if name == "len" and isinstance(first, list | tuple | dict):
                return len(first)
        if name in {"any", "all"} and isinstance(first, Collected | list | tuple):
            parts = [(guard, self.truth(value)) for guard, value in self.each(first)]
            if name == "any":
                return _cond(any_of(all_of(part) for part in parts))
            return _cond(all_of(any_of([negated(guard), formula]) for guard, formula in parts))
        if name == "sum" and isinstance(first, Collected) and all(value == 1 for _, value in first.items):
            return Count(0, tuple(guard for guard, _ in first.items))
        return self.opaque(node)

    def _present(self, value: Choice) -> list[tuple[Formula, Any]]:
        """Give the options that are something: where it is None, an operation on it raises an exception."""
        for guard, option in value.options:
            if option is None:
                self.require(negated(given(guard, self.path())), "TypeError")
        return [(guard, option) for guard, option in value.options if option is not None]

    def _gathered(self, name: str, first: Collected, node: ast.Call) -> Any:
        """Call a function on a list that was filled: a set of it only where every item is there for certain."""
        if name == "len":
            return Length(first)
        if name == "list":
            return first
        values = [value for _, value in first.items]
        if not is_plain(values) or not all(self.certain(guard) for guard, _ in first.items):
            return Cond(self.truth(first)) if name == "bool" else self.opaque(node)
        return _PLAIN_CALLS[name](values)

    def _known(self, name: str, first: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function of the table on a value of the end state; None where it is none."""
        if name in {"Path", "pathlib.Path", "str"} and isinstance(first, FsPath):
            return first
        if isinstance(first, FsPath) or (name == "os.path.join" and isinstance(first, FsPath)):
            match name:
                case "os.path.join" if all(isinstance(part, str) for part in args[1:]):
                    return FsPath(idioms.joined(first.path, *args[1:]))
                case "os.path.exists":
                    return _cond(idioms.exists(first.path))
                case "os.path.isfile":
                    return _cond(idioms.exists(first.path, "file"))
                case "os.path.isdir":
                    return _cond(idioms.exists(first.path, "directory"))
                case "os.listdir":
                    self.require(idioms.exists(first.path, "directory"), "OSError")
                    return Listing(first.path, names=True)
                case "os.path.getsize":
                    self.require(idioms.exists(first.path, "file"), "OSError")
                    return Size(first.path)
                case "open" if str(args[1] if len(args) > 1 else kwargs.get("mode", "r")) in {"r", "rt"}:
                    self.require(idioms.exists(first.path, "file"), "OSError")
                    return OpenFile(first.path)
        if name == "json.load" and isinstance(first, OpenFile):
            return self._json(first.path)
        if name == "json.loads" and isinstance(first, Text) and first.server == "filesystem":
            return self._json(first.arguments["path"])
        if name in {"re.search", "re.match", "re.fullmatch"} and isinstance(first, str) and isinstance(args[1], Text):
            return _cond(self._pattern(name, first, args[1], next(iter(args[2:]), kwargs.get("flags"))))
        if name in {"requests.get"} and isinstance(first, str):
            matched = re.fullmatch(r"https://api\.github\.com/repos/([\w.-]+/[\w.-]+)/?(.*)", first)
            if matched is None or "params" in kwargs:
                raise CannotSay("an address that is not one of a repository")
            return Response(matched[1], matched[2])
        if name == "base64.b64decode" and isinstance(first, Encoded):
            return first
        return None

    def _json(self, path: str) -> JsonPart:
        self.require({"filesystem.fileMatches": {"path": path, "pattern": r"\S"}}, "ValueError")
        return JsonPart(path)

    def _pattern(self, name: str, pattern: str, text: Text, flags: Any) -> Formula:
        letters = (
            "".join(_FLAGS.get(part.strip(), "?") for part in flags.name.split("|")) if isinstance(flags, Named) else ""
        )
        if flags is not None and (not isinstance(flags, Named) or "?" in letters):
            raise CannotSay("flags of a pattern that are not known")
        if text.lower:
            if pattern != pattern.lower():
                raise CannotSay("a pattern with capitals in a text without")
            letters += "i"
        whole = re.fullmatch(r"\^((?:(?!\\[sSWDntr]|\[\^)[^.|$^\s])+)\$", pattern)
        if text.strip and whole and name in {"re.search", "re.match"} and not letters:
            return idioms.matches(text, rf"\A\s*(?:{whole[1]})\s*\Z")  # it matches no white space of its own
        if text.strip and re.search(r"(?<!\\)[\^$]|\\[AZ]", pattern):
            raise CannotSay("a pattern that is anchored in a text that was stripped")
        if "$" in pattern and "m" not in letters:
            pattern = re.sub(r"(?<!\\)\$(?![^\[]*\])", r"(?:\\n?\\Z)", pattern)
        if name != "re.search":
            if text.strip:
                raise CannotSay("a pattern that is anchored in a text that was stripped")
            pattern = rf"\A(?:{pattern})" + (r"\Z" if name == "re.fullmatch" else "")
        return idioms.matches(text, f"(?{''.join(sorted(set(letters)))}){pattern}" if letters else pattern)

    def _method(self, value: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Any:
        """Call a method of a value."""
        if isinstance(value, Opaque):
            return value
        if isinstance(value, Choice):
            present = self._present(value)
            return self.choose([(guard, self._method(option, name, args, kwargs, node)) for guard, option in present])
        if isinstance(value, Collected) and name in {"append", "add"}:
            value.items.append((self.path(), args[0]))
            return None
        if isinstance(value, list) and name == "append" and self.path() is True:
            value.append(args[0])
            return None
        if is_plain(value) and name in _PLAIN_METHODS and is_plain(args) and is_plain(kwargs):
            made = getattr(value, name)(*args, **kwargs)
            return list(made) if name in {"items", "keys", "values"} else made
        if isinstance(value, dict) and name in {"items", "values", "get"}:
            made = getattr(value, name)(*args)
            return made if name == "get" else list(made)
        made = self._state_method(value, name, args)
        return self.opaque(node) if made is None else made

    def _state_method(self, value: Any, name: str, args: list[Any]) -> Any:
        """Call a method of a value of the end state; None where the table has none."""
        match value:
            case FsPath(path):
                return self._path_method(path, name, args)
            case OpenFile(path) if name == "read" and not args:
                return Text((("path", path),))
            case OpenFile(path) if name == "readlines":
                return Lines(Text((("path", path),)))
            case Encoded(text) if name in {"decode", "replace"}:
                return text if name == "decode" else value
            case Text():
                if name == "lower":
                    return replace(value, lower=True)
                if name == "strip" and not args:
                    return replace(value, strip=True)
                if name in {"split", "splitlines"} and args in (["\n"], []) and (args or name == "splitlines"):
                    return Lines(value)
                if name == "startswith" and isinstance(args[0], str) and not value.strip:
                    return _cond(idioms.matches(value, ("(?i)" if value.lower else "") + rf"\A{re.escape(args[0])}"))
            case JsonPart() if name == "get" and len(args) == 1:
                return idioms.deeper(value, args[0])
            case RestObject() if name == "get":
                return idioms.rest_field(value, args[0])
            case Response() if name == "json":
                return idioms.rest_object(value)
            case Response() if name == "raise_for_status":
                self.require(idioms.rest_exists(value), "requests.HTTPError")
                return False
        return None

    def _path_method(self, path: str, name: str, args: list[Any]) -> Any:
        match name:
            case "exists":
                return _cond(idioms.exists(path))
            case "is_file":
                return _cond(idioms.exists(path, "file"))
            case "is_dir":
                return _cond(idioms.exists(path, "directory"))
            case "read_text":
                self.require(idioms.exists(path, "file"), "OSError")
                return Text((("path", path),))
            case "open" if not args or args[0] == "r":
                self.require(idioms.exists(path, "file"), "OSError")
                return OpenFile(path)
            case "stat":
                self.require(idioms.exists(path, "file"), "OSError")
                return Size(path, status=True)
            case "iterdir":
                self.require(idioms.exists(path, "directory"), "OSError")
                return Listing(path)
            case "glob" | "rglob" if len(args) == 1 and not re.search(r"[/\[\]]|\*\*", args[0]):
                return Listing(path, glob=args[0], deep=name == "rglob")
            case "joinpath" if all(isinstance(part, str) for part in args):
                return FsPath(idioms.joined(path, *args))
            case "resolve" | "absolute" | "expanduser":
                return FsPath(path)
        return None


_COMPARE_SIGNS = dict(_COMPARE.values())


def _cond(formula: Formula) -> Any:
    return formula if isinstance(formula, bool) else Cond(formula)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Collected) or isinstance(right, Collected):
        return left is right
    return type(left) is type(right) and bool(left == right)
