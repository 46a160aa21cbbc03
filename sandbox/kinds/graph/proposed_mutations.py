"""Proposed mutations of a knowledge graph: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import wrong
from verifiers.errors import VerifierError
from verifiers.states.graph.entities import Entity, Graph
from verifiers.states.graph.reader import graph_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]
_ONE = {"name": "not this", "entityType": "not this", "observations": []}


def _relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "relationType": kind, "to": target}


def _gone(arguments: Mapping[str, Any]) -> Change:
    return {"remove_entity": arguments["name"]}


def _more(arguments: Mapping[str, Any]) -> Change:
    return {"add_entity": {**_ONE, "entityType": arguments.get("entityType", "not this")}}


def _related(arguments: Mapping[str, Any]) -> Change:
    return {"relate": _relation("not this", arguments.get("relationType", "not this"), "not that")}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "memory.entitiesEqual": _more,
    "memory.entityCount": _more,
    "memory.entityExists": _gone,
    "memory.noDanglingRelations": _related,
    "memory.observationExists": _gone,
    "memory.observationMatches": _gone,
    "memory.observationsEqual": _gone,
    "memory.relationCount": _related,
    "memory.relationExists": lambda arguments: {
        "unrelate": _relation(arguments["source"], arguments["relationType"], arguments["target"])
    },
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each entity and relation that the right solution made or changed.

    An entity that was made is left out, or has a name that is slightly wrong.
    """
    old, new = _graph(before), _graph(after)
    known = {entity.name: entity for entity in old.entities}
    for entity in new.entities:
        if entity.name not in known:
            yield f"left-out {entity.name}", {"remove_entity": entity.name}
            for kind, other in wrong(entity.name):
                yield f"{kind} {entity.name}", {"rename_entity": {"from": entity.name, "to": other}}
        if entity != known.get(entity.name):
            yield from _in_entity(entity, known.get(entity.name))
    for source, kind, target in new.relations:
        if (source, kind, target) not in old.relations:
            relation = _relation(source, kind, target)
            yield f"unrelated {source} {target}", {"unrelate": relation}
            if source != target:
                yield f"wrong-direction {source} {target}", {"reverse": relation}
    for source, kind, target in old.relations:
        if (source, kind, target) not in new.relations:
            yield f"still-related {source} {target}", {"relate": _relation(source, kind, target)}
    for name in known.keys() - set(new.names):
        entity = known[name]
        document = {"name": name, "entityType": entity.type, "observations": list(entity.observations)}
        yield f"not-removed {name}", {"add_entity": document}


def _in_entity(entity: Entity, was: Entity | None) -> Iterator[tuple[str, Change]]:
    if was is None or was.type != entity.type:
        yield f"wrong-type {entity.name}", {"retype_entity": {"name": entity.name, "entityType": "not this"}}
    for text in entity.observations:
        if was is None or text not in was.observations:
            yield f"not-observed {entity.name}", {"forget": {"name": entity.name, "observation": text}}
    for text in was.observations if was else ():
        if text not in entity.observations:
            yield f"not-forgotten {entity.name}", {"observe": {"name": entity.name, "observation": text}}


def _graph(tree: FileTree) -> Graph:
    try:
        return graph_of(tree)
    except VerifierError:
        return Graph((), ())
