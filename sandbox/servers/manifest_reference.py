"""Generator of the manifests' reference page and JSON Schema file: `python -m sandbox.servers.manifest_reference`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

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

_KINDS_HEAD = """
## State kinds

`state.kind` decides how a task seeds the server's folder, which predicates read it, and which mutants change it. A
server keeps its state in its own folder, `{state}`, and nowhere else.

| kind | what it is | one file | started beside it |
|---|---|---|---|
"""


def reference() -> str:
    """Write the page (Markdown)."""
    return _HEAD + "".join(_rows(SCHEMA, "")) + _KINDS_HEAD + "".join(_kinds())


def schema_text() -> str:
    """Write the JSON Schema."""
    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"


def _rows(schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for key, part in schema["properties"].items():
        needed = "yes" if key in schema.get("required", ()) else ""
        yield f"| `{place}{key}` | {needed} | {part.get('description', '')} |\n"
        if "properties" in part:
            yield from _rows(part, f"{place}{key}.")


def _kinds() -> Iterator[str]:
    for name, kind in sorted(KINDS.items()):
        file = f"`{kind.file}`" if kind.file else ""
        yield f"| `{name}` | {kind.about} | {file} | {'a backend' if kind.backend else ''} |\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text() if sys.argv[1:] == ["--schema"] else reference())
