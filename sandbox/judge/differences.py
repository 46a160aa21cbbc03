"""Parser of a judge's reply about the difference of two states, which the runner trusts for nothing beyond its shape.

{"differences": {namespace: {"changes": [[kind, item, {field: text}, {field: text}], ...],
                             "left_out": number, "unknown": sentence or empty}}}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.judge.evidence import reply_object
from verifiers.states.changes import KINDS
from verifiers.states.difference import ItemChange, StateDifference


def written(differences: Mapping[str, StateDifference]) -> bytes:
    """Write a judge's reply."""
    plain = {
        name: {
            "changes": [[change.kind, change.item, change.before, change.after] for change in difference.changes],
            "left_out": difference.left_out,
            "unknown": difference.unknown,
        }
        for name, difference in differences.items()
    }
    return json.dumps({"differences": plain}).encode()


def parsed(data: bytes, namespaces: Collection[str]) -> dict[str, StateDifference]:
    """Return the difference of each of these namespaces from a judge's reply.

    Raises:
        Malformed: it is not as a judge says it.
    """
    document = reply_object(data)
    plain = document.get("differences")
    if document.keys() != {"differences"} or not isinstance(plain, dict) or plain.keys() != set(namespaces):
        raise Malformed("a judge's reply has no known form")
    return {name: _difference(plain[name]) for name in namespaces}


def _difference(plain: Any) -> StateDifference:
    match plain:
        case {"changes": [*changes], "left_out": int(left_out), "unknown": str(unknown), **rest} if not rest:
            return StateDifference(tuple(map(_change, changes)), left_out, unknown)
    raise Malformed("a judge reports a difference in an unknown form")


def _change(plain: Any) -> ItemChange:
    match plain:
        case [kind, str(item), before, after] if _are_texts(before) and _are_texts(after):
            for known in KINDS:
                if known == kind:
                    return ItemChange(known, item, before, after)
    raise Malformed("a judge reports a change in an unknown form")


def _are_texts(fields: Any) -> bool:
    return isinstance(fields, dict) and all(isinstance(text, str) for text in fields.values())
