"""State kind of calendars: one user's events and to-dos in iCalendar files, served over CalDAV by Radicale.

State: `{"calendars": {"work": {"title": "Work", "events": [{"summary": "Plan", "start": "2026-01-05T10:00:00Z", "end":
"2026-01-05T11:00:00Z", "location": "Bern", "attendees": ["bob@example.org"], "repeats": {"FREQ": "WEEKLY", "COUNT":
"4"}}], "todos": [{"summary": "Buy tea", "due": "2026-01-09T12:00:00Z", "status": "NEEDS-ACTION"}]}}}`. A moment is a
day or an instant with its offset. An item that has no `uid` is called `event-1` or `todo-1`, counted over everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.calendar.schema import EVENT, ID, MUTATIONS, TODO, item_of
from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, Backend, StateKind
from verifiers.states.calendar.examples import calendar_tree
from verifiers.states.calendar.items import Item
from verifiers.tree import FileTree

STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "calendars": {
            "type": "object",
            "propertyNames": ID,
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "title": {"type": "string", "minLength": 1, "maxLength": 100},
                    "events": {"type": "array", "items": EVENT},
                    "todos": {"type": "array", "items": TODO},
                },
            },
        }
    },
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the calendars.

    Raises:
        Malformed: two items have one identity, a moment is none, or a text is half of a surrogate pair.
    """
    made: Mapping[str, Any] = state.get("calendars", {})
    items = dict(_items(made))
    uids = [item.uid for some in items.values() for item in some]
    if twice := sorted({uid for uid in uids if uids.count(uid) > 1}):
        raise Malformed(f"the calendar state has two items of the identity {twice[0]!r}")
    try:
        return calendar_tree({name: calendar.get("title", "") for name, calendar in made.items()}, items)
    except UnicodeEncodeError:
        raise Malformed("the calendar state holds half of a surrogate pair and is not valid Unicode") from None


def _items(made: Mapping[str, Any]) -> Iterator[tuple[str, list[Item]]]:
    counts = {"event": 0, "todo": 0}
    for name, calendar in made.items():
        items = []
        for kind in ("event", "todo"):
            for document in calendar.get(f"{kind}s", ()):
                counts[kind] += 1
                items.append(item_of(kind, {"uid": f"{kind}-{counts[kind]}", **document}))
        yield name, items


CALENDAR = StateKind(
    name="calendar",
    about="calendars of one user, events and to-dos, kept by a CalDAV service (Radicale) on port 5232",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    backend=Backend(
        (f"{PROGRAMS}/python/calendar/bin/python", "-I", f"{OUR_KINDS}/calendar/backend/service.py", "keep"),
        {"HOME": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},  # noqa: S108 (inside a world)
    ),
)
