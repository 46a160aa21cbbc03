"""The language of a grammar's expressions: CEL, compiled once, evaluated over the names of one draw.

CEL has no loops, no side effects and no clock, so a draw depends on nothing but its dice. The functions are those of
`cel.stdlib` (cel-go's extension libraries) and of `grammars.functions`.
"""

from __future__ import annotations

import logging
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import cel
from cel.stdlib import STDLIB_FUNCTIONS, add_stdlib_to_context

from grammars.errors import Malformed
from grammars.functions import FUNCTIONS

# The CEL package logs what a failing function was given; drawn values may be part of a private task.
logging.getLogger("cel").addHandler(logging.NullHandler())
logging.getLogger("cel").propagate = False

_BOUND = re.compile(r"\.\s*(?:map|filter|all|exists|exists_one)\s*\(\s*([A-Za-z_]\w*)\s*,")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*")
_NATIVE = {"size", "contains", "startsWith", "endsWith", "matches", "string", "int", "uint", "double", "bytes", "type"}
_NATIVE |= {"dyn", "has", "range"}
_NOT_NAMES = {name.split(".")[0] for name in STDLIB_FUNCTIONS if "." in name} | {"int", "string", "bool", "double"}
KNOWN_FUNCTIONS = _NATIVE | {name.split(".")[-1] for name in STDLIB_FUNCTIONS} | set(FUNCTIONS)


class Scope:
    """The names of one draw, and the functions; expressions fetch from it only the names that they mention."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values: ChainMap[str, Any] = ChainMap(dict(values))
        self.context = cel.Context()
        add_stdlib_to_context(self.context)
        for name, function in FUNCTIONS.items():
            self.context.add_function(name, function)
        self.context.set_variable_resolver(self._values.get)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def bind(self, name: str, value: Any) -> None:
        """Give a name its value for the rest of the draw."""
        self._values[name] = value

    @contextmanager
    def inside(self, **names: Any) -> Iterator[None]:
        """Bind names for as long as the block lasts."""
        self._values.maps.insert(0, names)
        try:
            yield
        finally:
            self._values.maps.pop(0)


@dataclass(frozen=True)
class Expression:
    """One compiled CEL expression.

    Attributes:
        source: as the author wrote it.
        where: file, template and field, for messages.
        names: the names that it takes from the scope.
        path: its steps where it only looks something up (`row.name`, `people[0]`): no need to hand everything to CEL.
    """

    source: str
    where: str
    names: frozenset[str]
    path: tuple[str | int, ...]
    program: Any = field(repr=False, compare=False)

    @classmethod
    def parse(cls, source: Any, where: str) -> Expression:
        """Compile.

        Raises:
            Malformed: it is no CEL, or calls a function that does not exist.
        """
        if not isinstance(source, str) or not source.strip():
            raise Malformed(f"{where}: a CEL expression is expected here, in quotes")
        try:
            program = cel.compile(source)
        except ValueError as error:
            raise Malformed(f"{where}: {source!r} is no CEL expression: {_first_line(error)}") from None
        unknown = [name for name in program.functions() if name[:1].isalpha() and name not in KNOWN_FUNCTIONS]
        if unknown:
            raise Malformed(f"{where}: there is no function {unknown[0]}() (in {source!r})")
        names = frozenset(program.variables()) - set(_BOUND.findall(source)) - _NOT_NAMES
        return cls(source, where, names, _steps(source, names), program)

    def evaluate(self, scope: Scope) -> Any:
        """Give the value.

        Raises:
            Malformed: it cannot be evaluated over these names. The message quotes the expression and no drawn value.
        """
        try:
            return _look_up(self.path, scope) if self.path else _ordered(self.program.execute(scope.context))
        except (RuntimeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise Malformed(f"{self.where}: {self.source!r} cannot be evaluated: {_reason(error)}") from None


def _steps(source: str, names: frozenset[str]) -> tuple[str | int, ...]:
    if not _PATH.fullmatch(source) or not names:
        return ()
    return tuple(int(step) if step.isdigit() else step for step in re.findall(r"\w+", source))


def _ordered(value: Any) -> Any:
    """Put maps in the order of their keys: CEL's have none, and a draw must be the same byte for byte."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=str)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _look_up(path: tuple[str | int, ...], scope: Scope) -> Any:
    if path[0] not in scope:
        raise RuntimeError(f"Undefined variable or function: '{path[0]}'")
    value: Any = scope[str(path[0])]
    for step in path[1:]:
        right = isinstance(value, list) if isinstance(step, int) else isinstance(value, dict)
        if not right:
            raise TypeError(step)
        value = value[step]
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
