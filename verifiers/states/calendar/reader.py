"""Reader of the calendars that Radicale keeps: `collection-root/agent/<calendar>/<uid>.ics`, without hidden files."""

from __future__ import annotations

from collections.abc import Mapping

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.calendar.entries import HOME, CalendarEntry, document_of
from verifiers.states.calendar.ics import read_item
from verifiers.tree import FileTree

MAX_ITEMS = 5000


def read_calendars(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every calendar item into the normal form.

    Raises:
        CorruptState: see `entries_of`.
    """
    return NormalState(document_of(entries_of(tree, budget).values()))


def entries_of(tree: FileTree, budget: ReadingBudget | None = None) -> Mapping[str, CalendarEntry]:
    """Give every item of every calendar by the path of its file.

    Raises:
        CorruptState: a file is no calendar's, or there is more than the budget allows.
    """
    budget = budget or ReadingBudget()
    out: dict[str, CalendarEntry] = {}
    for path, node in tree.items():
        budget.step()
        inside = path.removeprefix(f"{HOME}/").split("/")
        if not path.startswith(f"{HOME}/") or any(part.startswith(".") for part in inside) or node.kind == "directory":
            continue
        if node.kind != "file" or len(inside) != 2 or len(out) >= MAX_ITEMS:  # noqa: PLR2004 - a calendar and a file
            raise CorruptState("the calendars hold something that is no file of a calendar, or too much")
        out[path] = CalendarEntry(inside[0], read_item(node.data, budget))
    return out
