"""Difference of two states, for people: which items were added, changed and removed, and how.

It is capped, so that it stays small whatever a state holds; what is left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.changes import Change, Kind, list_changes
from verifiers.states.items import items_of, render_field

MAX_ITEMS = 200
"""Of all namespaces together."""
MAX_FIELDS = 20
"""Of an item."""
MAX_LABEL = 300
MAX_TEXT = 2000
"""Characters of one field, before or after."""
MAX_TEXTS = 200_000
"""Characters of all of them together."""
AROUND = 100
"""Characters before the first one that differs, and behind the last, that are shown of a long text."""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What happened to one item.

    Attributes:
        kind: `added`, `changed` or `removed`.
        item: its label (`verifiers.states.items`).
        before: its fields as text; of one that changed those alone that differ, of one that was added none.
        after: likewise, of one that was removed none.
    """

    kind: Kind
    item: str = field(repr=False)
    before: Mapping[str, str] = field(repr=False)
    after: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StateDifference:
    """The difference of one namespace's state.

    Attributes:
        changes: what happened, in the order of the later state, removals last.
        left_out: how many more changes there are.
        unknown: why nothing can be said, as a sentence; or empty.
    """

    changes: tuple[ItemChange, ...] = ()
    left_out: int = 0
    unknown: str = ""


class Comparison:
    """Comparison of several namespaces that share the caps."""

    def __init__(self) -> None:
        self._items, self._room = MAX_ITEMS, MAX_TEXTS

    def difference(self, namespace: str, before: NormalState, after: NormalState) -> StateDifference:
        """Compare the states of one namespace; never raises because of what they hold."""
        listed = []
        for when, state in (("before", before), ("after", after)):
            if why := state.unreadable or state.missing:
                return StateDifference(unknown=f"the state {when} cannot be read: {_plain(why)}")
            try:
                listed.append(items_of(namespace, state))
            except (CorruptState, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
                return StateDifference(unknown=f"the state {when} cannot be listed ({type(error).__name__})")
        made = list(list_changes(*listed))
        kept = made[: self._items]
        self._items -= len(kept)
        return StateDifference(tuple(map(self._change, kept)), len(made) - len(kept))

    def _change(self, change: Change) -> ItemChange:
        old = change.before if change.kind != "added" else None
        new = change.after if change.kind != "removed" else None
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        for name in change.fields[:MAX_FIELDS]:
            written = (render_field(item, name) if item and name in item.fields else None for item in (old, new))
            texts = _cut(*(None if text is None else _plain(text) for text in written))
            for fields, text in zip((before, after), texts, strict=True):
                if text is not None:
                    fields[_plain(name)[:MAX_LABEL]] = self._within(text)
        return ItemChange(change.kind, _plain(change.after.label)[:MAX_LABEL], before, after)

    def _within(self, text: str) -> str:
        """Return as much of a text as there is room for."""
        text = text if len(text) <= self._room else f"{text[: self._room]}…"
        self._room = max(self._room - len(text), 0)
        return text


def _cut(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Cut two texts to the part in which they differ, where they are long."""
    if before is None or after is None:
        return _head(before), _head(after)
    if max(len(before), len(after)) <= MAX_TEXT:
        return before, after
    same = _same(before, after)
    tail = _same(before[same:][::-1], after[same:][::-1])
    start, behind = max(same - AROUND, 0), max(tail - AROUND, 0)
    lead, end = "…" if start else "", "…" if behind else ""
    return (
        _head(f"{lead}{before[start : len(before) - behind]}{end}"),
        _head(f"{lead}{after[start : len(after) - behind]}{end}"),
    )


def _same(text: str, other: str) -> int:
    """Count the characters at the start that two texts have in common."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (letter, its) in pairs if letter != its), min(len(text), len(other)))


def _head(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _plain(text: str) -> str:
    """Escape what no JSON text holds."""
    return text.encode("utf-8", "backslashreplace").decode()
