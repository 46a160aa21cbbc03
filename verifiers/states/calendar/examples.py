"""Example calendars for the predicate catalogue's examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from verifiers.states.calendar.entries import HOME, PROPERTIES
from verifiers.states.calendar.items import Item
from verifiers.states.calendar.writer import write_item
from verifiers.tree import FileTree, JudgeInput, tree_of


def calendars(items: Mapping[str, Sequence[Item]]) -> JudgeInput:
    """Return the views of a world whose calendar server holds these events and tasks."""
    return JudgeInput({"calendar": calendar_tree(dict.fromkeys(items, ""), items)})


def calendar_tree(titles: Mapping[str, str], items: Mapping[str, Sequence[Item]]) -> FileTree:
    """Return the folder of Radicale: each calendar with its title, and the events and tasks in it."""
    made: dict[str, str | bytes] = {}
    for name, title in titles.items():
        properties = {"C:supported-calendar-component-set": "VEVENT,VTODO", "D:displayname": title or name}
        made[f"{HOME}/{name}/{PROPERTIES}"] = json.dumps({**properties, "tag": "VCALENDAR"}, ensure_ascii=False)
        made |= {f"{HOME}/{name}/{item.uid}.ics": write_item(item) for item in items.get(name, ())}
    return tree_of(made)
