"""Values with embedded expressions in a grammar file: how they are compiled and evaluated.

There are four forms:

    "=size(files)"            the whole value is an expression and keeps its type
    "reports/{month}.txt"     text with expressions in it, each of which gives text or an integer; {{ and }} are braces
    {each: files, ...}        in a list: the other keys once for every item, which is named `it` (or as `as` says)
    {when: "n > 3", ...}      in a list: the other keys only if it holds; `do: [...]` may give a list instead of them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from grammars.errors import Malformed
from grammars.language.cost import weight
from grammars.language.expressions import Expression, Scope

Node: TypeAlias = Any  # a value whose expressions are compiled: Expression, Text, Repeat, Constant, or JSON of them


@dataclass(frozen=True)
class TextTemplate:
    """A text template: literal parts and expressions."""

    where: str
    parts: tuple[str | Expression, ...]

    def fill(self, scope: Scope) -> str:
        """Render the text with the values of its expressions.

        Raises:
            Malformed: a value is neither text nor an integer.
        """
        return "".join(part if isinstance(part, str) else _as_text(part, scope) for part in self.parts)


def _as_text(expression: Expression, scope: Scope) -> str:
    value = expression.evaluate(scope)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise Malformed(
        f"{expression.where}: {{{expression.source}}} gives a {type(value).__name__}, not text or an integer"
    )


@dataclass(frozen=True)
class Constant:
    """A value without expressions, such as a long dictionary, which is not traversed at each draw."""

    value: Any


@dataclass(frozen=True)
class Repeat:
    """A list member with `each` or `when`, which expands to zero or more members."""

    where: str
    items: Expression | None
    name: str
    when: Expression | None
    body: tuple[Node, ...]

    def fill(self, scope: Scope) -> Iterator[Any]:
        """Yield the members that it expands to."""
        items = self.items.evaluate(scope) if self.items else [None]
        if self.items and not isinstance(items, list):
            raise Malformed(f"{self.items.where}: {self.items.source!r} must give a list")
        for item in items:
            with scope.inside(**({self.name: item} if self.items else {})):
                if self.when is None or holds(self.when, scope):
                    members = fill(self.body, scope)
                    scope.charge(weight(members), self.where)
                    yield from members


def holds(condition: Expression, scope: Scope) -> bool:
    """Evaluate a condition.

    Raises:
        Malformed: its value is neither true nor false.
    """
    value = condition.evaluate(scope)
    if not isinstance(value, bool):
        raise Malformed(f"{condition.where}: {condition.source!r} must give true or false")
    return value


def compile_value(value: Any, where: str) -> Node:
    """Compile every expression in a value from a grammar file.

    Raises:
        Malformed: one of them is not a valid expression; the message says where.
    """
    if isinstance(value, str):
        return Expression.parse(value[1:].strip(), where) if value.startswith("=") else compile_text(value, where)
    if isinstance(value, Mapping):
        return {
            (compile_text(key, where) if "{" in key or "}" in key else key): compile_value(item, f"{where}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return tuple(_compile_member(item, f"{where}[{index}]") for index, item in enumerate(value))
    return value


def _compile_member(item: Any, where: str) -> Node:
    if not isinstance(item, Mapping) or not {"each", "when"} & set(item):
        return compile_value(item, where)
    rest = {key: value for key, value in item.items() if key not in {"each", "as", "when", "do"}}
    if ("do" in item) == bool(rest):
        raise Malformed(f"{where}: each and when need either `do` with a list or the member itself beside them")
    body = item.get("do", [rest])
    if not isinstance(body, list):
        raise Malformed(f"{where}.do: a list is expected here")
    return Repeat(
        where=where,
        items=Expression.parse(item["each"], f"{where}.each") if "each" in item else None,
        name=str(item.get("as", "it")),
        when=Expression.parse(item["when"], f"{where}.when") if "when" in item else None,
        body=tuple(_compile_member(member, f"{where}.do[{index}]") for index, member in enumerate(body)),
    )


def compile_text(source: str, where: str) -> Node:
    """Compile text with `{expressions}` in it; text without any stays plain text.

    Raises:
        Malformed: a brace is not closed or not opened.
    """
    parts: list[str | Expression] = []
    literal, position = "", 0
    while position < len(source):
        pair, character = source[position : position + 2], source[position]
        if pair in {"{{", "}}"}:
            literal, position = literal + character, position + 2
        elif character == "{":
            end = _closing(source, position, where)
            parts += [literal, Expression.parse(source[position + 1 : end].strip(), where)]
            literal, position = "", end + 1
        elif character == "}":
            raise Malformed(f"{where}: a closing brace without an opening one; write }}}} for a brace")
        else:
            literal, position = literal + character, position + 1
    return TextTemplate(where, (*parts, literal)) if parts else literal


def _closing(source: str, start: int, where: str) -> int:
    depth, quote = 0, ""
    for position in range(start, len(source)):
        character = source[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return position
    raise Malformed(f"{where}: an opening brace that is never closed; write {{{{ for a brace")


def fill(node: Node, scope: Scope) -> Any:
    """Evaluate a compiled value to plain JSON values.

    Raises:
        Malformed: an expression in it cannot be evaluated over these names.
    """
    if isinstance(node, Expression):
        return node.evaluate(scope)
    if isinstance(node, TextTemplate):
        return node.fill(scope)
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, dict):
        return {
            (key.fill(scope) if isinstance(key, TextTemplate) else key): fill(item, scope) for key, item in node.items()
        }
    if isinstance(node, tuple):
        out: list[Any] = []
        for member in node:
            if isinstance(member, Repeat):
                out.extend(member.fill(scope))
            else:
                out.append(fill(member, scope))
        return out
    return node


def names_in(node: Node) -> frozenset[str]:
    """Collect the names that a compiled value takes from the scope."""
    if isinstance(node, Expression):
        return node.names
    if isinstance(node, TextTemplate):
        return _union(part.names for part in node.parts if isinstance(part, Expression))
    if isinstance(node, Repeat):
        inner = _union(names_in(member) for member in node.body) | (node.when.names if node.when else frozenset())
        return (inner - {node.name} if node.items else inner) | (node.items.names if node.items else frozenset())
    if isinstance(node, dict):
        return _union(names_in(part) for pair in node.items() for part in pair)
    if isinstance(node, tuple):
        return _union(names_in(member) for member in node)
    return frozenset()


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
