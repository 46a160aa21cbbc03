"""Acts beside a solution, from each server's `acts.yaml`: harmless ones, which no verdict minds, and damage.

    harmless: [[{tool: arguments}, ...], ...]      reads, refused writes, what is made and undone
    damage: [[{tool: arguments}, ...], ...]        writes that no goal asks for

An act is a list of calls of one server, and can be made where a task lists all their tools. `$name` in its arguments
stands for the argument of that name in the last call of a solution that has one, `$seed.name` for the first value below
that name in the server's initial state (of an object its first key), and `$seed.name.first` for the first one in that.
`$again` in the place of all arguments stands for those of the solution's last call, if it is to this tool. Without one,
the act is left out.
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

_PLACE = re.compile(r"\$(seed\.\w+(?:\.first)?|\w+)")


def list_acts(
    kind: Literal["harmless", "damage"], document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
) -> list[Act]:
    """List the acts that an agent could make in a task's world after some calls.

    Args:
        kind: which ones.
        document: the task.
        calls: the calls of a solution.
    """
    return list(_acts(kind, set(document["available_tools"]), document.get("initial_state", {}), calls))


def _acts(kind: str, listed: set[str], seeds: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Iterator[Act]:
    for server in sorted({tool.partition(".")[0] for tool in listed}):
        values = dict(_seeded(seeds.get(server)))
        for call in calls:
            if call["tool"].startswith(f"{server}."):
                values |= call.get("arguments", {})
        for act in _written(server).get(kind, ()):
            made = [
                {
                    "tool": f"{server}.{tool}",
                    "arguments": _again(f"{server}.{tool}", given, calls) or _filled(given, values),
                }
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
    if isinstance(value, list):
        return [_filled(part, values) for part in value]
    if isinstance(value, dict):
        return {name: _filled(part, values) for name, part in value.items()}
    if not isinstance(value, str) or "$" not in value:
        return value
    if value[0] == "$" and value[1:] in values:
        return values[value[1:]]
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), value)


def _again(tool: str, given: Any, calls: Sequence[Mapping[str, Any]]) -> Any:
    is_last = given == "$again" and bool(calls) and calls[-1]["tool"] == tool
    return calls[-1].get("arguments") if is_last else None


def _seeded(value: Any) -> Iterator[tuple[str, Any]]:
    """List what a seed has below each name; the first one comes last, and so it counts."""
    if isinstance(value, list):
        for part in reversed(value):
            yield from _seeded(part)
    elif isinstance(value, dict):
        for name, part in reversed(value.items()):
            yield from _seeded(part)
            yield from _named(f"seed.{name}", _first(part))
            if part and isinstance(part, dict):
                yield from _named(f"seed.{name}.first", _first(next(iter(part.values()))))


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str | int):
        yield name, value


def _first(value: Any) -> Any:
    """Return the name or value that comes first in a part of a seed."""
    while value and isinstance(value, list):
        value = value[0]
        if isinstance(value, dict):
            value = next(iter(value.values()), None)
    return next(iter(value), None) if isinstance(value, dict) else value
