"""Proposed mutations of a JSON document: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sandbox.kinds.common.texts import wrong
from verifiers.errors import VerifierError
from verifiers.predicates.values import is_number, json_equal
from verifiers.states.json_document.reader import document_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]
_MISSING = object()


def _set(pointer: str, value: Any) -> Change:
    return {"set": {"pointer": pointer, "value": value}}


def _other_value(arguments: Mapping[str, Any]) -> Change:
    pointer, value = arguments["pointer"], arguments["value"]
    if not pointer:
        return _set("", [] if isinstance(value, dict) else {})
    return _set(pointer, None if isinstance(value, str) else "not this")


def _gone(arguments: Mapping[str, Any]) -> Change:
    """Replace what holds the value: without an item, a list may have the next one at the same pointer."""
    pointer = arguments["pointer"]
    holder = pointer.rpartition("/")[0]
    return {"delete": ""} if not pointer else _set(holder, None if holder else {})


def _emptied(arguments: Mapping[str, Any]) -> Change:
    return _set(arguments["pointer"], [])


def _other_count(arguments: Mapping[str, Any]) -> Change:
    return _set(arguments["pointer"], [] if arguments["count"] else [arguments.get("fields", "not this")])


def _other_items(arguments: Mapping[str, Any]) -> Change:
    return _set(arguments["pointer"], [] if arguments["items"] else ["not this"])


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "json_document.exists": _gone,
    "json_document.itemCount": _other_count,
    "json_document.itemExists": _emptied,
    "json_document.itemsEqual": _other_items,
    "json_document.textContains": lambda arguments: _set(arguments["pointer"], None),
    "json_document.valueEquals": _other_value,
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each value that the right solution made, changed or removed, and one of another value."""
    old, new = _document(before), _document(after)
    if old is not _MISSING and new is not _MISSING:
        yield from _in_value("", old, new)


def _in_value(pointer: str, old: Any, new: Any) -> Iterator[tuple[str, Change]]:
    """Yield the mutations of a value that was there before."""
    if json_equal(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _in_object(pointer, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _in_list(pointer, old, new)
    else:
        yield f"not-changed {pointer}", _set(pointer, old)
        yield from _wrong_values(pointer, new)


def _in_object(pointer: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    for key, value in new.items():
        place = f"{pointer}/{_escaped(key)}"
        if key in old:
            yield from _in_value(place, old[key], value)
        else:
            yield f"left-out {place}", {"delete": place}
            yield from _wrong_values(place, value)
    for key, value in old.items():
        if key not in new:
            place = f"{pointer}/{_escaped(key)}"
            yield f"not-removed {place}", _set(place, value)
    untouched = [key for key in new if key in old and json_equal(old[key], new[key])]
    if untouched:
        place = f"{pointer}/{_escaped(untouched[0])}"
        yield f"other-value-removed {place}", {"delete": place}


def _in_list(pointer: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[str, Change]]:
    if len(old) == len(new):
        for index, (was, value) in enumerate(zip(old, new, strict=True)):
            yield from _in_value(f"{pointer}/{index}", was, value)
    else:
        yield from _in_changed_list(pointer, old, new)
    untouched = [index for index, value in enumerate(new) if _has(old, value)]
    if untouched:
        yield f"other-item-removed {pointer}/{untouched[0]}", {"delete": f"{pointer}/{untouched[0]}"}


def _in_changed_list(pointer: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[str, Change]]:
    """Yield the mutations of a list that got longer or shorter."""
    for index, value in enumerate(new):
        if not _has(old, value):
            place = f"{pointer}/{index}"
            yield f"left-out {place}", {"delete": place}
            yield f"doubled {place}", {"append": {"pointer": pointer, "item": value}}
            yield from _wrong_values(place, value)
    for index, value in enumerate(old):
        if not _has(new, value):
            yield f"not-removed {pointer}/{index}", {"append": {"pointer": pointer, "item": value}}


def _wrong_values(pointer: str, value: Any) -> Iterator[tuple[str, Change]]:
    """Yield slightly wrong variants of each text, number and truth value in a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _wrong_values(f"{pointer}/{_escaped(key)}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _wrong_values(f"{pointer}/{index}", item)
    elif isinstance(value, str):
        for kind, text in wrong(value):
            yield f"{kind} {pointer}", _set(pointer, text)
    elif isinstance(value, bool):
        yield f"other-way-round {pointer}", _set(pointer, not value)
    elif is_number(value):
        yield f"off-by-one {pointer}", _set(pointer, value + 1)


def _has(items: Sequence[Any], value: Any) -> bool:
    return any(json_equal(item, value) for item in items)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _document(tree: FileTree) -> Any:
    try:
        return document_of(tree, missing=_MISSING)
    except VerifierError:
        return _MISSING
