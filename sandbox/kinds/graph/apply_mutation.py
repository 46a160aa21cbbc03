"""Applies a mutation to a knowledge graph: entities and relations are added, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.graph.kind import MUTATIONS, RELATION, write_graph
from verifiers.errors import VerifierError
from verifiers.states.graph.entities import Graph
from verifiers.states.graph.reader import graph_of
from verifiers.tree import FileTree


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not in the graph.
    """
    check(MUTATIONS, change, "the memory change")
    try:
        graph = graph_of(tree)
    except VerifierError as error:
        raise Malformed(f"the memory change needs a graph that can be read: {error}") from None
    entities, relations = _documents(graph)
    ((step, argument),) = change.items()
    _STEPS[step](entities, relations, argument)
    return write_graph(entities, relations)


def _documents(graph: Graph) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    entities = [
        {"name": entity.name, "entityType": entity.type, "observations": list(entity.observations)}
        for entity in graph.entities
    ]
    return entities, [dict(zip(RELATION["required"], relation, strict=True)) for relation in graph.relations]


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
