"""State kind of a knowledge graph: one file, an entity or a relation a line.

State: `{"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}], "relations": [{"from":
"Ann", "relationType": "lives in", "to": "Bern"}]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.common.state_kind import StateKind
from verifiers.states.graph.entities import FILE
from verifiers.tree import FileTree, Node

_NAME = {"type": "string", "minLength": 1, "maxLength": 400}
_TEXTS = {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 4000}}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


_ENTITY = _closed(name=_NAME, entityType=_NAME, observations=_TEXTS)
RELATION = _closed(**{"from": _NAME, "relationType": _NAME, "to": _NAME})
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "entities": {"type": "array", "items": _ENTITY},
        "relations": {"type": "array", "uniqueItems": True, "items": RELATION},
    },
}
MUTATIONS = {
    "oneOf": [
        _closed(add_entity=_ENTITY),
        _closed(remove_entity=_NAME),
        _closed(rename_entity=_closed(**{"from": _NAME, "to": _NAME})),
        _closed(retype_entity=_closed(name=_NAME, entityType=_NAME)),
        _closed(observe=_closed(name=_NAME, observation=_NAME)),
        _closed(forget=_closed(name=_NAME, observation=_NAME)),
        _closed(relate=RELATION),
        _closed(unrelate=RELATION),
        _closed(reverse=RELATION),
    ]
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the file.

    Raises:
        Malformed: an entity is there twice, or a relation leads nowhere.
    """
    entities, relations = list(state.get("entities", ())), list(state.get("relations", ()))
    names = [entity["name"] for entity in entities]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Malformed(f"the memory state has the entity {twice[0]!r} twice")
    ends = {relation[end] for relation in relations for end in ("from", "to")}
    if missing := sorted(ends - set(names)):
        raise Malformed(f"the memory state relates {missing[0]!r}, which is no entity of it")
    return write_graph(entities, relations)


def write_graph(entities: list[dict[str, Any]], relations: list[dict[str, str]]) -> FileTree:
    """Write a graph as the server does, in the order of its keys."""
    lines = [{"type": "entity", **{key: entity[key] for key in _ENTITY["required"]}} for entity in entities]
    lines += [{"type": "relation", **{key: relation[key] for key in RELATION["required"]}} for relation in relations]
    text = "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    return FileTree({FILE: Node("file", data=encoded(text, "the memory state"))})


GRAPH = StateKind(
    name="graph",
    about="a knowledge graph in one file, memory.jsonl: an entity or a relation a line",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    file=FILE,
)
