"""Task documents that the benchmarks work on: tasks of a known size, and the task that is played in the boxes."""

from __future__ import annotations

from typing import Any

from sandbox.servers.registry import SERVERS
from vault.canonical import canonical
from vault.task.document import SPEC_VERSION, Task

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
NOTES = 3  # written one by one; all but the last are read again
CALLS = 2 * NOTES - 1
TEXT = "The quick brown fox jumps over the lazy dog.\n"


def a_document(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Make a task of the filesystem server; each number gives another id."""
    tools = [f"filesystem.{name}" for name in sorted(SERVERS["filesystem"].tools, reverse=True)]
    document = {
        "schema": "quarterturn/task/v1",
        "spec": SPEC_VERSION,
        "id": _id(number),
        "server": "filesystem",
        "category": "composition",
        "difficulty": "easy",
        "max_steps": CALLS,
        "goal": "Write the three notes into the folder /data/files/notes, and read the first two again.",
        "initial_state": {"filesystem": {"files": {"seed.txt": TEXT}, "directories": ["notes"]}},
        "available_tools": tools[:12],
        "success_predicate": {
            "all": [
                {"filesystem.fileTextEquals": {"path": f"notes/{number}.txt", "text": f"Note {number}.\n"}}
                for number in range(NOTES)
            ]
        },
    }
    return document | changes


def a_document_of(size: int, number: int = 0) -> dict[str, Any]:
    """Make a task whose canonical form has exactly `size` bytes; the filling is text in its initial state."""
    files = {"seed.txt": ""}
    document = a_document(number, initial_state={"filesystem": {"files": files, "directories": ["notes"]}})
    room = size - len(canonical(document))
    files["seed.txt"] = (" ".join(["ledger"] * (room // 7 + 1)))[:room]
    return document


def a_task(number: int = 0) -> Task:
    """Make the task that is played in the boxes; `agent/player.py` makes the calls that solve it."""
    return Task.parse(a_document(number))


def _id(number: int) -> str:
    digits = ""
    for _ in range(16):
        number, digit = divmod(number, 32)
        digits = ALPHABET[digit] + digits
    return f"t-{digits}"
