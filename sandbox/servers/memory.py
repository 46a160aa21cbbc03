"""The memory server: a knowledge graph in one file, an entity or a relation a line.

State: `{"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}], "relations": [{"from":
"Ann", "relationType": "lives in", "to": "Bern"}]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.servers.check import check, encoded
from sandbox.servers.recorded import load
from sandbox.servers.server import DATA, PROGRAMS, Server
from verifiers.errors import VerifierError
from verifiers.states.graph.entities import FILE, Graph
from verifiers.states.graph.reader import graph_of
from verifiers.views import Node, Tree

ROOT = "memory"

_NAME = {"type": "string", "minLength": 1, "maxLength": 400}
_TEXTS = {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 4000}}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


_ENTITY = _closed(name=_NAME, entityType=_NAME, observations=_TEXTS)
_RELATION = _closed(**{"from": _NAME, "relationType": _NAME, "to": _NAME})
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "entities": {"type": "array", "items": _ENTITY},
        "relations": {"type": "array", "uniqueItems": True, "items": _RELATION},
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
        _closed(relate=_RELATION),
        _closed(unrelate=_RELATION),
        _closed(reverse=_RELATION),
    ]
}


def seed(state: Mapping[str, Any]) -> Tree:
    """Write the file.

    Raises:
        Malformed: an entity is there twice, or a relation leads nowhere.
    """
    entities, relations = list(state.get("entities", ())), list(state.get("relations", ()))
    names = [entity["name"] for entity in entities]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Malformed(f"the memory state has the entity {twice[0]!r} twice")
    ends = {relation[end] for relation in relations for end in ("from", "to")}
    if gone := sorted(ends - set(names)):
        raise Malformed(f"the memory state relates {gone[0]!r}, which is no entity of it")
    return _written(entities, relations)


def mutate(tree: Tree, change: Mapping[str, Any]) -> Tree:
    """Give a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not in the graph.
    """
    check(MUTATIONS, change, "the memory change")
    try:
        graph = graph_of(tree)
    except VerifierError as error:
        raise Malformed(f"the memory change needs a graph that can be read: {error}") from None
    entities, relations = _documents(graph)
    ((step, what),) = change.items()
    _STEPS[step](entities, relations, what)
    return _written(entities, relations)


def _written(entities: list[dict[str, Any]], relations: list[dict[str, str]]) -> Tree:
    """Write a graph as the server does, in the order of its keys."""
    lines = [{"type": "entity", **{key: entity[key] for key in _ENTITY["required"]}} for entity in entities]
    lines += [{"type": "relation", **{key: relation[key] for key in _RELATION["required"]}} for relation in relations]
    text = "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    return Tree({FILE: Node("file", data=encoded(text, "the memory state"))})


def _documents(graph: Graph) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    entities = [
        {"name": entity.name, "entityType": entity.type, "observations": list(entity.observations)}
        for entity in graph.entities
    ]
    return entities, [dict(zip(_RELATION["required"], relation, strict=True)) for relation in graph.relations]


def _named(entities: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entity in entities:
        if entity["name"] == name:
            return entity
    raise Malformed(f"the memory change names the entity {name!r}, which is not in the final state")


def _gone(values: list[Any], value: Any) -> None:
    if value not in values:
        raise Malformed("the memory change takes away what is not in the final state")
    values.remove(value)


def _rename(entities: Any, relations: Any, what: Mapping[str, str]) -> None:
    _named(entities, what["from"])["name"] = what["to"]
    for relation in relations:
        relation.update({end: what["to"] for end in ("from", "to") if relation[end] == what["from"]})


def _reverse(_: Any, relations: Any, what: Mapping[str, str]) -> None:
    _gone(relations, dict(what))
    relations.append({**what, "from": what["to"], "to": what["from"]})


_STEPS: Mapping[str, Any] = {
    "add_entity": lambda entities, _, what: entities.append(dict(what)),
    "remove_entity": lambda entities, _, name: entities.remove(_named(entities, name)),
    "rename_entity": _rename,
    "retype_entity": lambda entities, _, what: _named(entities, what["name"]).update(entityType=what["entityType"]),
    "observe": lambda entities, _, what: _named(entities, what["name"])["observations"].append(what["observation"]),
    "forget": lambda entities, _, what: _gone(_named(entities, what["name"])["observations"], what["observation"]),
    "relate": lambda _, relations, what: relations.append(dict(what)),
    "unrelate": lambda _, relations, what: _gone(relations, dict(what)),
    "reverse": _reverse,
}

_RECORDED = load("memory")
MEMORY = Server(
    name="memory",
    package=_RECORDED.package,
    version=_RECORDED.version,
    root=ROOT,
    command=(
        f"{PROGRAMS}/node/bin/node",
        f"{PROGRAMS}/npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
    ),
    environment={"MEMORY_FILE_PATH": f"{DATA}/{ROOT}/{FILE}"},
    tools=_RECORDED.tools,
    state_schema=STATE,
    seed=seed,
    mutate=mutate,
    mutations=MUTATIONS,
    on_demand=True,
)
