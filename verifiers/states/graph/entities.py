"""Normal form of a knowledge graph: its entities and relations.

It is `{"entities": [[name, type, [observation]]], "relations": [[from, type, to]]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from verifiers.predicates.context import Context

FILE = "memory.jsonl"


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of the graph, with its type and observations."""

    name: str
    type: str
    observations: Sequence[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """The entities, and the relations as (from, type, to), in their order."""

    entities: Sequence[Entity] = field(repr=False)
    relations: Sequence[tuple[str, str, str]] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Return the names of the entities."""
        return [entity.name for entity in self.entities]


def open_graph(context: Context) -> Graph:
    """Return the graph of a state, built once for each evaluation.

    Raises:
        CorruptState: the file is no graph.
        StateUnavailable: there is no state.
    """
    return context.once("memory", lambda: graph_from(context.state("memory").document))


def document_of(graph: Graph) -> dict[str, Any]:
    """Return the normal form of a graph."""
    entities = [[entity.name, entity.type, list(entity.observations)] for entity in graph.entities]
    return {"entities": entities, "relations": [list(relation) for relation in graph.relations]}


def graph_from(document: dict[str, Any]) -> Graph:
    """Build the graph from a normal form."""
    entities = tuple(Entity(name, kind, tuple(known)) for name, kind, known in document["entities"])
    return Graph(entities, tuple((source, kind, target) for source, kind, target in document["relations"]))
