"""Content of a server's folder that its reader does not read: other files, and other lines of a calendar's files.

No predicate asks for it, so only the frame compares it: `[[place, part of, text]]`, where the text is a SHA-256 or some
lines, and a part of a new item is judged with it. What a server writes by itself is left out, each with its reason.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping

from verifiers.budget import ReadingBudget
from verifiers.tree import FileTree

BYTES_A_STEP = 128
"""Bytes of a file for which its digest costs a step."""
_GIT = (
    "(HEAD|packed-refs|index|shallow|sharedindex.*|refs/(?!replace/).*|objects/(?!info/alternates).*"  # read
    "|logs/.*|[A-Z]+_EDITMSG|(ORIG|FETCH)_HEAD|gc\\..*|info/refs|forge-index"  # git's notes of its last operations
    "|config(?=:bare))"  # the forge gives git its settings itself
)
READ_PATHS: Mapping[str, re.Pattern[str]] = {
    # Radicale keeps locks and caches in hidden folders; its items are below
    "calendar": re.compile(r"collection-root/agent/[^/]+/[^./][^/]*|(.*/)?\.Radicale\.(lock|cache.*|tmp.*)"),
    "forge": re.compile(rf"state\.json:bare|repositories/[^/]+/[^/]+\.git/{_GIT}:bare"),
    "git": re.compile(rf"(?:[^/]+/)+\.git/{_GIT}|(?!.*/\.git/|\.\./)[^/]+/.*"),
    "graph": re.compile(r"memory\.jsonl"),
    # Dovecot numbers messages and keywords
    "mailbox": re.compile(r"Maildir/(?:\.[^/]*/)?(?:(?:cur|new|tmp)/.*|dovecot.*|maildir.*)|outbox/.*"),
    "sqlite": re.compile(r"main\.db(?:-journal|-wal|-shm)?"),
}
"""State kind to the paths whose files its reader reads, or its server writes by itself."""
_ITEM = re.compile(r"^BEGIN:(VEVENT|VTODO)\n(?:.*\n)*?UID:(.*)\n", re.MULTILINE)
_ZONE = re.compile(r"^BEGIN:VTIMEZONE\n(?:.*\n)*?END:VTIMEZONE\n", re.MULTILINE)
_KNOWN_LINE = re.compile(
    # the frame of a file, and what each program writes of itself and of the time
    "(BEGIN|END):V(CALENDAR|EVENT|TODO)$|(PRODID|VERSION|CALSCALE|METHOD|DTSTAMP|CREATED|LAST-MODIFIED|SEQUENCE"
    "|COMPLETED"  # follows from the status
    "|UID|SUMMARY|DTSTART|DTEND|DUE|DURATION|LOCATION|DESCRIPTION|STATUS|RRULE|RDATE|EXDATE|RECURRENCE-ID|TRANSP|ATTENDEE)[;:]"
    "|PERCENT-COMPLETE:(0|100)$",  # likewise; a share between them is somebody's
    re.IGNORECASE,
)


def list_unread_content(kind: str, tree: FileTree, budget: ReadingBudget) -> Iterator[list[str]]:
    """List place, whole and text of each thing that the reader of a state kind does not read.

    Raises:
        CorruptState: it costs more than the budget has.
    """
    if (read := READ_PATHS.get(kind)) is None:
        return
    parents = {posixpath.dirname(path) for path, _ in tree.items()}
    for path, node in tree.items():
        budget.step()
        if node.kind == "directory":
            if kind in {"git", "graph", "sqlite"} and path not in parents and "/.git" not in path:
                yield [path, "", "empty folder"]
        elif not read.fullmatch(f"{path}:bare" if kind == "forge" else path):
            budget.step(1 + len(node.data) // BYTES_A_STEP)
            held = node.data or node.target.encode("utf-8", "surrogateescape")
            yield [path, "", f"{node.kind} {hashlib.sha256(held).hexdigest()}"]
        elif kind == "calendar" and path.endswith(".ics") and "/." not in path:
            budget.step(1 + len(node.data) // BYTES_A_STEP)
            yield from _other_lines(path, node.data.decode("utf-8", "replace"))


def _other_lines(path: str, text: str) -> Iterator[list[str]]:
    unfolded = re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n")
    lines = [line for line in _ZONE.sub("", unfolded).split("\n") if line and not _KNOWN_LINE.match(line)]
    if lines and (item := _ITEM.search(unfolded)):
        whole = f"{path.split('/')[-2]}: {'todo' if item[1] == 'VTODO' else 'event'} {item[2]}"
        yield [f"other lines of {path}", whole, "\n".join(sorted(lines))]
