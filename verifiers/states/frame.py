"""Frame of a verdict: `<namespace>.unchanged`, which holds where nothing changed but what its `except` selects.

It compares the items of the final state with those of the *baseline*: the state of the same world, seeded and ended
without an agent. Whatever a reader reads is in an item (`verifiers.states.items`), so nothing has to be enumerated.

    {"sqlite.unchanged": {"except": [
        {"item": "row", "where": {"table": "orders", "id": 3}, "change": ["state"]},
        {"item": "row", "where": {"table": "journal", "note": "paid"}, "add": 1}]}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from verifiers.predicates.context import Context
from verifiers.predicates.namespaces import REGISTERED
from verifiers.predicates.registry import NOTHING, REGISTRY, Example, Probe, ProbeResult, Schema, predicate
from verifiers.predicates.values import json_equal
from verifiers.states.changes import Change, describe, list_changes
from verifiers.states.items import SORTS, Item, items_of
from verifiers.tree import JudgeInput

MAX_SHOWN = 10
"""Changes that evidence names; the rest is counted."""
A_CHANGE = 4
"""Steps for holding a change against one selection."""

_TIMES = {"type": "integer", "minimum": 1}


def list_unexpected(
    before: Mapping[str, Item], after: Mapping[str, Item], excepted: Sequence[Mapping[str, Any]], context: Context
) -> Iterator[tuple[Change, tuple[str, ...]]]:
    """List the changes that no selection lets through, each with the fields that are not let through.

    A selection lets through fields of any number of items that changed, and as many items that were added or removed as
    it says: one that a task asks for once is damage when it is made twice. A part of a new item is judged with it.

    Args:
        before: the items of the baseline.
        after: those of the final state.
        excepted: the selections, as `make_schema` describes them.
        context: has the budget.
    """
    left = [int(selection.get("add") or selection.get("remove") or 0) for selection in excepted]
    for change in list_changes(before, after):
        context.budget.step(A_CHANGE * (1 + len(excepted)))
        whole = change.after.inside
        if change.kind == "added" and whole in after and whole not in before:
            continue
        kinds = {"added": "add", "removed": "remove", "changed": "change"}
        fitting = [
            place
            for place, selection in enumerate(excepted)
            if kinds[change.kind] in selection and _selects(selection, change)
        ]
        if change.kind == "changed":
            allowed = {name for place in fitting for name in excepted[place]["change"]}
            if fields := tuple(name for name in change.fields if name not in allowed):
                yield change, fields
            continue
        taken = next((place for place in fitting if left[place]), None)
        if taken is None:
            yield change, ()
        else:
            left[taken] -= 1


def is_let_through_on_purpose(change: Change, excepted: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a selection that is wider than what the solutions change, and says why, has this item in it."""
    return any("why" in selection and _selects(selection, change) for selection in excepted)


def _selects(selection: Mapping[str, Any], change: Change) -> bool:
    item = change.before
    if item.sort != selection["item"]:
        return False
    return all(_has(item, name, value) for name, value in selection.get("where", {}).items())


def _has(item: Item, name: str, value: Any) -> bool:
    """Say whether a part of an item's key, or a field, is this value, or one of `{"any": […]}`."""
    held = item.key[name] if name in item.key else item.fields.get(name)
    if isinstance(value, dict) and value.keys() == {"any"}:
        return any(json_equal(held, one) for one in value["any"])
    return json_equal(held, value)


def make_schema(kind: str) -> Schema:
    """Return the JSON Schema of `except` for a state kind."""
    sorts = SORTS[kind]
    return {
        "type": "array",
        "description": f"list of selections of items ({', '.join(sorts)})",
        "items": {
            "type": "object",
            "required": ["item"],
            "additionalProperties": False,
            "properties": {
                "item": {"enum": list(sorts)},
                "where": {"type": "object", "minProperties": 1},
                "change": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
                "add": _TIMES,
                "remove": _TIMES,
                "why": {"type": "string", "minLength": 1, "maxLength": 300},
            },
            "oneOf": [{"required": ["change"]}, {"required": ["add"]}, {"required": ["remove"]}],
        },
    }


def _unchanged(namespace: str, context: Context, excepted: Sequence[Mapping[str, Any]]) -> ProbeResult:
    after, before = context.state(namespace), context.baseline(namespace)  # a state that was wrecked counts first
    if after is before:  # read once, because its bytes are equal
        return ProbeResult(True, "nothing changed")  # noqa: FBT003 - the result has this order
    listed = items_of(namespace, before, context.budget), items_of(namespace, after, context.budget)
    found = list(list_unexpected(*listed, excepted, context))
    named = "; ".join(describe(change, fields) for change, fields in found[:MAX_SHOWN])
    more = f"; and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    told = f"changed although nothing allows it: {named}{more}"
    return ProbeResult(not found, told if found else "nothing changed" + (" but what may" if excepted else ""))


def register() -> None:
    """Register `unchanged` of every state kind, once all their other predicates are; it takes its example from one."""
    for kind, namespace in REGISTERED.items():
        like = next(entry.example for name, entry in REGISTRY.items() if name.startswith(f"{namespace}."))
        made = Example({}, partial(_against, like.holds, like.holds), partial(_against, like.fails, like.holds))
        predicate(
            f"{namespace}.unchanged",
            words=f"nothing in {namespace} has changed",
            takes={},
            may_take={"except": make_schema(kind)},
            produces=NOTHING,
            example=made,
            needs_baseline=True,
        )(_probe(namespace))


def _probe(namespace: str) -> Probe:
    def unchanged(context: Context, **arguments: Any) -> ProbeResult:
        """Everything is as it was before the agent came, but for what `except` selects.

        A selection names a sort of item, in `where` the values that its key or fields have (each one, or one of
        `{"any": […]}`), and what may happen to it: `change` lists the fields that may differ, `add` and `remove` say
        how many such items may be added or removed. `why` says for reviewers why a selection is wider than what the
        solutions change. What a server changes by itself does not count.
        """
        return _unchanged(namespace, context, arguments.get("except", ()))

    return unchanged


def _against(state: Callable[[], JudgeInput], baseline: Callable[[], JudgeInput]) -> JudgeInput:
    return JudgeInput(state().states, baseline=baseline().states)
