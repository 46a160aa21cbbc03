"""Generator of the manifests' reference page and JSON Schema file: `python -m sandbox.servers.manifest_reference`."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.isolation.system_calls import GROUPS
from sandbox.kinds.registry import KINDS
from sandbox.servers.manifest import SCHEMA

PAGE = "python -m sandbox.servers.manifest_reference > docs/reference/server-manifests.md"
SCHEMA_FILE = "python -m sandbox.servers.manifest_reference --schema > docs/reference/server-manifest.schema.json"

_HEAD = f"""# Server manifests

A manifest is strict YAML, `server.yaml`: no key twice, no other key than these. `quarterturn server add` makes a server
of a home of it; [add a server](../how-to/add-a-server.md) goes through one. For editors there is a
[JSON Schema](server-manifest.schema.json).

This page is made by `{PAGE}`,
the JSON Schema by `{SCHEMA_FILE}`.

## Keys

| key | needed | meaning |
|---|---|---|
"""

_GROUPS_HEAD = """
## System calls

`system_calls` adds groups to the worlds of all tasks that list a tool of the server, in both boxes. `quarterturn server
add` names the group that a server lacks.

| group | needed by | what it opens |
|---|---|---|
"""

_KINDS_HEAD = """
## State kinds

`state.kind` decides how a task seeds the server's folder, which predicates read it, and which mutants change it. A
server keeps its state in its own folder, `{state}`, and nowhere else.

| kind | what it is | one file | started beside it |
|---|---|---|---|
"""


_STATES_HEAD = """
## States and mutants

What a task's `initial_state` (a grammar's `state`) holds for a server of each kind, below the server's name, and what a
mutant may change. A server that is seeded with nothing starts on an empty folder; `quarterturn task try` then shows
what it writes itself.
"""


def reference() -> str:
    """Write the page (Markdown)."""
    tables = _HEAD + "".join(_rows(SCHEMA, "")) + _GROUPS_HEAD + "".join(_groups()) + _KINDS_HEAD + "".join(_kinds())
    return tables + _STATES_HEAD + "".join(map(_state, sorted(KINDS)))


def schema_text() -> str:
    """Write the JSON Schema."""
    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"


def _rows(schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for key, part in schema["properties"].items():
        needed = "yes" if key in schema.get("required", ()) else ""
        yield f"| `{place}{key}` | {needed} | {part.get('description', '')} |\n"
        if "properties" in part:
            yield from _rows(part, f"{place}{key}.")
        if key == "services":
            yield from _rows(part["additionalProperties"], f"{key}.NAME.")


def _groups() -> Iterator[str]:
    for name, group in GROUPS.items():
        yield f"| `{name}` | {group.needed_by} | {group.opens} |\n"


def _kinds() -> Iterator[str]:
    for name, kind in sorted(KINDS.items()):
        file = f"`{kind.file}`" if kind.file else ""
        yield f"| `{name}` | {kind.about} | {file} | {'a backend' if kind.backend else ''} |\n"


def _state(name: str) -> str:
    """Describe the states of a kind, in the words of its module, and the keys of its mutants."""
    about = inspect.getdoc(importlib.import_module(f"sandbox.kinds.{name}.kind")) or ""
    state = about.partition("State: ")[2]
    return f"\n### `{name}`\n\nState: {state}\n\nMutants: {', '.join(_keys(KINDS[name].mutations))}.\n"


def _keys(schema: Mapping[str, Any]) -> list[str]:
    """List the keys of a change, each with those of the map that it has."""
    forms = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    keys = {key: part for form in forms for key, part in form.get("properties", {}).items()}
    return [f"`{key}{_inner(part)}`" for key, part in keys.items()]


def _inner(part: Mapping[str, Any]) -> str:
    forms = (part, *part.get("oneOf", ()), *part.get("anyOf", ()))
    inner = dict.fromkeys(key for form in forms for key in form.get("properties", ()))
    return f": {{{', '.join(inner)}}}" if inner else ""


if __name__ == "__main__":
    sys.stdout.write(schema_text() if sys.argv[1:] == ["--schema"] else reference())
