"""Predicates over a JSON document: the one file in which a server keeps its state.

A pointer is a JSON pointer (RFC 6901): `/lists/0/title`; the empty one is the whole document. *Items* are the elements
of a list or the values of an object. The order of keys and 1 against 1.0 do not count, types do. `ignore_keys` names
keys that do not count in any object, however deep: times and ids that a server makes up. A pointer that leads nowhere
makes a predicate false. A document that cannot be read, or has a key twice, counts against the agent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NAME, NOTHING, Example, ProbeResult, Schema, names, predicate
from verifiers.predicates.values import at_pointer
from verifiers.quoting import listed, quoted
from verifiers.states.json_document.document import open_document
from verifiers.states.json_document.examples import json_document
from verifiers.texts import casefolded, place_of

POINTER: Schema = {
    "type": "string",
    "maxLength": 1024,
    "pattern": r"^(/([^~/]|~[01])*)*$",
    "description": "JSON pointer (RFC 6901)",
}
ANYTHING: Schema = {"description": "any JSON value"}
FIELDS: Schema = {"type": "object", "minProperties": 1, "description": "object: key to any JSON value"}
ITEMS: Schema = {"type": "array", "description": "list of any JSON values"}
PART: Schema = {"type": "string", "minLength": 1}
KEYS: Schema = names(NAME, least=1)
A_VALUE = 4
"""Steps for a value that is written down to be compared."""
MAX_BITS = 64

TODO = {
    "lists": [
        {"name": "home", "items": [{"id": 1, "title": "Buy milk", "done": True, "tags": ["shop"]}]},
        {"name": "work", "items": [{"id": 2, "title": "Call Ann", "done": False, "tags": []}]},
    ],
    "next": 3,
}
FULL, BARE = partial(json_document, TODO), partial(json_document, {"lists": [{"name": "home", "items": []}], "next": 1})


@predicate(
    "json_document.valueEquals",
    words="the document has {value} at {pointer}",
    takes={"pointer": POINTER, "value": ANYTHING},
    may_take={"ignore_keys": KEYS},
    produces=("value",),
    example=Example({"pointer": "/lists/0/items/0/done", "value": True}, FULL, BARE),
)
def value_equals(context: Context, pointer: str, value: Any, ignore_keys: Sequence[str] = ()) -> ProbeResult:
    """What the pointer leads to is just this value, but for the keys to ignore."""
    actual = _at(context, pointer)
    return ProbeResult(
        _text(context, actual, ignore_keys) == _text(context, value, ignore_keys), f"there is {quoted(actual)}"
    )


@predicate(
    "json_document.exists",
    words="the document has something at {pointer}",
    takes={"pointer": POINTER},
    produces=NOTHING,
    example=Example({"pointer": "/lists/1/name"}, FULL, BARE),
)
def exists(context: Context, pointer: str) -> ProbeResult:
    """The pointer leads to a value, which may be null."""
    return ProbeResult(holds=True, found=f"there is {quoted(_at(context, pointer))}")


@predicate(
    "json_document.itemExists",
    words="among the items at {pointer} there is one with {fields}",
    takes={"pointer": POINTER, "fields": FIELDS},
    may_take={"exact": FLAG, "ignore_keys": KEYS},
    produces=("fields",),
    example=Example({"pointer": "/lists/1/items", "fields": {"title": "Call Ann", "done": False}}, FULL, BARE),
)
def item_exists(
    context: Context,
    pointer: str,
    fields: Mapping[str, Any],
    exact: bool = False,  # noqa: FBT001, FBT002 - named in documents
    ignore_keys: Sequence[str] = (),
) -> ProbeResult:
    """One of the items is an object that has these fields with these values.

    With `exact` it has no others, but for the keys to ignore.
    """
    items = _items(context, pointer)
    matching = _with(context, items, fields, ignore_keys, exact=exact)
    found = f"{matching} of {len(items)} items match; they are {listed(items)}"
    return ProbeResult(matching > 0, found)


@predicate(
    "json_document.itemCount",
    words="there are {count} items at {pointer}",
    takes={"pointer": POINTER, "count": COUNT},
    may_take={"fields": FIELDS},
    produces=NOTHING,
    example=Example({"pointer": "/lists", "count": 1, "fields": {"name": "work"}}, FULL, BARE),
)
def item_count(context: Context, pointer: str, count: int, fields: Mapping[str, Any] | None = None) -> ProbeResult:
    """There are this many items, or this many that are objects with these fields."""
    items = _items(context, pointer)
    number = len(items) if fields is None else _with(context, items, fields, (), exact=False)
    return ProbeResult(number == count, f"there are {number}; all items are {listed(items)}")


@predicate(
    "json_document.itemsEqual",
    words="the items at {pointer} are {items}",
    takes={"pointer": POINTER, "items": ITEMS},
    may_take={"in_order": FLAG, "ignore_keys": KEYS},
    produces=("items",),
    example=Example(
        {
            "pointer": "/lists/0/items",
            "items": [{"title": "Buy milk", "tags": ["shop"], "done": True}],
            "ignore_keys": ["id"],
        },
        FULL,
        BARE,
    ),
)
def items_equal(
    context: Context,
    pointer: str,
    items: Sequence[Any],
    in_order: bool = False,  # noqa: FBT001, FBT002 - named in documents
    ignore_keys: Sequence[str] = (),
) -> ProbeResult:
    """The items are these and no others, each as often as it is given; in any order, unless `in_order` is true."""
    there = _items(context, pointer)
    actual = [_text(context, item, ignore_keys) for item in there]
    wanted = [_text(context, item, ignore_keys) for item in items]
    return ProbeResult(
        actual == wanted if in_order else Counter(actual) == Counter(wanted), f"the items are {listed(there)}"
    )


@predicate(
    "json_document.textContains",
    words="the text at {pointer} contains {text}",
    takes={"pointer": POINTER, "text": PART},
    may_take={"ignore_case": FLAG},
    produces=("text",),
    example=Example({"pointer": "/lists/1/items/0/title", "text": "ann", "ignore_case": True}, FULL, BARE),
)
def text_contains(
    context: Context,
    pointer: str,
    text: str,
    ignore_case: bool = False,  # noqa: FBT001, FBT002 - named in documents
) -> ProbeResult:
    """What the pointer leads to is a text with this in it, in the same case unless `ignore_case` is true."""
    actual = _at(context, pointer)
    if not isinstance(actual, str):
        raise TargetMissing(f"at {quoted(pointer)} there is {quoted(actual)}, which is no text")
    part, whole = (text.casefold(), casefolded(actual, context.budget)) if ignore_case else (text, actual)
    return ProbeResult(place_of(part, whole, context.budget) >= 0, f"there is {quoted(actual)}")


def _at(context: Context, pointer: str) -> Any:
    try:
        return at_pointer(open_document(context), pointer)
    except LookupError:
        raise TargetMissing(f"{quoted(pointer)} leads nowhere in the document") from None


def _items(context: Context, pointer: str) -> list[Any]:
    value = _at(context, pointer)
    if not isinstance(value, list | dict):
        raise TargetMissing(f"at {quoted(pointer)} there is {quoted(value)}, which has no items")
    context.budget.step(len(value))
    return value if isinstance(value, list) else list(value.values())


def _with(
    context: Context, items: Sequence[Any], fields: Mapping[str, Any], ignored: Collection[str], *, exact: bool
) -> int:
    """Count the items that have these fields."""
    wanted = {key: _text(context, value, ignored) for key, value in fields.items() if key not in ignored}
    return sum(
        isinstance(item, dict)
        and (not exact or item.keys() - set(ignored) == wanted.keys())
        and all(key in item and _text(context, item[key], ignored) == text for key, text in wanted.items())
        for item in items
    )


def _text(context: Context, value: Any, ignored: Collection[str]) -> str:
    """Write a value so that equal values have equal texts."""
    return json.dumps(_comparable(context, value, frozenset(ignored)), sort_keys=True)


def _comparable(context: Context, value: Any, ignored: frozenset[str]) -> Any:
    """Copy a value without the ignored keys, with each number as a double if that is exact."""
    context.budget.step(A_VALUE)
    if isinstance(value, str):
        context.budget.parse(len(value))
        return value
    if isinstance(value, list):
        return [_comparable(context, item, ignored) for item in value]
    if isinstance(value, dict):
        members = {}
        for key, item in value.items():
            context.budget.parse(len(key))
            if key not in ignored:
                members[key] = _comparable(context, item, ignored)
        return members
    if isinstance(value, float) or (type(value) is int and value.bit_length() <= MAX_BITS and float(value) == value):
        return float(value) + 0.0  # which is no negative zero
    return value
