"""Acts beside a solution, from each server's `acts.yaml`: harmless ones, which no verdict minds, and damage.

    harmless: [[{tool: arguments}, ...], ...]      reads, refused writes, what is made and undone
    damage: [[{tool: arguments}, ...], ...]        writes that no goal asks for

An act is a list of calls of one server, and can be made where a task lists all their tools. `$name` in its arguments
stands for the argument of that name in the last call of a solution that has one; without one, the act is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

from sandbox.servers.server import FOLDERS
from vault import strict_yaml

Act: TypeAlias = list[dict[str, Any]]
"""Calls as plain JSON values: `{"tool": "server.tool", "arguments": {…}}`."""

_PLACE = re.compile(r"\$(\w+)")


def list_acts(
    kind: Literal["harmless", "damage"], document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
) -> list[Act]:
    """List the acts that an agent could make in a task's world after some calls.

    Args:
        kind: which ones.
        document: the task.
        calls: the calls of a solution.
    """
    return list(_acts(kind, set(document["available_tools"]), calls))


def _acts(kind: str, listed: set[str], calls: Sequence[Mapping[str, Any]]) -> Iterator[Act]:
    for server in sorted({tool.partition(".")[0] for tool in listed}):
        values: dict[str, Any] = {}
        for call in calls:
            if call["tool"].startswith(f"{server}."):
                values |= call.get("arguments", {})
        for act in _written(server).get(kind, ()):
            made = [
                {"tool": f"{server}.{tool}", "arguments": {key: _filled(value, values) for key, value in given.items()}}
                for step in act
                for tool, given in step.items()
            ]
            if all(call["tool"] in listed for call in made) and "$" not in str(made):
                yield made


@cache
def _written(server: str) -> Mapping[str, Any]:
    """Read a server's acts; an added server has none."""
    file = FOLDERS / server / "acts.yaml"
    return dict(strict_yaml.read(file.read_text(encoding="utf-8"), str(file))) if file.is_file() else {}


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or "$" not in value:
        return value
    if value[0] == "$" and value[1:] in values:
        return values[value[1:]]
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), value)
