"""Operations on ordinary values, which are computed: operators, functions and methods by their names."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_OPTIONS = 12

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
COMPARE: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
PLAIN_CALLS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (len, sorted, list, set, tuple, dict, str, int, float, sum, min, max, abs, round, bool)},
    "range": lambda *bounds: list(range(*bounds)) if max(map(abs, bounds)) < MAX_OPTIONS * 1000 else None,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *items: list(zip(*items, strict=False)),
    "reversed": lambda items: list(reversed(items)),
}
PLAIN_METHODS = frozenset(
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
FLAGS = {"re.IGNORECASE": "i", "re.I": "i", "re.MULTILINE": "m", "re.M": "m", "re.DOTALL": "s", "re.S": "s"}
COMPARE_SIGNS = dict(COMPARE.values())
