"""Lines of Python by package, beside those of the last version, for `./run check`; it informs and fails nothing.

A tag's counts: `python -m tests.notes.line_counts VERSION > tests/notes/line_counts.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .git import git, merge_base
from .structure import ROOMS

ROOT = Path(__file__).resolve().parents[2]
LAST = Path(__file__).with_suffix(".json")
"""Counts of the last version, in the form of `counts`."""
MAX_UNEXPLAINED_LINES = 500

Counts = Mapping[str, Mapping[str, int]]


def counts(root: Path) -> Counts:
    """Return the lines of Python of each room, of each extra, and of the tests."""
    extras = sorted(root.glob("extras/*/quarterturn_*"))
    return {
        "core": {room: _lines(root / room) for room in ROOMS},
        "extras": {place.parent.name: _lines(place) for place in extras},
        "tests": {"tests": _lines(root / "tests"), "extras": sum(_lines(place.parent / "tests") for place in extras)},
    }


def report(root: Path, last_counts: Path = LAST) -> Iterator[str]:
    """Yield a line for the core, one for the extras and one for the tests."""
    last = json.loads(last_counts.read_text(encoding="utf-8"))
    yield f"lines of Python, and how many more than in {last['version']}:"
    for title, now in counts(root).items():
        before = last["counts"].get(title, {})
        parts = (f"{name} {_beside(lines, before.get(name, 0))}" for name, lines in now.items())
        yield f"{title} {_beside(sum(now.values()), sum(before.values()))}: {', '.join(parts)}"


def growth(root: Path) -> Iterator[str]:
    """Yield a line where the change adds more lines than a reader takes without asking what they replace."""
    rows = git(root, "diff", "-M", "--numstat", merge_base(root), "--", "*.py").splitlines()
    added, removed = (sum(int(row.split("\t")[column]) for row in rows) for column in (0, 1))
    if added > MAX_UNEXPLAINED_LINES:
        yield f"this change adds {added:,} lines of Python and removes {removed:,}: say in its message what it removed"


def _beside(lines: int, before: int) -> str:
    return f"{lines:,} ({lines - before:+,})"


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"version": sys.argv[1], "counts": counts(ROOT)}, indent=1) + "\n")
