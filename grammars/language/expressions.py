"""Expressions of grammar files: CEL (Common Expression Language), compiled once, evaluated over the names of one draw.

CEL has no loops, no side effects and no clock, so a draw depends on nothing but its random source. What an expression
may cost is counted (`grammars.language.cost`): grammars are imported, and drawn from in a process that holds keys.
The functions are those of `cel.stdlib` (cel-go's extension libraries) and of `grammars.language.functions`.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from grammars.errors import Malformed
from grammars.language.cel_library import STDLIB_FUNCTIONS, cel
from grammars.language.cost import MAX_CHARACTERS, Meter, Shape, TooCostly, metered, weight
from grammars.language.functions import FUNCTIONS

_BOUND = re.compile(r"\.\s*(?:map|filter|all|exists|exists_one)\s*\(\s*([A-Za-z_]\w*)\s*,")
_FIELDS = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_PATH = re.compile(rf"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\]|\[{_FIELDS}\])*")
_TEXT = r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"""
_ARGUMENT = rf"""(?:size\({_PATH.pattern}\)|{_PATH.pattern}|\d+|"[^"\\]*"|'[^'\\]*')"""
_HEAD = rf"(?:(?:{'|'.join(['size', *FUNCTIONS])})\(|{_PATH.pattern}\.slice\()"
_FIELD_OF_EACH = rf"(?:{_PATH.pattern})\.map\((?P<each>[a-z]\w*), (?P=each)\.\w+\)"
_CALL = rf"{_HEAD}{_ARGUMENT}(?:, {_ARGUMENT})*\)|{_FIELD_OF_EACH}"
_TEXT_CALL_OR_PATH = re.compile(rf"{_TEXT}|(?<![\w.])(?:(?P<made>{_CALL})|(?P<path>{_PATH.pattern})(?P<call>\()?)")
_ROUNDS = re.compile(rf"(?P<items>{_PATH.pattern})\.(?P<macro>filter|map)\((?P<name>[a-z]\w*), (?P<body>.*)\)")
# `has` tests whether a field exists; `path__` is our own prefix.
_LEFT_AS_WRITTEN = re.compile(r"has\(|\bpath__")
# In a source whose texts were emptied: what could hide a macro from `Shape`, or show it a text for one.
_UNREAD = re.compile(r"""//|\b[rRbB]{1,2}"|""["']""")
# Without `matches`: what a regular expression costs is not counted.
_NATIVE = {"size", "contains", "startsWith", "endsWith", "string", "int", "uint", "double", "bytes", "type"}
_NATIVE |= {"dyn", "has", "range"}
_NOT_NAMES = {name.split(".")[0] for name in STDLIB_FUNCTIONS if "." in name} | {"int", "string", "bool", "double"}
KNOWN_FUNCTIONS = _NATIVE | {name.split(".")[-1] for name in STDLIB_FUNCTIONS} | set(FUNCTIONS)


_FAILURES = (Malformed, RuntimeError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)

Path: TypeAlias = "tuple[str | int | Path, ...]"
"""The steps of a look-up: a name, then field names and list indices; an index may be a path itself."""


@dataclass(frozen=True)
class FunctionCall:
    """A call of one of our functions, of `size` or of `slice`; its arguments are paths, constants or nested calls."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Path | FunctionCall | str | int, ...]

    def value(self, scope: Scope) -> Any:
        """Evaluate the call."""
        return metered(self.name, self.function, scope.meter)(
            *(argument if isinstance(argument, str | int) else _value(argument, scope) for argument in self.arguments)
        )


@dataclass(frozen=True)
class Comprehension:
    """A `filter` or `map` macro over the list at a path, evaluated in Python to spare converting the whole list."""

    items: Path
    name: str
    body: Expression
    keep: bool

    def value(self, scope: Scope) -> list[Any]:
        """Evaluate the macro; give the list."""
        out = []
        for item in _listed(_look_up(self.items, scope)):
            with scope.inside(**{self.name: item}):
                made = self.body.evaluate(scope)
            if self.keep and not isinstance(made, bool):
                raise TypeError(self.name)
            if made or not self.keep:
                out.append(item if self.keep else made)
        return out


class Scope:
    """The evaluation scope of one draw: its names with their values, and a cache of evaluated expressions.

    Converting values for CEL is most of what a draw costs. Paths, `FunctionCall` and `Comprehension` are evaluated in
    Python, and only their results are passed to CEL. A list or map of the whole draw is converted once, when an
    expression first mentions it by itself; a name bound by `inside` has a small value that changes often, and is
    converted at each use. The value of an expression is cached until one of its names gets another value, unless it
    mentions a name bound by `inside`.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._block: dict[str, Any] = {}
        self._converted: set[str] = set()
        self._paths: Mapping[str, Path | FunctionCall] = {}
        self._kept: dict[Expression, Any] = {}
        self._taken, self._shape = 0, Shape()
        self.meter = Meter()
        self._context = _context(self.meter)
        scope = weakref.ref(self)  # the collector does not see through CEL's context: a circle would never be freed
        self._context.set_variable_resolver(lambda name: _resolve(scope, name))

    def __getitem__(self, name: str) -> Any:
        return self._block[name] if name in self._block else self._values[name]

    def bind(self, name: str, value: Any) -> None:
        """Set a name's value; cached expressions that mention the name are dropped if the value changed."""
        if name in self._values:
            if self._values[name] == value:
                return
            self._converted.discard(name)
            self._kept = {expression: known for expression, known in self._kept.items() if name not in expression.names}
        self._values[name] = value

    def charge(self, steps: int, where: str) -> None:
        """Count values that are to be drawn or repeated.

        Raises:
            Malformed: they are more than a draw may have.
        """
        if not self.meter.take(steps):
            raise Malformed(f"{where}: it costs more than a draw may")

    @contextmanager
    def inside(self, **names: Any) -> Iterator[None]:
        """Bind names for as long as the block lasts."""
        around = self._block
        self._block = {**around, **names}
        try:
            yield
        finally:
            self._block = around

    def kept(self, expression: Expression, compute: Callable[[], Any]) -> Any:
        """Return an expression's value, cached unless it mentions a name bound by `inside`."""
        if not expression.names.isdisjoint(self._block):
            return compute()
        if expression not in self._kept:
            self._kept[expression] = compute()
        return self._kept[expression]

    def execute(self, expression: Expression, *, as_written: bool = False) -> Any:
        """Run a compiled program, with placeholder names for its paths or as it was written.

        Raises:
            TooCostly: it takes in more than it may.
        """
        program = cel.compile(expression.source) if as_written else expression.program
        names = expression.names if as_written else expression.whole
        self._paths = {} if as_written else expression.paths
        self._shape, self._taken = expression.shape, len(expression.source) // 2  # of a source's own constants
        for name in names:
            if isinstance(self._values.get(name), list | dict) and name not in self._converted:
                self.meter.charge(weight(self._values[name]))
                self._context.add_variable(name, self._values[name])
                self._converted.add(name)
        value = program.execute(self._context)
        if self.meter.is_spent:
            raise TooCostly(expression.source)
        return value

    def resolve(self, name: str) -> Any:
        """Resolve a name for CEL; None if CEL has the value already, or if there is no such name.

        CEL takes an exception for None. So once the limit is reached a name is 0, over which no macro goes any further.
        """
        if self.meter.is_spent:
            return 0
        value: Any = None
        if name in self._paths:
            value = _value(self._paths[name], self)
        elif name in self._block:
            value = self._block[name]
        elif name not in self._converted:
            value = self._values.get(name)
        steps = weight(self._values[name] if value is None and name in self._converted else value)
        self._taken += steps
        if not self._shape.permits(self._taken):
            self.meter.end()
        return value if self.meter.take(steps) else 0


def _resolve(scope: weakref.ref[Scope], name: str) -> Any:
    outer = scope()
    return None if outer is None else outer.resolve(name)


def _context(meter: Meter) -> Any:
    context = cel.Context()
    for name, function in {**STDLIB_FUNCTIONS, **FUNCTIONS}.items():
        context.add_function(name, metered(name, function, meter))
    return context


@dataclass(frozen=True, eq=False)
class Expression:
    """One compiled CEL expression; compared by identity.

    Attributes:
        source: as the author wrote it.
        where: file, template and field, for messages.
        names: the names that it takes from the scope.
        path: its steps if it is a plain look-up (`row.name`, `people[0]`), which is evaluated without CEL.
        rounds: the `filter` or `map` macro, if it is the whole expression.
        paths: the paths and calls in it, by the placeholder names that stand for them in the program.
        whole: the names that the program uses directly.
        program: the compiled program.
        shape: what its macros can make of the values that it takes in.
    """

    source: str
    where: str
    names: frozenset[str]
    path: Path
    rounds: Comprehension | None = field(repr=False)
    paths: Mapping[str, Path | FunctionCall] = field(repr=False)
    whole: frozenset[str] = field(repr=False)
    program: Any = field(repr=False)
    shape: Shape = field(repr=False)

    @classmethod
    def parse(cls, source: Any, where: str) -> Expression:
        """Compile.

        Raises:
            Malformed: it is not valid CEL, is too long or too deep, or calls a function that does not exist.
        """
        if not isinstance(source, str) or not source.strip():
            raise Malformed(f"{where}: a CEL expression is expected here, in quotes")
        if len(source) > MAX_CHARACTERS:
            raise Malformed(
                f"{where}: the expression {source[:40]!r}… is longer than {MAX_CHARACTERS} characters: name a part of "
                "it under `let`"
            )
        bare = re.sub(_TEXT, '""', source)
        if _UNREAD.search(bare):
            raise Malformed(f"{where}: {source!r} has a comment, or a raw or triple-quoted text: write it without")
        try:
            shape = Shape.of(bare)
            program = cel.compile(source)
        except TooCostly as error:
            raise Malformed(f"{where}: {source!r}: {error}") from None
        except ValueError as error:
            raise Malformed(f"{where}: {source!r} is no CEL expression: {_first_line(error)}") from None
        unknown = [name for name in program.functions() if name[:1].isalpha() and name not in KNOWN_FUNCTIONS]
        if unknown:
            raise Malformed(f"{where}: there is no function {unknown[0]}() (in {source!r})")
        bound = set(_BOUND.findall(source))
        names = frozenset(program.variables()) - bound - _NOT_NAMES
        shorter, paths = _with_names_for_paths(source, names)
        program = cel.compile(shorter) if paths else program
        variables = frozenset(program.variables()) - bound - _NOT_NAMES - set(paths)
        steps, rounds = _steps(source, names), _rounds(source, names, where)
        return cls(source, where, names, steps, rounds, paths, variables, program, shape)

    def evaluate(self, scope: Scope) -> Any:
        """Return the value.

        Raises:
            Malformed: it cannot be evaluated over these names, or costs more than the draw may. The message quotes the
                expression and no drawn value.
        """
        try:
            value = _look_up(self.path, scope) if self.path else scope.kept(self, partial(self._execute, scope))
            scope.meter.charge(weight(value))
        except (TooCostly, RuntimeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            why = "costs more than a draw may" if scope.meter.is_spent else f"cannot be evaluated: {_reason(error)}"
            raise Malformed(f"{self.where}: {self.source!r} {why}") from None
        return value

    def _execute(self, scope: Scope) -> Any:
        try:
            if self.rounds:
                return _ordered(self.rounds.value(scope))
            if not self.whole and len(self.paths) == 1 and self.program.source in self.paths:
                return _ordered(_value(self.paths[self.program.source], scope))
            return _ordered(scope.execute(self))
        except _FAILURES:  # the expression as it was written tells best why
            if scope.meter.is_spent:
                raise
            return _ordered(scope.execute(self, as_written=True))


def _steps(source: str, names: frozenset[str]) -> Path:
    """Parse a path; give no steps if it is not one, or if it begins with a name that only CEL knows."""
    if not _PATH.fullmatch(source):
        return ()
    steps: list[str | int | Path] = []
    for place, field_name in re.findall(r"\[(.+?)\]|(\w+)", source):
        steps.append(field_name or (int(place) if place.isdigit() else _steps(place, names)))
    return tuple(steps) if steps[0] in names and () not in steps else ()


def _rounds(source: str, names: frozenset[str], where: str) -> Comprehension | None:
    match = _ROUNDS.fullmatch(source)
    if match is None or _LEFT_AS_WRITTEN.search(source) or not _balanced(match["body"]):
        return None
    items = _steps(match["items"], names)
    body = Expression.parse(match["body"], where)
    return Comprehension(items, match["name"], body, match["macro"] == "filter") if items else None


def _balanced(source: str) -> bool:
    """Say whether its brackets are balanced and it has no comma at the top level."""
    depth = 0
    for sign in re.findall(r"[\[({,})\]]", re.sub(_TEXT, "", source)):
        depth += (sign in "[({") - (sign in "])}")
        if depth < 0 or (sign == "," and depth == 0):
            return False
    return depth == 0


def _with_names_for_paths(source: str, names: frozenset[str]) -> tuple[str, dict[str, Path | FunctionCall]]:
    """Replace each path (`row.name`) and call by a placeholder name; give the source and what the names stand for."""
    if _LEFT_AS_WRITTEN.search(source):
        return source, {}
    paths: dict[str, Path | FunctionCall] = {}

    def name_for(match: re.Match[str]) -> str:
        path, tail = match["path"], ""
        target: Path | FunctionCall | None = None
        if match["made"]:
            target = _call(match["made"], names)
        elif path:
            path, method = path.rpartition(".")[::2] if match["call"] else (path, "")
            tail = f".{method}(" if match["call"] else ""
            steps = _steps(path, names)
            target = steps if len(steps) > 1 else None  # a name by itself is no path
        if target is None:
            return match[0]
        name = next((name for name, known in paths.items() if known == target), f"path__{len(paths)}")
        paths[name] = target
        return name + tail

    return _TEXT_CALL_OR_PATH.sub(name_for, source), paths


def _call(source: str, names: frozenset[str]) -> FunctionCall | None:
    head, tail = source[:-1].split("(", 1)
    items, _, function = head.rpartition(".")
    written = [items] * bool(items) + re.findall(_ARGUMENT, tail)
    if function == "map":
        written = [items, f"'{tail.rpartition('.')[2]}'"]
    arguments = tuple(read for node in written if (read := _argument(node, names)) is not None)
    known: Mapping[str, Callable[..., Any]]
    known = {**FUNCTIONS, "size": _size, "slice": STDLIB_FUNCTIONS["slice"], "map": _field_of_each}
    return FunctionCall(function, known[function], arguments) if len(arguments) == len(written) else None


def _argument(source: str, names: frozenset[str]) -> Path | FunctionCall | str | int | None:
    """Parse an argument; None if it depends on a name that only CEL knows."""
    if source.isdigit():
        return int(source)
    if source[0] in "'\"":
        return source[1:-1]
    if source.endswith(")"):
        return _call(source, names)
    return _steps(source, names) or None


def _size(value: Any) -> int:
    if isinstance(value, list | dict):  # of a text CEL counts in its own way
        return len(value)
    raise TypeError(value)


def _field_of_each(items: Any, name: str) -> list[Any]:
    return [item[name] for item in _listed(items)]


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise TypeError(value)


def _value(what: Path | FunctionCall, scope: Scope) -> Any:
    return what.value(scope) if isinstance(what, FunctionCall) else _look_up(what, scope)


def _ordered(value: Any) -> Any:
    """Put maps in the order of their keys: CEL's have none, and a draw must be the same byte for byte."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=str)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _look_up(path: Path, scope: Scope) -> Any:
    try:
        value: Any = scope[str(path[0])]
    except KeyError:
        raise RuntimeError(f"Undefined variable or function: '{path[0]}'") from None
    for step in path[1:]:
        place: Any = _look_up(step, scope) if isinstance(step, tuple) else step
        if not isinstance(value, list if type(place) is int else dict):
            raise TypeError(place)
        if isinstance(value, list) and place < 0:
            raise IndexError(place)
        value = value[place]
    return value


def _first_line(error: Exception) -> str:
    lines = str(error).split("ERROR: ", 1)[-1].splitlines()
    return lines[0][:160] if lines else type(error).__name__


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no field {error}"
    if isinstance(error, IndexError):
        return "a list is shorter than that"
    if isinstance(error, ArithmeticError):
        return "it divides by zero or overflows"
    if match := re.match(r"Undefined variable or function: '(\w+)'", str(error)):
        return f"there is no name {match.group(1)}"
    if match := re.match(r"Function '(\w+)' error", str(error)):
        return f"{match.group(1)}() cannot take what it is given"
    return "its types do not fit together"
