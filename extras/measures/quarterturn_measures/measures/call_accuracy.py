"""Call accuracy (AST): the share of a reference solution's calls that were made, with equal tool and arguments.

A call counts iff the tool is the same and each argument equals the solution's in type and value (S. G. Patil et al.,
*The Berkeley Function Calling Leaderboard*, 2024; MCPToolBench++, arXiv 2508.07575, section 4.1.1). An argument that
equals the default of the tool's schema is the same as one left out; 1 and 1.0 are one number, as in JSON. The best
solution counts. Calls that got a scheduled error are retries in the making and are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sandbox.transcript import CallRecord, ToolCall

Schemas = Mapping[str, Mapping[str, Any]]
"""Each tool's input schema by its name, `server.tool`."""


def key(call: ToolCall | CallRecord, schemas: Schemas) -> str:
    """Return what two equal calls have in common, as text."""
    properties = schemas.get(call.tool, {}).get("properties", {})
    arguments = {
        name: _plain(value)
        for name, value in call.arguments.items()
        if "default" not in properties.get(name, {}) or _plain(properties[name]["default"]) != _plain(value)
    }
    return f"{call.tool} {json.dumps(arguments, sort_keys=True)}"


def without_retries(solution: Sequence[ToolCall], schemas: Schemas) -> list[ToolCall]:
    """Return a solution without its retries: of equal calls one after another, one."""
    kept: list[ToolCall] = []
    for call in solution:
        if not kept or key(kept[-1], schemas) != key(call, schemas):
            kept.append(call)
    return kept


def pairs(calls: Sequence[CallRecord], solution: Sequence[ToolCall], schemas: Schemas) -> list[int | None]:
    """Return for each call of a solution the place in `calls` of the one that equals it, or None; each place once."""
    places: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        if not call.injected:
            places.setdefault(key(call, schemas), []).append(place)
    found = (places.get(key(call, schemas)) for call in solution)
    return [known.pop(0) if known else None for known in found]


def call_accuracy(
    calls: Sequence[CallRecord], solutions: Sequence[Sequence[ToolCall]], schemas: Schemas
) -> Fraction | None:
    """Return the call accuracy of a task, from 0 to 1; None where no solution has a call."""
    counts = Counter(key(call, schemas) for call in calls if not call.injected)
    shares = [
        Fraction((counts & wanted).total(), wanted.total())
        for solution in solutions
        if (wanted := Counter(key(call, schemas) for call in without_retries(solution, schemas)))
    ]
    return max(shares, default=None)


def _plain(value: Any) -> Any:
    """Write a whole number without a fraction, at any depth; a truth value is no number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
