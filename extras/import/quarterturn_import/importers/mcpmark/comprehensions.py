"""Comprehensions: over known values they are unrolled, over lines, listings and labels they narrow what is meant."""

# ruff: noqa: PLR0911, PLR0917 - tables of idioms, written as matches with one return each

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from quarterturn_import.importers.formula import Formula, all_of
from quarterturn_import.importers.mcpmark.conditions import Conditions
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.queries import column_of, width
from quarterturn_import.importers.mcpmark.values import (
    Collected,
    Lines,
    Listing,
    Opaque,
    RestObject,
    Rows,
    is_plain,
)


class Comprehensions(Conditions):
    """Reader of comprehensions."""

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: dict[str, Any]) -> Any:
        if len(node.generators) != 1:
            return self.opaque(node)
        generator = node.generators[0]
        items = self.read(generator.iter, env)
        if isinstance(items, Opaque):
            return items
        if isinstance(items, Lines | Listing | RestObject) and isinstance(generator.target, ast.Name):
            return self._narrowed(items, generator.target.id, generator.ifs, node.elt, node, env)
        if isinstance(items, Rows):
            return self._column(items, generator, node)
        made = Collected()
        for guard, value in self.each(items):
            inner, kept, since = {**env}, self.live, self.departed()
            self.bind(generator.target, value, inner)
            tests: list[Formula] = [guard]
            for test in generator.ifs:
                tests.append(self.condition(test, inner))
            self.live = all_of([kept, *tests])
            if self.live is not False:
                made.items.append((self.path(), self.read(node.elt, inner)))
            self.live = self.remaining(kept, since)
        values = [value for guard, value in made.items]
        if all(self.certain(guard) for guard, _ in made.items) and values:
            return set(values) if isinstance(node, ast.SetComp) and is_plain(values) else values
        return made

    def _column(
        self, rows: Rows, generator: ast.comprehension, node: ast.ListComp | ast.SetComp | ast.GeneratorExp
    ) -> Any:
        """Read a comprehension over rows that takes one cell of each."""
        target, element = generator.target, ast.unparse(node.elt)
        made = None
        if not generator.ifs and not rows.flat and isinstance(target, ast.Name):
            place = re.fullmatch(rf"{target.id}\[(\d+)\]", element)
            made = rows if element == target.id else column_of(rows, int(place[1])) if place else None
        elif not generator.ifs and not rows.flat and isinstance(target, ast.Tuple):
            names = [ast.unparse(name) for name in target.elts]
            if element in names and len(names) == width(rows.query) and names.count(element) == 1:
                made = column_of(rows, names.index(element))
        if made is None:
            return self.opaque(node)
        return replace(made, distinct=True) if isinstance(node, ast.SetComp) else made

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
