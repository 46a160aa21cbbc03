"""Reader of the memory server's knowledge graph: one JSON object a line, an entity or a relation.

The server writes nothing else, so a line that is neither was not written by it: such a file counts as corrupted. An
entity may be there twice, if it was created twice in one call; then queries for its name are ambiguous. Other keys of a
line, which the shipped server writes as little, are compared by a frame alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.graph.entities import FILE, Entity, Graph, document_of
from verifiers.tree import FileTree

_KEYS = {"entity": ("name", "entityType", "observations"), "relation": ("from", "relationType", "to")}


def read_graph(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read the file into the normal form.

    Raises:
        CorruptState: see `graph_of`.
    """
    lines = _lines(tree, budget)
    others = [[f"other keys of {label}", label, text] for label, text in map(_other_keys, lines) if text]
    return NormalState(document_of(_graph(lines)) | ({"unread": others} if others else {}))


def graph_of(tree: FileTree, budget: ReadingBudget | None = None) -> Graph:
    """Parse the file; one that is not there is an empty graph.

    Raises:
        CorruptState: it is no graph, or it costs more than the budget has.
    """
    return _graph(_lines(tree, budget or ReadingBudget()))


def _lines(tree: FileTree, budget: ReadingBudget) -> list[Any]:
    node = tree.get(FILE)
    if node is None:
        return []
    if node.kind != "file":
        raise CorruptState("the memory is no file")
    budget.parse_json(node.data)
    budget.step(6 * node.data.count(b"\n"))
    try:
        return [json.loads(line) for line in node.data.decode().split("\n") if line.strip()]
    except (ValueError, RecursionError):
        raise CorruptState("the memory has a line in it that is no JSON") from None


def _graph(lines: list[Any]) -> Graph:
    entities = [_entity(line) for line in lines if _kind(line) == "entity"]
    relations = [_relation(line) for line in lines if _kind(line) == "relation"]
    return Graph(tuple(entities), tuple(relations))


def _other_keys(line: Any) -> tuple[str, str]:
    """Return the label of a line's item, and what is under other keys, or nothing."""
    kind = _kind(line)
    others = {key: value for key, value in line.items() if key not in ("type", *_KEYS[kind])}
    label = " ".join([kind, *(str(line.get(part)) for part in (_KEYS[kind] if kind == "relation" else ["name"]))])
    return label, json.dumps(others, sort_keys=True) if others else ""


def _kind(line: Any) -> str:
    kind = line.get("type") if isinstance(line, dict) else None
    if kind not in {"entity", "relation"}:
        raise CorruptState("the memory has a line in it that is neither an entity nor a relation")
    return str(kind)


def _entity(line: Mapping[str, Any]) -> Entity:
    observations = line.get("observations")
    if not isinstance(observations, list):
        raise CorruptState("the memory has an entity in it without observations")
    name, kind, *known = _texts(line.get("name"), line.get("entityType"), *observations)
    return Entity(name, kind, tuple(known))


def _relation(line: Mapping[str, Any]) -> tuple[str, str, str]:
    source, kind, target = _texts(line.get("from"), line.get("relationType"), line.get("to"))
    return source, kind, target


def _texts(*values: Any) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise CorruptState("the memory has an entity or a relation in it with something that is no text")
    return list(values)
