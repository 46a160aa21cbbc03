"""Reader of the calendars that Radicale keeps: `collection-root/agent/<calendar>/<uid>.ics`, without hidden files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.calendar.entries import HOME, CalendarEntry, document_of
from verifiers.states.calendar.ics import read_items
from verifiers.states.calendar.items import Item
from verifiers.tree import FileTree, Node

MAX_ITEMS = 5000


def read_calendars(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every calendar item into the normal form.

    Raises:
        CorruptState: see `entries_of`.
    """
    unreadable: list[list[str]] = []
    entries = entries_of(tree, budget, unreadable)
    return NormalState(document_of(entries.values(), unreadable))


def entries_of(
    tree: FileTree, budget: ReadingBudget | None = None, unreadable: list[list[str]] | None = None
) -> Mapping[str, CalendarEntry]:
    """Return every item of every calendar by the path of its file, with the UID behind those after a file's first.

    `unreadable` takes calendar, file, reason and digest of each file that is no calendar's.

    Raises:
        CorruptState: there is more than the budget allows.
    """
    budget = budget or ReadingBudget()
    entries: dict[str, CalendarEntry] = {}
    for path, node in tree.items():
        budget.step()
        inside = path.removeprefix(f"{HOME}/").split("/")
        if not path.startswith(f"{HOME}/") or any(part.startswith(".") for part in inside) or node.kind == "directory":
            continue
        try:
            items = _items(node, inside, budget)
        except BudgetSpent:
            raise
        except CorruptState as error:
            if unreadable is not None:
                unreadable.append([inside[0], "/".join(inside[1:]), str(error), _digest(node)])
            continue
        for item in items:
            key = path if path not in entries else f"{path}/{item.uid}"
            entries[key] = CalendarEntry(inside[0], item)
        if len(entries) > MAX_ITEMS:
            raise CorruptState(f"the calendars hold more than {MAX_ITEMS} events and tasks")
    return entries


def _items(node: Node, inside: Sequence[str], budget: ReadingBudget) -> Sequence[Item]:
    if node.kind != "file" or len(inside) != 2:  # noqa: PLR2004 - a calendar and a file
        raise CorruptState("it is no file of a calendar")
    return read_items(node.data, budget)


def _digest(node: Node) -> str:
    return hashlib.sha256(node.data or node.target.encode("utf-8", "surrogateescape")).hexdigest()
