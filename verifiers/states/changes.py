"""Changes between two lists of items: which were added, changed and removed, and in which fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from verifiers.states.items import Item
from verifiers.states.own_changes import is_server_change

Kind: TypeAlias = Literal["added", "changed", "removed"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one item.

    Attributes:
        kind: `added`, `changed` or `removed`.
        before: the item as it was; of one that was added, as it is.
        after: the item as it is; of one that was removed, as it was.
        fields: the names of the fields that differ; of an item that was added or removed, all of them.
    """

    kind: Kind
    before: Item = field(repr=False)
    after: Item = field(repr=False)
    fields: tuple[str, ...] = field(repr=False)


def describe(change: Change, fields: Sequence[str] | None = None) -> str:
    """Say what happened to an item, and which of its fields differ; by default all that do."""
    if change.kind != "changed":
        return f"{change.after.label}, {change.kind}"
    return f"{change.after.label}, {', '.join(change.fields if fields is None else fields)} changed"


def list_changes(before: Mapping[str, Item], after: Mapping[str, Item]) -> Iterator[Change]:
    """List what happened, in the order of the later items, removals last; what a server did by itself is left out."""
    for label, item in after.items():
        if (old := before.get(label)) is None:
            yield Change("added", item, item, tuple(item.fields))
        elif fields := tuple(name for name in {**old.fields, **item.fields} if not _is_same(old, item, name)):
            yield Change("changed", old, item, fields)
    for label, item in before.items():
        if label not in after:
            yield Change("removed", item, item, tuple(item.fields))


def _is_same(old: Item, new: Item, name: str) -> bool:
    if name not in old.fields or name not in new.fields:
        return False
    before, after = old.fields[name], new.fields[name]
    same = type(before) is type(after) and (  # 1 is not 1.0 here, and no true
        before == after if isinstance(before, str) else _written(before) == _written(after)
    )
    return same or is_server_change(new.sort, name, before, after)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
