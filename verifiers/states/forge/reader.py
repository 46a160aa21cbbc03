"""The state file that the GitHub twin left, read strictly.

The twin writes it whole or not at all, so one that does not have its shape is wreckage (`Spoiled`). What a task asks
about and is not in it is `Lacking`. Accounts, repositories and labels are found whatever their case, as on GitHub.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from verifiers.errors import Spoiled
from verifiers.language.context import Context
from verifiers.states.files.entries import open_files
from verifiers.states.forge.state import FILE, SCHEMA, Forge

MAX_BYTES = 16 * 1024 * 1024


_TEXT, _MAYBE = {"type": "string"}, {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _map(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


_PULL = _record(
    head=_record(repository=_TEXT, branch=_TEXT, sha=_TEXT),
    base=_record(branch=_TEXT, sha=_TEXT),
    draft={"type": "boolean"},
    merged_at=_MAYBE,
    merge_commit=_MAYBE,
    merge_method=_MAYBE,
    reviews={"type": "array", "items": _record(user=_TEXT, state=_TEXT, body=_TEXT)},
    review_comments={"type": "array", "items": _record(user=_TEXT, path=_TEXT, body=_TEXT)},
)
_ISSUE = _record(
    number={"type": "integer"},
    title=_TEXT,
    body=_MAYBE,
    user=_TEXT,
    state={"enum": ["open", "closed"]},
    state_reason=_MAYBE,
    labels=_TEXTS,
    assignees=_TEXTS,
    milestone={"type": ["integer", "null"]},
    comments={"type": "array", "items": _record(user=_TEXT, body=_TEXT)},
    pull={"anyOf": [{"type": "null"}, _PULL]},
)
_REPOSITORY = _record(
    description=_MAYBE,
    private={"type": "boolean"},
    default_branch=_TEXT,
    parent=_MAYBE,
    milestones=_map(_record(title=_TEXT)),
    issues=_map(_ISSUE),
)
_VALIDATOR = Draft202012Validator(
    _record(schema={"const": SCHEMA}, viewer=_TEXT, users={"type": "object"}, repositories=_map(_REPOSITORY))
)


def _read(context: Context) -> Forge:
    node = open_files(context, "github").get(FILE)
    if node is None or node.kind != "file" or len(node.data) > MAX_BYTES:
        raise Spoiled(f"{FILE} is missing or too large")
    try:
        data = json.loads(node.data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Spoiled(f"{FILE} is no JSON document") from None
    if not _VALIDATOR.is_valid(data):
        raise Spoiled(f"{FILE} does not have its shape")
    return Forge(data)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def open_forge(context: Context) -> Forge:
    """Read the state file, once an evaluation.

    Raises:
        Spoiled: it is not there, or not what the twin writes.
        Unreadable: there is no state.
    """
    return context.once("forge", lambda: _read(context))
