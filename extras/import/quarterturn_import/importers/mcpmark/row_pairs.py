"""Idioms of loops over pairs of rows: both sides have as many rows, and no pair differs, as one condition each."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn_import.importers.formula import Formula, all_of
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.queries import ROWS, column_of, constants, has_rows, same_number, width
from quarterturn_import.importers.mcpmark.values import Pairs, Rows


def pair_same(test: ast.expr, left: str, right: str, pairs: Pairs) -> Formula:
    """Return the condition under which a test that two rows differ, by the names of both, holds of no pair.

    Raises:
        CannotSay: the test is no comparison of cells, or there may be another number of rows on either side.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return all_of(pair_same(part, left, right, pairs) for part in test.values)
    text = ast.unparse(test)
    exact = re.fullmatch(rf"{left}\[(\d+)\] != {right}\[(\d+)\]", text)
    near = re.fullmatch(rf"abs\(float\({left}\[(\d+)\]\) - (?:float\()?{right}\[(\d+)\]\)?\) > ([0-9.]+)", text)
    found = exact or near
    if found is None or found[1] != found[2]:
        raise CannotSay("a comparison of rows that is written in another way")
    others, place = pairs.others, int(found[2])
    others = column_of(others, place) if isinstance(others, Rows) else [row[place] for row in others]
    cells = Pairs(column_of(pairs.rows, int(found[1])), others)
    options = {} if near is None else {"tolerance": float(near[3])}
    return pairs_match(cells, options)[1]


def pairs_match(pairs: Pairs, options: Mapping[str, Any]) -> tuple[Formula, Formula]:
    """Return the condition that both sides have the same number of rows, and that each pair matches besides."""
    query = pairs.rows.query
    if isinstance(pairs.others, Rows):
        other = pairs.others.query
        if width(query) != width(other):
            raise CannotSay("rows of different widths")
        number = same_number(query, other)
    else:
        if not pairs.others:
            raise CannotSay("a loop over no constants")
        other, number = constants(pairs.rows, pairs.others), has_rows(query, len(pairs.others))
    return number, {ROWS: {"query": query, "same_as": other, **options}}


def row_comparison(function: ast.FunctionDef) -> dict[str, Any]:
    """Return the tolerance of a function that compares two rows cell by cell.

    Raises:
        CannotSay: it is written in another way.
    """
    names = [argument.arg for argument in function.args.args]
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    match names, body:
        case [[left, right], [ast.If() as lengths, ast.For() as loop, ast.Return(ast.Constant(value=True))]]:
            same = ast.unparse(lengths.test) == f"len({left}) != len({right})" and _returns_false(lengths)
            if same and ast.unparse(loop.iter) == f"zip({left}, {right})" and isinstance(loop.target, ast.Tuple):
                one, other = (ast.unparse(name) for name in loop.target.elts)
                if len(loop.body) == 1 and isinstance(loop.body[0], ast.If):
                    return _branches(loop.body[0], one, other)
    raise CannotSay("a comparison of rows that is written in another way")


def _returns_false(branch: ast.If) -> bool:
    return [ast.unparse(one) for one in branch.body] == ["return False"] and not branch.orelse


_TYPES = {"Decimal": "numeric", "decimal.Decimal": "numeric", "float": "float", "int": "integer"}


def _branches(branch: ast.If, one: str, other: str) -> dict[str, Any]:
    """Read the branches by the types of two cells, the last of which asks whether they differ."""
    tolerances: dict[str, float] = {}
    dates = False
    while True:
        test = ast.unparse(branch.test)
        if test == f"{one} != {other}" and _returns_false(branch):
            break
        typed = re.fullmatch(rf"isinstance\({one}, (.+)\) and isinstance\({other}, (.+)\)", test)
        if typed:
            tolerance = _tolerance(branch.body, one, other)
            for left in _types(typed[1]):
                for right in _types(typed[2]):
                    tolerances.setdefault(f"{left}:{right}", tolerance)
        elif test == f"hasattr({one}, 'strftime')":
            if [ast.unparse(line) for line in branch.body] != [f"if str({one}) != str({other}):\n    return False"]:
                raise CannotSay("a comparison of dates that is written in another way")
            dates = True
        else:
            raise CannotSay("a comparison of cells that is written in another way")
        if len(branch.orelse) != 1 or not isinstance(branch.orelse[0], ast.If):
            raise CannotSay("a comparison of cells that leaves some out")
        branch = branch.orelse[0]
    if len(set(tolerances.values())) > 1:
        raise CannotSay("a comparison of cells with several tolerances")
    made: dict[str, Any] = {"dates_as_text": True} if dates else {}
    if tolerances:
        made |= {"tolerance": next(iter(tolerances.values())), "tolerant": sorted(tolerances)}
    return made


def _types(text: str) -> list[str]:
    names = [name.strip() for name in text.strip("()").split(",") if name.strip()]
    if any(name not in _TYPES for name in names):
        raise CannotSay("a comparison of cells of other types")
    return [_TYPES[name] for name in names]


def _tolerance(body: Sequence[ast.stmt], one: str, other: str) -> float:
    lines = [ast.unparse(line) for line in body]
    matched = re.fullmatch(r"if abs\((.+)\) > ([0-9.]+):\n    return False", lines[0]) if len(lines) == 1 else None
    if matched is None or matched[1] not in {f"float({one}) - float({other})", f"{one} - {other}"}:
        raise CannotSay("a tolerance that is written in another way")
    return float(matched[2])
