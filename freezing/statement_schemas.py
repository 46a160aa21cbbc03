"""Writes the JSON Schemas of the statements: `python -m freezing.statement_schemas docs/reference/statements`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vault.ledger.statements.forms import PATTERNS, TEXT_LIMIT, Form
from vault.ledger.statements.statement import STATEMENTS, URN, statement_form

_BASIC: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": TEXT_LIMIT},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "natural": {"type": "integer", "minimum": 0},
    "positive": {"type": "integer", "minimum": 1},
    "object": {"type": "object"},
}


def files() -> dict[str, str]:
    """Return the files by name."""
    return {f"{kind}.schema.json": json.dumps(schema(kind), indent=2) + "\n" for kind in STATEMENTS}


def schema(kind: str) -> dict[str, Any]:
    """Return a kind of statement as JSON Schema (draft 2020-12), which cannot express the rules between statements."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": URN.format(kind)}
    described = {**about, "title": f"The {kind} statement", **schema_of(statement_form(kind))}
    described["properties"]["subject"] |= {"minItems": 1, "maxItems": 1}
    return described


def schema_of(form: Form) -> dict[str, Any]:
    """Return a form as JSON Schema."""
    if isinstance(form, str):
        name, _, null = form.partition("|")
        if name[0] == "=":
            described: dict[str, Any] = {"enum": name[1:].split(",")}
        elif name in _BASIC:
            described = dict(_BASIC[name])
        else:
            pattern, words = PATTERNS[name]
            described = {"type": "string", "pattern": f"^(?:{pattern})$", "description": words}
        return {"anyOf": [described, {"type": "null"}]} if null else described
    if isinstance(form, list):
        inner = schema_of(form[0])
        return {"anyOf": [inner, {"type": "null"}]} if form[1:] else {"type": "array", "items": inner}
    for name in form:
        if name[0] == "*":
            return {
                "type": "object",
                "propertyNames": schema_of(name[1:]),
                "additionalProperties": schema_of(form[name]),
            }
    return {
        "type": "object",
        "properties": {name.rstrip("?"): schema_of(inner) for name, inner in form.items()},
        "required": sorted(name for name in form if name[-1] != "?"),
        "additionalProperties": False,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")
