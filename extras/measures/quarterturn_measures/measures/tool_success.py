"""Tool-call success: of the calls that reached a server, those that it answered without an error.

A call is ok iff it is no error, and its result is no JSON object with `success: false` or an `error` that is not null
(MCPToolBench++, arXiv 2508.07575, sections 4.1.2). Scheduled errors, unlisted calls and calls beyond the caps reached
no server and do not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.transcript import CallRecord


@dataclass(frozen=True, slots=True)
class ToolCount:
    """How many calls of one tool reached its server, and how many of them were answered without an error."""

    ok: int
    passed_on: int


def succeeded(call: CallRecord) -> bool:
    """Say whether a call that reached a server was answered without an error."""
    if call.error:
        return False
    try:
        result = json.loads(call.result) if call.result.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return True
    return not isinstance(result, dict) or (result.get("success") is not False and result.get("error") is None)


def tool_success(calls: Iterable[CallRecord]) -> dict[str, ToolCount]:
    """Count calls by tool, those of tools that reached a server at all."""
    counts: dict[str, ToolCount] = {}
    for call in calls:
        if call.passed_on:
            before = counts.get(call.tool, ToolCount(0, 0))
            counts[call.tool] = ToolCount(before.ok + succeeded(call), before.passed_on + 1)
    return counts
