"""The calendars that Radicale keeps: `collection-root/agent/<calendar>/<uid>.ics`. Hidden files are its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verifiers.context import Context
from verifiers.errors import Spoiled
from verifiers.ics import Item, read_item
from verifiers.views import Tree

HOME = "collection-root/agent"
PROPERTIES = ".Radicale.props"
MAX_ITEMS = 5000


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a calendar, which is named as in its address."""

    calendar: str
    item: Item


def open_calendars(context: Context) -> tuple[Entry, ...]:
    """Give every item of every calendar, once an evaluation.

    Raises:
        Spoiled: a file is no calendar's.
        Unreadable: there is no state.
    """
    return context.once("calendar", lambda: tuple(entries_of(context.tree("calendar")).values()))


def entries_of(tree: Tree) -> Mapping[str, Entry]:
    """Give every item of every calendar by the path of its file.

    Raises:
        Spoiled: see `open_calendars`.
    """
    out: dict[str, Entry] = {}
    for path, node in tree.items():
        inside = path.removeprefix(f"{HOME}/").split("/")
        if not path.startswith(f"{HOME}/") or any(part.startswith(".") for part in inside) or node.kind == "directory":
            continue
        if node.kind != "file" or len(inside) != 2 or len(out) >= MAX_ITEMS:  # noqa: PLR2004 - a calendar and a file
            raise Spoiled("the calendars hold something that is no file of a calendar, or too much")
        out[path] = Entry(inside[0], read_item(node.data))
    return out
