"""Call-graph accuracy (DAG): whether a run's calls end where a reference solution's do, and how its graph differs.

Nodes are calls. An edge leads from u to v iff a scalar of v's arguments, of three characters or more, stands in u's
result and neither in the goal nor in an earlier result. The label is 1 iff the leaves (calls without an edge that leads
on) are equal as multisets to those of one solution, under the equality of `call_accuracy` (MCPToolBench++, arXiv
2508.07575, section 4.1.1); node and edge F1 (C. J. van Rijsbergen, *Information Retrieval*, 1979) say how near it came.

A solution has no results of its own. A call of it that the run made too has that call's result. A scalar that
stands in no known result is taken for one of the nearest earlier call of the solution whose result nobody knows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from quarterturn_measures.measures.call_accuracy import Schemas, key, pairs, without_retries
from sandbox.transcript import CallRecord, ToolCall

MIN_TRACED_CHARACTERS = 3
"""Of a scalar that can tell where it is from."""
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """How a run's graph differs from that of the solution that it is nearest to.

    Attributes:
        solution: the solution's place among those given.
        calls: its calls, without retries.
        made_as: for each of them the place in the run's calls, or None where it was not made.
        extra: the places of the run's calls that are none of the solution's.
        edges: the solution's edges.
        missing_edges: those that the run's graph lacks.
        label: whether the leaves are the same.
        node_f1: F1 of the calls.
        edge_f1: F1 of the edges; None where neither graph has one.
    """

    solution: int
    calls: Sequence[ToolCall]
    made_as: Sequence[int | None]
    extra: Sequence[int]
    edges: Sequence[Edge]
    missing_edges: Sequence[Edge]
    label: bool
    node_f1: Fraction
    edge_f1: Fraction | None


def graph_difference(
    calls: Sequence[CallRecord], solutions: Sequence[Sequence[ToolCall]], schemas: Schemas, goal: str
) -> GraphDifference | None:
    """Compare a run's calls with each solution, and give the difference to the nearest; None without a solution.

    Args:
        calls: the run's calls, those with scheduled errors too.
        solutions: the reference solutions.
        schemas: the tools' input schemas.
        goal: what the agent was told.
    """
    own = _RunGraph(calls, [key(call, schemas) for call in calls], edges_of(calls, goal))
    compared = (
        own.compare(place, without_retries(solution, schemas), schemas, goal)
        for place, solution in enumerate(solutions)
        if solution
    )
    return max(compared, key=lambda each: (each.label, each.node_f1, each.edge_f1 or 0, -each.solution), default=None)


def edges_of(calls: Sequence[CallRecord], goal: str) -> list[Edge]:
    """Return the edges of a run's graph: pairs of places in `calls`; a call that got a scheduled error has none."""
    results = ["" if call.injected else call.result for call in calls]
    found = _edges([call.arguments for call in calls], results, goal)
    return [(source, target) for source, target in found if not calls[target].injected]


@dataclass(frozen=True, slots=True)
class _RunGraph:
    """The graph of a run: its calls, what two equal ones have in common, and its edges."""

    calls: Sequence[CallRecord]
    keys: Sequence[str]
    edges: Sequence[Edge]

    def compare(self, place: int, wanted: Sequence[ToolCall], schemas: Schemas, goal: str) -> GraphDifference:
        """Compare it with the graph of one solution."""
        made_as = pairs(self.calls, wanted, schemas)
        known = [None if at is None else self.calls[at].result for at in made_as]
        edges = list(_edges([call.arguments for call in wanted], known, goal))
        keys = [key(call, schemas) for call in wanted]
        nodes = [node for node, call in enumerate(self.calls) if not call.injected]
        leaves = Counter(keys[node] for node in _leaves(range(len(keys)), edges))
        own_leaves = Counter(self.keys[node] for node in _leaves(nodes, self.edges))
        drawn = _named(self.edges, self.keys)
        return GraphDifference(
            solution=place,
            calls=wanted,
            made_as=made_as,
            extra=[node for node in nodes if node not in made_as],
            edges=edges,
            missing_edges=[edge for edge in edges if (keys[edge[0]], keys[edge[1]]) not in drawn],
            label=leaves == own_leaves,
            node_f1=_f1(Counter(keys), Counter(self.keys[node] for node in nodes)) or Fraction(0),
            edge_f1=_f1(_named(edges, keys), drawn),
        )


def _edges(arguments: Sequence[Mapping[str, Any]], results: Sequence[str | None], goal: str) -> Iterator[Edge]:
    """Yield the edges, each once; None is a result that nobody knows."""
    for node, given in enumerate(arguments):
        sources: set[int] = set()
        for scalar in set(_scalars(given)):
            if scalar in goal:
                continue
            source = next((at for at in range(node) if scalar in (results[at] or "")), None)
            if source is None:
                source = next((at for at in reversed(range(node)) if results[at] is None), None)
            if source is not None:
                sources.add(source)
        yield from ((source, node) for source in sorted(sources))


def _scalars(value: Any) -> Iterator[str]:
    """Yield the scalars of a JSON value as they would stand in a text, those that are long enough."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _scalars(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _scalars(part)
    else:
        text = value if isinstance(value, str) else json.dumps(value)
        if len(text) >= MIN_TRACED_CHARACTERS and value is not None and not isinstance(value, bool):
            yield text


def _leaves(nodes: Iterable[int], edges: Sequence[Edge]) -> list[int]:
    sources = {source for source, _ in edges}
    return [node for node in nodes if node not in sources]


def _named(edges: Sequence[Edge], keys: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter((keys[source], keys[target]) for source, target in edges)


def _f1(wanted: Counter[Any], own: Counter[Any]) -> Fraction | None:
    """Return 2 · common / (wanted + own); None where both are empty."""
    total = wanted.total() + own.total()
    return Fraction(2 * (wanted & own).total(), total) if total else None
