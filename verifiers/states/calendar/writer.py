"""Writer of the iCalendar file of an event or a task (RFC 5545); the same item gives the same bytes."""

from __future__ import annotations

import re

from verifiers.states.calendar.items import TEXTS, Item


def _escaped(text: str) -> str:
    text = re.sub(r"([\\;,])", r"\\\1", text)
    return re.sub(r"\r\n?|\n", r"\\n", text)


def write_item(item: Item) -> bytes:
    """Write the file of an item."""
    block = "VEVENT" if item.kind == "event" else "VTODO"
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Quarterturn//World//EN", f"BEGIN:{block}", f"UID:{item.uid}"]
    lines.append("DTSTAMP:20240101T000000Z")
    lines += _dated("DTSTART", item.start)
    lines += _dated("DTEND" if item.kind == "event" else "DUE", item.end)
    lines += [f"{name}:{_escaped(text)}" for name, key in TEXTS.items() if (text := getattr(item, key))]
    lines += ["TRANSP:TRANSPARENT" if word == "TRANSPARENT" else f"STATUS:{word}" for word in item.status.split()]
    if item.repeats:
        lines.append("RRULE:" + ";".join(f"{name}={value}" for name, value in item.repeats.items()))
    lines += [f"ATTENDEE:mailto:{address}" for address in item.attendees]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, f"END:{block}", "END:VCALENDAR"]).encode()


def _dated(name: str, moment: str) -> list[str]:
    if not moment:
        return []
    plain = re.sub("[-:]", "", moment)
    return [f"{name}:{plain}" if "T" in moment else f"{name};VALUE=DATE:{plain}"]


def _folded(line: str) -> str:
    """Fold a long line (3.1); 24 UTF-8 characters always fit on one line."""
    parts = [line[at : at + 18] for at in range(0, len(line), 18)] if len(line.encode()) > 75 else [line]  # noqa: PLR2004
    return "\r\n ".join(parts)
