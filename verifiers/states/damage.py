"""Damage of a final state: of each sort of place in its normal form one value changed, taken away, and made twice.

A verdict must notice each in which a compared item differs, also where its frame lets changes through: what a solution
made is held to what the other predicates say of it. The normal form is changed and not the files, so every sort of
thing that a reader reads has its turn, and no state kind needs a program for it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.changes import Change, list_changes
from verifiers.states.items import Item, items_of
from verifiers.states.own_changes import GENERATED_FIELDS, GENERATED_KEYS

Path: TypeAlias = tuple[str | int, ...]

RECORD = 16
"""Keys of an object at most that has named fields; a larger one, or one of other keys, is a table of things."""
_NOTHING = object()


def list_damages(namespace: str, baseline: NormalState, final: NormalState) -> Iterator[tuple[Change, NormalState]]:
    """List damaged states, each with the first change of its items.

    Of each sort of place one that a solution changed is damaged, and one that it left alone.

    Args:
        namespace: the server's name.
        baseline: its state as an agent found it.
        final: as a solution left it; both can be read.
    """
    known = items_of(namespace, baseline)
    items = _number_generated(items_of(namespace, final), known)
    for damaged in (*_other_blobs(baseline, final), *_other_documents(baseline, final)):
        try:
            change = next(list_changes(items, _number_generated(items_of(namespace, damaged), known)), None)
        except (CorruptState, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            continue  # no reader writes this
        if change is not None and not _is_part_of_new(change, items, known):
            yield change, damaged


def _is_part_of_new(change: Change, items: Mapping[str, Item], known: Mapping[str, Item]) -> bool:
    """Say whether an item is a part of a new one, with which it is judged."""
    whole = change.after.inside
    return whole not in known and any(item.label == whole for item in items.values())


def _number_generated(items: Mapping[str, Item], known: Mapping[str, Item]) -> dict[str, Item]:
    """Number the new items whose names their server made up: under another such name, one is no other item."""
    compared: dict[str, Item] = {}
    seen: Counter[str] = Counter()
    for label, item in items.items():
        if label not in known and (generated := GENERATED_KEYS.get(item.sort)):
            kept = {name: value for name, value in item.key.items() if name != generated}
            place = f"new {item.sort} {json.dumps(kept, sort_keys=True)}"
            seen[place] += 1
            fields = {name: value for name, value in item.fields.items() if name not in GENERATED_FIELDS}
            compared[f"{place} {seen[place]}"] = item._replace(fields=fields)
        else:
            compared[label] = item
    return compared


def _other_blobs(baseline: NormalState, final: NormalState) -> Iterator[NormalState]:
    known, done = set(baseline.blobs), set()
    for place, blob in enumerate(final.blobs):
        if (blob in known) not in done:
            done.add(blob in known)
            yield replace(final, blobs=(*final.blobs[:place], blob + b"~", *final.blobs[place + 1 :]))


def _other_documents(baseline: NormalState, final: NormalState) -> Iterator[NormalState]:
    done: set[tuple[Path, bool]] = set()
    for path, sort, value in _places(final.document, (), ()):
        if "dates" in sort:  # a workbook's: a date and its text read the same where a goal asks for it
            continue
        left_alone = _at(baseline.document, path) == value
        if (sort, left_alone) not in done:
            done.add((sort, left_alone))
            for document in _others(final.document, path, value):
                yield replace(final, document=document)


def _places(value: Any, path: Path, sort: Path) -> Iterator[tuple[Path, Path, Any]]:
    """List every place of a document with its sort: its path, in which what tells things apart is left out."""
    if path:
        yield path, sort, value
    if isinstance(value, dict):
        named = len(value) <= RECORD and all(key.isidentifier() for key in value)
        for key, part in value.items():
            yield from _places(part, (*path, key), (*sort, key if named else "*"))
    elif isinstance(value, list):
        mixed = len({type(part) for part in value}) > 1  # the fields of a row or of a record have their places
        for place, part in enumerate(value):
            yield from _places(part, (*path, place), (*sort, place if mixed else "*"))


def _at(document: Any, path: Path) -> Any:
    for step in path:
        try:
            document = document[step]
        except (LookupError, TypeError):
            return _NOTHING
    return document


def _others(document: Any, path: Path, value: Any) -> Iterator[Any]:
    """List the documents in which this value is another, is taken away, or is there twice."""
    step = path[-1]
    holder = _at(document, path[:-1])
    if not isinstance(value, dict | list):
        yield _with(document, path[:-1], _put(holder, step, _other(value)))
    if isinstance(holder, list) and isinstance(step, int):
        yield _with(document, path[:-1], [*holder[:step], *holder[step + 1 :]])
        yield _with(document, path[:-1], [*holder[: step + 1], *holder[step:]])
    else:
        yield _with(document, path[:-1], {key: part for key, part in holder.items() if key != step})
        again = str(len(holder) + 1) if str(step).isdigit() else f"{step}~"
        yield _with(document, path[:-1], {**holder, again: value})


def _with(document: Any, path: Path, value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    if not path:
        return value
    return _put(document, path[0], _with(document[path[0]], path[1:], value))


def _put(holder: Any, step: str | int, value: Any) -> Any:
    if isinstance(holder, Mapping):
        return {**holder, step: value}
    place = int(step)
    return [*holder[:place], value, *holder[place + 1 :]]


def _other(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case None:
            return "~"
    return f"{value}~"
