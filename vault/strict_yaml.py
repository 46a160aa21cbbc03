"""Strict YAML reader for grammars and manifests of servers.

Only `true` and `false` are booleans (so `no` is Norway), and nothing becomes a date by itself. Refused are duplicate
keys, anchors and aliases (a few of them expand to a gigabyte), tags, and nesting so deep that a recursive reader would
overflow its stack.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from vault.errors import Malformed

MAX_CHARACTERS = 512 * 1024
DEEPEST = 64

_Safe = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader  # libyaml's is six times as fast


class _Loader(_Safe):  # type: ignore[valid-type,misc] # one of two
    """Loader with the implicit types of YAML 1.2's core schema only."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+", "-+0123456789"),
    ("null", r"null|~|", ["n", "~", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Hashable, Any]:
    pairs = [(loader.construct_object(key), value) for key, value in node.value]
    seen: set[Any] = set()
    for (key, _), (key_node, _) in zip(pairs, node.value, strict=True):
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is not text", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        seen.add(key)
    return {key: loader.construct_object(value, deep=True) for key, value in pairs}


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read(text: str, name: str) -> Any:
    """Read one file's text.

    Raises:
        Malformed: it is not YAML, is too long, or uses a refused feature; the message names file, line and column.
    """
    if len(text) > MAX_CHARACTERS:
        raise Malformed(f"{name}: longer than {MAX_CHARACTERS} characters; split it into several files")
    try:
        _refuse_traps(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a SafeLoader with less in it
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise Malformed(f"{name}: {error.problem}{place}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise Malformed(f"{name}: this is not YAML") from None


def _refuse_traps(text: str) -> None:
    depth = 0
    for token in yaml.scan(text, Loader=_Safe):
        kind = type(token)
        if kind in _TRAPS:
            raise yaml.MarkedYAMLError(problem="anchors, aliases and tags are refused", problem_mark=token.start_mark)
        depth += _DEPTH.get(kind, 0)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {DEEPEST}", problem_mark=token.start_mark)


_TRAPS = {yaml.AnchorToken, yaml.AliasToken, yaml.TagToken}
_BEGINS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_ENDS = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_DEPTH = dict.fromkeys(_BEGINS, 1) | dict.fromkeys(_ENDS, -1)
"""By how much each kind of token changes the depth; looked up by type, since a grammar has a hundred thousand."""
