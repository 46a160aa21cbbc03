"""Differences of two commits, file by file, and the position of a line in a file's patch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sandbox.kinds.forge.backend.storage.bare import Bare

STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the name of the empty tree
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Change:
    """One changed file; `sha` is its blob after the change, or before it where it was removed."""

    path: str
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str = field(repr=False)  # from its first hunk on; empty for a binary file and a mere renaming
    before: str | None = None  # the path that it had, where it was renamed


def changes(git: Bare, base: str, head: str) -> list[Change]:
    """List what `head` changes, with renamed files found as git finds them."""
    words = ("diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index")
    raw = git.git(*words, "-z", "--raw", base, head).decode("utf-8", "replace").split("\0")
    counts = git.git(*words, "-z", "--numstat", base, head).decode("utf-8", "replace").split("\0")
    patches = _patches(git.git(*words, "-p", base, head).decode("utf-8", "replace"))
    return list(_joined(iter(raw), iter(counts), iter(patches)))


def _joined(raw: Iterator[str], counts: Iterator[str], patches: Iterator[str]) -> Iterator[Change]:
    for record in raw:
        if not record:
            return
        _, _, old, new, letter = record.split(" ")
        moved = letter[0] in "RC"
        before = next(raw) if moved else None
        path = next(raw)
        added, removed, _ = next(counts).split("\t")
        if moved:
            next(counts)
            next(counts)
        sha = old if letter == "D" else new
        added, removed = (number.replace("-", "0") for number in (added, removed))
        yield Change(path, STATUS[letter[0]], sha, int(added), int(removed), next(patches), before)


def _patches(text: str) -> list[str]:
    """Cut a patch into its files' hunks; no line of a file's content begins with a word."""
    parts = re.split(r"(?m)^diff --git .*\n", text)[1:]
    return [part[part.index("\n@@ ") + 1 :].rstrip("\n") if "\n@@ " in part else "" for part in parts]


def position_of_line(patch: str, line: int, *, left: bool) -> int | None:
    """Return the place in the patch (from 1, the line below the first `@@`) of a line of the file, or None.

    A file's line is looked for as it is after the change, or with `left` as it was before it.
    """
    current, skipped = 0, "+" if left else "-"
    for position, text in enumerate(patch.split("\n")):
        if start := _HUNK.match(text):
            current = int(start.group(1 if left else 2))
        elif not text.startswith((skipped, "\\")):
            if current == line:
                return position
            current += 1
    return None


def line_at(patch: str, position: int) -> int | None:
    """Return the line of the file after the change that a place in the patch shows, or None where it shows none."""
    lines = patch.split("\n")
    current = 0
    for at, text in enumerate(lines[: position + 1]):
        if start := _HUNK.match(text):
            current = int(start.group(2)) - 1
        elif not text.startswith(("-", "\\")):
            current += 1
        if at == position:
            return current if not text.startswith(("@@", "\\")) else None
    return None


def hunk_until(patch: str, position: int) -> str:
    """Return the hunk that a place is in, from its head down to the place."""
    lines = patch.split("\n")[: position + 1]
    start = max((at for at, text in enumerate(lines) if _HUNK.match(text)), default=0)
    return "\n".join(lines[start:])
