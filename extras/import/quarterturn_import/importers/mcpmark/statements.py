"""Reading of a verifier's statements: the condition under which the program ends with success.

Both branches of a condition on the end state are read, each under its condition (if-conversion); loops over known
values are unrolled. What is not understood becomes an unknown condition, and never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quarterturn_import.importers.formula import Formula, all_of, any_of, given, negated, unknown
from quarterturn_import.importers.mcpmark.expressions import Expressions
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.row_pairs import pair_same, pairs_match, row_comparison
from quarterturn_import.importers.mcpmark.values import (
    Count,
    FsPath,
    Function,
    Joined,
    Named,
    Opaque,
    Pairs,
    Text,
    is_plain,
)

MAX_CALLS = 12
Env = dict[str, Any]
_BROAD = {"Exception", "BaseException"}
_KINDS = {
    "OSError": {"OSError", "IOError", "FileNotFoundError"},
    "ValueError": {"ValueError", "json.JSONDecodeError", "UnicodeDecodeError"},
    "psycopg2.Error": {"psycopg2.Error", "psycopg2.DatabaseError"},
    "requests.HTTPError": {"requests.HTTPError", "requests.RequestException", "requests.exceptions.RequestException"},
}


@dataclass(frozen=True, slots=True, eq=False)
class _Departure:
    """Where the straight line was left: how, under which condition, and with what."""

    kind: str  # return, raise, exit, break or continue
    guard: Formula
    value: Any = None
    env: Env = field(default_factory=dict)


class Interpreter(Expressions):
    """Reader of one verifier."""

    def __init__(self, where: str, account: str) -> None:
        super().__init__(where, account)
        self.departures: list[_Departure] = []
        self.ended: list[Formula] = []
        self.calls = 0

    def success(self, module: ast.Module) -> Formula:
        """Return the condition under which the program exits with 0."""
        env: Env = {"__name__": "__main__", "__file__": Opaque(f"{self.where}: the verifier's own folder")}
        self.block(module.body, env)
        return any_of([*self.ended, self.live])

    # control

    def block(self, statements: Iterable[ast.stmt], env: Env) -> None:
        """Read statements one after the other."""
        for statement in statements:
            if self.live is False:
                return
            self.steps += 1
            reader = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if reader is None:
                self._not_understood(statement, env)
                continue
            try:
                reader(statement, env)
            except CannotSay as error:
                self._not_understood(statement, env, f"has no predicate: {error}")

    def _left(self, kind: str, value: Any = None, env: Env | None = None) -> None:
        """Leave the straight line for good."""
        if self.live is not False:
            self.departures.append(_Departure(kind, self.live, value, dict(env or {})))
        self.live = False

    def departed(self) -> int:
        """Count the departures from the straight line."""
        return len(self.departures)

    def remaining(self, before: Formula, since: int, rejoined: Container[str] = ()) -> Formula:
        """Return the condition under which the straight line goes on after a part of the program.

        Args:
            before: the condition before the part.
            since: how many departures there were before it.
            rejoined: kinds of departures that come back here.
        """
        gone = [given(left.guard, before) for left in self.departures[since:] if left.kind not in rejoined]
        return all_of([before, *map(negated, gone)]) if gone else before

    def require(self, condition: Formula, kind: str) -> None:
        """Go on only where the condition holds; elsewhere an exception of this kind is raised."""
        raised = all_of([self.live, negated(condition)])
        if raised is not False:
            self.departures.append(_Departure("raise", raised, kind))
            self.live = all_of([self.live, condition])

    def leave(self, code: Any) -> None:
        """End the program with success or not."""
        if code is None or isinstance(code, int | str):
            success: Formula = code in {None, 0} if not isinstance(code, bool) else not code
        else:
            success = negated(self.truth(code))
        self.ended.append(all_of([self.path(), success]))
        self._left("exit")

    def call_function(self, function: Function, args: list[Any], kwargs: dict[str, Any], node: ast.AST) -> Any:
        """Call a function of the verifier: its body is read with these arguments."""
        self.calls += 1
        try:
            if self.calls > MAX_CALLS:
                return self.opaque(node, "calls itself too deeply")
            env = self._arguments(function, args, kwargs)
            if isinstance(function.node, ast.Lambda):
                return self.read(function.node.body, env)
            if function.node.name == "get_test_directory":
                return FsPath(".")
            kept, departures = self.live, self.departures
            self.outer.append(kept)
            self.live, self.departures = True, []
            self.block(function.node.body, env)
            left = self.departures
            self.outer.pop()
            returned = [(way.guard, way.value) for way in left if way.kind == "return"]
            if self.live is not False:
                returned.append((self.live, None))
            self.live, self.departures = kept, departures
            since = len(departures)
            self.departures += [
                _Departure(way.kind, all_of([kept, way.guard]), way.value)
                for way in left
                if way.kind in {"raise", "exit"}
            ]
            self.live = self.remaining(kept, since) if returned else False
            return self.choose(returned) if returned else None
        finally:
            self.calls -= 1

    def _arguments(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Env:
        env, given = dict(function.scope), function.node.args
        names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
        for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = default
        for name, default in defaults.items():
            env[name] = self.read(default, dict(function.scope))
        env.update(zip(names, args, strict=False))
        env.update(kwargs)
        return env

    def _not_understood(self, statement: ast.stmt, env: Env, why: str = "is not understood") -> None:
        """Go on after a statement that was not understood: what it changes is opaque, and where it ends is unknown."""
        head = self.opaque(_headline(statement), why)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                env[node.id] = head
            called = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            if (
                called is not None
                and isinstance(called.value, ast.Name)
                and called.attr in {"append", "add", "extend", "update"}
            ):
                env[called.value.id] = head
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
                env[node.value.id] = head
        leaves = [node for node in ast.walk(statement) if isinstance(node, ast.Return | ast.Raise) or _exits(node)]
        if leaves:
            there = unknown(head.reason)
            value = False if all(map(_fails, leaves)) else head
            self.departures.append(_Departure("return", all_of([self.live, there]), value))
            self.live = all_of([self.live, negated(there)])

    # statements

    def _do_expr(self, statement: ast.Expr, env: Env) -> None:
        self.read(statement.value, env)

    def _do_pass(self, statement: ast.Pass, env: Env) -> None:
        """Nothing to do."""

    def _do_import(self, statement: ast.Import, env: Env) -> None:
        for alias in statement.names:
            env[alias.asname or alias.name.partition(".")[0]] = Named(
                alias.name if alias.asname else alias.name.partition(".")[0]
            )

    def _do_importfrom(self, statement: ast.ImportFrom, env: Env) -> None:
        for alias in statement.names:
            plain = alias.name in {"Path", "load_dotenv"}
            env[alias.asname or alias.name] = Named(alias.name if plain else f"{statement.module}.{alias.name}")

    def _do_functiondef(self, statement: ast.FunctionDef, env: Env) -> None:
        env[statement.name] = Function(statement, env)

    def _do_assign(self, statement: ast.Assign, env: Env) -> None:
        value = self.read(statement.value, env)
        for target in statement.targets:
            self.bind(target, value, env)

    def _do_annassign(self, statement: ast.AnnAssign, env: Env) -> None:
        if statement.value is not None:
            self.bind(statement.target, self.read(statement.value, env), env)

    def _do_augassign(self, statement: ast.AugAssign, env: Env) -> None:
        value = self.read(statement.value, env)
        if not isinstance(statement.target, ast.Name):
            self._not_understood(statement, env)
            return
        name = statement.target.id
        old = env.get(name)
        if isinstance(statement.op, ast.Add) and value == 1 and isinstance(old, int | Count):
            count = old if isinstance(old, Count) else Count(old, ())
            env[name] = Count(count.base, (*count.guards, self.path()), count.many)
        elif isinstance(statement.op, ast.Add) and isinstance(value, Text) and (old == "" or isinstance(old, Joined)):
            env[name] = Joined((*(old.texts if isinstance(old, Joined) else ()), value))
        elif isinstance(statement.op, ast.Add) and is_plain(old) and is_plain(value) and type(old) is type(value):
            env[name] = old + value  # type: ignore[operator] # both plain, and of one type
        else:
            env[name] = self.opaque(statement)

    def _do_if(self, statement: ast.If, env: Env) -> None:
        test, before = self.condition(statement.test, env), self.live
        if isinstance(test, bool):
            self.block(statement.body if test else statement.orelse, env)
            return
        branches, since = [], len(self.departures)
        for condition, body in ((test, statement.body), (negated(test), statement.orelse)):
            self.live, inner = all_of([before, condition]), dict(env)
            self.block(body, inner)
            branches.append((self.live, inner))
        closed = all(live is False for live, _ in branches)
        self.live = False if closed else self.remaining(before, since)
        self._merge(branches, env)

    def _merge(self, ways: Sequence[tuple[Formula, Env]], env: Env) -> None:
        """Join the variables of several ways to one place."""
        open_ = [(live, inner) for live, inner in ways if live is not False]
        if not open_:
            return
        for name in dict.fromkeys(name for _, inner in open_ for name in inner):
            values = [(live, inner[name]) for live, inner in open_ if name in inner]
            first = values[0][1]
            if all(value is first for _, value in values):
                env[name] = first
            elif all(isinstance(value, int | Count) and not isinstance(value, bool) for _, value in values):
                env[name] = self._joined_counts([value for _, value in values], values)
            else:
                env[name] = self.choose(values)

    def _joined_counts(self, counts: list[Any], values: Sequence[tuple[Formula, Any]]) -> Any:
        """Join counters: each guard is a whole path, so those of both branches can be counted together."""
        made = [value if isinstance(value, Count) else Count(value, ()) for value in counts]
        if len({count.base for count in made}) > 1:
            return self.choose(values)
        guards = tuple({id(guard): guard for count in made for guard in count.guards}.values())
        return Count(made[0].base, guards, any(count.many for count in made))

    def _do_for(self, statement: ast.For, env: Env) -> None:
        items = self.read(statement.iter, env)
        if isinstance(items, Opaque):
            raise CannotSay(f"a loop over what is not understood ({items.reason})")
        if isinstance(items, Pairs):
            self._pair_loop(statement, items, env)
            return
        before, start = self.live, len(self.departures)
        for guard, value in self.each(items):
            entry, since = self.live, len(self.departures)
            skipped, inner = all_of([entry, negated(guard)]), dict(env)
            self.live = all_of([entry, guard])
            self.bind(statement.target, value, inner)
            self.block(statement.body, inner)
            continued = [(way.guard, way.env) for way in self.departures[since:] if way.kind == "continue"]
            ways = [(self.live, inner), *continued, (skipped, dict(env))]
            closed = all(live is False for live, _ in ways)
            self.live = False if closed else self.remaining(entry, since, {"continue"})
            self.departures[since:] = [way for way in self.departures[since:] if way.kind != "continue"]
            self._merge(ways, env)
            if self.live is False:
                break
        if self.live is not False:
            self.block(statement.orelse, env)
        broken = [(way.guard, way.env) for way in self.departures[start:] if way.kind == "break"]
        ways = [(self.live, dict(env)), *broken]
        closed = all(live is False for live, _ in ways)
        self.departures[start:] = [way for way in self.departures[start:] if way.kind != "break"]
        self.live = False if closed else self.remaining(before, start)
        self._merge(ways, env)

    def _pair_loop(self, statement: ast.For, pairs: Pairs, env: Env) -> None:
        """Read a loop over pairs of rows: what it does with a pair that differs is done if there is one."""
        target: ast.expr = statement.target
        if pairs.numbered and isinstance(target, ast.Tuple) and len(target.elts) == 2:  # noqa: PLR2004 - number and pair
            target = target.elts[1]
        body = [one for one in statement.body if not _says_only(one)]
        if len(body) != 1 or not isinstance(body[0], ast.If) or body[0].orelse or statement.orelse:
            raise CannotSay("a loop over pairs of rows that does more than to look for one that differs")
        number, match = self._pair_match(body[0].test, target, pairs, env)
        if not self.certain(number):
            raise CannotSay("pairs of rows of which there may be another number on either side")
        entry, since = self.live, len(self.departures)
        counts = {name: value for name, value in env.items() if isinstance(value, int | Count)}
        self.live, inner = all_of([entry, negated(match)]), dict(env)
        for node in ast.walk(statement.target):
            if isinstance(node, ast.Name):
                inner[node.id] = Opaque(f"{self.where}:{statement.lineno}: one of several rows")
        self.block(body[0].body, inner)
        for name, before in counts.items():
            after = inner.get(name)
            if isinstance(after, Count) and after is not before:
                inner[name] = replace(after, many=True)
        left = [(way.guard, way.env) for way in self.departures[since:] if way.kind in {"break", "continue"}]
        ways = [(self.live, inner), (all_of([entry, match]), dict(env)), *left]
        self.live = self.remaining(entry, since, {"break", "continue"})
        self.departures[since:] = [way for way in self.departures[since:] if way.kind not in {"break", "continue"}]
        self._merge(ways, env)

    def _pair_match(self, test: ast.expr, target: ast.expr, pairs: Pairs, env: Env) -> tuple[Formula, Formula]:
        """Return the condition that both sides have as many rows, and that no pair differs as the test says."""
        if not isinstance(target, ast.Tuple) or not all(isinstance(name, ast.Name) for name in target.elts):
            raise CannotSay("a loop over pairs of rows with other names")
        left, right = (ast.unparse(name) for name in target.elts)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Call):
            function = self.read(test.operand.func, env)
            given_names = [ast.unparse(argument) for argument in test.operand.args]
            if (
                isinstance(function, Function)
                and isinstance(function.node, ast.FunctionDef)
                and given_names == [left, right]
                and not test.operand.keywords
            ):
                return pairs_match(pairs, row_comparison(function.node))
        number, match = pairs_match(pairs, {})
        return number, match if ast.unparse(test) == f"{left} != {right}" else pair_same(test, left, right, pairs)

    def _do_break(self, _statement: ast.Break, env: Env) -> None:
        self._left("break", env=env)

    def _do_continue(self, _statement: ast.Continue, env: Env) -> None:
        self._left("continue", env=env)

    def _do_return(self, statement: ast.Return, env: Env) -> None:
        self._left("return", None if statement.value is None else self.read(statement.value, env))

    def _do_raise(self, statement: ast.Raise, _env: Env) -> None:
        kind = ast.unparse(statement.exc).partition("(")[0] if statement.exc is not None else "Exception"
        if kind == "SystemExit":
            self.leave(1)
            return
        self._left("raise", kind)

    def _do_assert(self, statement: ast.Assert, env: Env) -> None:
        self.require(self.condition(statement.test, env), "AssertionError")

    def _do_with(self, statement: ast.With, env: Env) -> None:
        for item in statement.items:
            value = self.read(item.context_expr, env)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, env)
        self.block(statement.body, env)

    def _do_try(self, statement: ast.Try, env: Env) -> None:
        before, since = self.live, len(self.departures)
        self.block(statement.body, env)
        if self.live is not False:
            self.block(statement.orelse, env)
        ways = [(self.live, dict(env))]
        for handler in statement.handlers:
            here = [way for way in self.departures[since:] if way.kind == "raise" and _catches(handler, way.value)]
            if not here:
                continue
            self.departures[since:] = [way for way in self.departures[since:] if way not in here]
            self.live, inner = any_of(way.guard for way in here), dict(env)
            if handler.name:
                inner[handler.name] = Opaque(f"{self.where}:{handler.lineno}: the exception")
            self.block(handler.body, inner)
            ways.append((self.live, inner))
        closed = all(live is False for live, _ in ways)
        self.live = False if closed else self.remaining(before, since)
        self._merge(ways, env)
        if self.live is not False:
            self.block(statement.finalbody, env)


def _says_only(statement: ast.stmt) -> bool:
    """Say whether a statement only prints."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "print"


def _catches(handler: ast.ExceptHandler, kind: str) -> bool:
    if handler.type is None:
        return True
    names = {
        ast.unparse(name) for name in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])
    }
    return bool(names & (_BROAD | _KINDS.get(kind, set()) | {kind}))


def _exits(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {"sys.exit", "exit", "quit"}


def _fails(node: ast.AST) -> bool:
    """Say whether a statement that leaves says that the check failed."""
    value = node.value if isinstance(node, ast.Return) else None
    value = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
    return not isinstance(node, ast.Return) or (isinstance(value, ast.Constant) and not value.value)


def _headline(statement: ast.stmt) -> ast.AST:
    """Return what stands for a statement in a message: the head of a loop, or all of a simple one."""
    match statement:
        case ast.For():
            return ast.copy_location(ast.Tuple([statement.target, statement.iter], ast.Load()), statement)
        case ast.While():
            return ast.copy_location(statement.test, statement)
    return statement
