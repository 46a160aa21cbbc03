"""Applies a mutation to a JSON document: a value is set or deleted, or an item appended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.json_document.schema import MUTATIONS
from sandbox.kinds.json_document.seed import write_document
from verifiers.errors import VerifierError
from verifiers.predicates.values import at_pointer
from verifiers.states.json_document.document import FILE
from verifiers.states.json_document.reader import document_of
from verifiers.tree import FileTree


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or its pointer leads nowhere in the document.
    """
    check(MUTATIONS, change, "the JSON document change")
    if FILE not in tree:
        raise Malformed(f"the JSON document change needs a document, and the final state has no {FILE}")
    try:
        document = document_of(tree)
    except VerifierError as error:
        raise Malformed(f"the JSON document change needs a document that can be read: {error}") from None
    beside = {path: node for path, node in tree.items() if path != FILE}
    if change == {"delete": ""}:
        return FileTree(beside)
    return FileTree({**beside, **write_document(_changed(document, change))})


def _changed(document: Any, change: Mapping[str, Any]) -> Any:
    match change:
        case {"set": {"pointer": "", "value": value}}:
            return value
        case {"set": {"pointer": pointer, "value": value}}:
            holder, key = _place(document, pointer, new=True)
            holder[key] = value
        case {"append": {"pointer": pointer, "item": item}}:
            items = _at(document, pointer)
            if not isinstance(items, list):
                raise Malformed(f"the JSON document change appends to {pointer!r}, which is no list in the final state")
            items.append(item)
        case _:
            holder, key = _place(document, change["delete"])
            del holder[key]
    return document


def _place(document: Any, pointer: str, *, new: bool = False) -> tuple[Any, str | int]:
    """Return the object or list that a pointer's last step leads into, and the key or index in it."""
    path, _, step = pointer.rpartition("/")
    holder = _at(document, path)
    if not (new and isinstance(holder, dict)):
        _at(document, pointer)
    return holder, int(step) if isinstance(holder, list) else step.replace("~1", "/").replace("~0", "~")


def _at(document: Any, pointer: str) -> Any:
    try:
        return at_pointer(document, pointer)
    except LookupError:
        raise Malformed(f"the JSON document change names {pointer!r}, which is not in the final state") from None
