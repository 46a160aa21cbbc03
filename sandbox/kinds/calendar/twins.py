"""Twins of calendars: the same instants in another zone, and a series that ends on a day and not after a number."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from zoneinfo import ZoneInfo

from verifiers.tree import FileTree, Node

_ZONE = ZoneInfo("America/New_York")  # read now, because a reader opens no file
_INSTANT = re.compile(r"(DTSTART|DTEND|DUE):(\d{8}T\d{6})Z")
_START = re.compile(r"^DTSTART[^:\r\n]*:(\d{8}(?:T\d{6})?)(Z?)\r?$", re.MULTILINE)
_STEPS = {"DAILY": 1, "WEEKLY": 7}


def _changed(before: FileTree, after: FileTree, change: Callable[[str, str], str]) -> FileTree:
    """Change the lines of items that were not there before; each is given with the text of its item."""
    nodes = dict(after)
    for path, node in after.items():
        if node.kind == "file" and path.endswith(".ics") and ".Radicale.cache" not in path:
            known = set(before.get(path, Node("file")).data.decode(errors="replace").splitlines())
            text = node.data.decode(errors="replace")
            lines = text.splitlines()
            changed = [line if line in known else change(line, text) for line in lines]
            if changed != lines:
                nodes[path] = replace(node, data="".join(f"{line}\r\n" for line in changed).encode())
    return FileTree(nodes)


def _other_zone(line: str, item: str) -> str:
    match = _INSTANT.fullmatch(line)
    if match is None or "\nRRULE" in item:  # another zone has other days of daylight saving time
        return line
    moment = _moment(match[2]).replace(tzinfo=datetime.UTC).astimezone(_ZONE)
    return f"{match[1]};TZID={_ZONE.key}:{moment:%Y%m%dT%H%M%S}"


def _until(line: str, item: str) -> str:
    rule = dict(part.partition("=")[::2] for part in line.removeprefix("RRULE:").split(";"))
    start = _START.search(item.partition("BEGIN:VEVENT")[2])
    by_day = rule.get("BYDAY", "")
    if not line.startswith("RRULE:") or start is None or rule.get("FREQ") not in _STEPS or "," in by_day:
        return line
    if not rule.get("COUNT", "").isdecimal():
        return line
    days = _STEPS[rule["FREQ"]] * int(rule.get("INTERVAL", "1")) * (int(rule.pop("COUNT")) - 1)
    last = _moment(start[1]) + datetime.timedelta(days)
    until = {"UNTIL": f"{last:%Y%m%dT%H%M%S}"[: len(start[1])] + start[2]}
    return "RRULE:" + ";".join(f"{name}={value}" for name, value in {**rule, **until}.items())


def _moment(text: str) -> datetime.datetime:
    """Read a day, or an instant without its zone; not with `strptime`, which opens files."""
    return datetime.datetime.fromisoformat(text)


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "other-zone": lambda before, after: _changed(before, after, _other_zone),
    "until": lambda before, after: _changed(before, after, _until),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
