"""Example knowledge graphs for the predicate catalogue's examples."""

from __future__ import annotations

import json
from collections.abc import Sequence

from verifiers.tree import JudgeInput, tree_of


def memory_graph(
    entities: Sequence[tuple[str, str, Sequence[str]]], relations: Sequence[tuple[str, str, str]]
) -> JudgeInput:
    """Return the views of a world whose memory server holds this graph.

    Args:
        entities: name, type and observations of each.
        relations: from, type and to of each.
    """
    lines = [
        {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}
        for name, kind, observations in entities
    ]
    lines += [
        {"type": "relation", "from": source, "to": target, "relationType": kind} for source, kind, target in relations
    ]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return JudgeInput({"memory": tree_of({"memory.jsonl": text})})
