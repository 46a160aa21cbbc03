"""Freeze the behaviour that `tests/contracts/frozen/` holds: `.venv/bin/python -m tests.contracts.freeze`.

With `--to FOLDER` the files are written there instead, which is how the test makes them again, and with `--quick` those
alone that need no month. Whatever the machine, its time, its zone, its locale and its randomness, the same code writes
the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .freezing.fixed import Held, hold

FROZEN = Path(__file__).parent / "frozen"
COMMAND = ".venv/bin/python -m tests.contracts.freeze"
KEPT = {"README.md"}
"""Written by hand."""

MEMORY = Path("/dev/shm")


def quick_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files that need no month, by their paths in the folder."""
    from .freezing import commands, exports, verdicts

    for path, data in verdicts.files(FROZEN / "verdicts"):
        yield f"verdicts/{path}", data
    for path, data in exports.files():
        yield f"exports/{path}", data
    for path, data in commands.helps():
        yield f"cli/{path}", data


def made(held: Held) -> Iterator[tuple[str, bytes]]:
    """Yield every file by its path in the folder; the corpus and the cases are read from it, not made."""
    from .freezing import commands, flags, month

    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        beside = Path(name).resolve()
        played = month.play(beside / "home", held.clock)
        for path, data in month.files(played):
            yield f"month/{path}", data
        yield from quick_files()
        for path, data in flags.cases(FROZEN / "flags"):
            yield f"flags/{path}", data
            (beside / "cases").mkdir(exist_ok=True)
            flags.expand(data, beside / path.replace(".json", ".jsonl"))
        for path, data in commands.Answers(played, held, beside).files():
            yield f"cli/{path}", data
        yield "flags/flags.jsonl", flags.flags(beside / "flags.jsonl")


def write(folder: Path, files: Iterator[tuple[str, bytes]]) -> None:
    """Write files into a folder, and remove what is no longer made."""
    there = {path for path in folder.rglob("*") if path.is_file() and path.name not in KEPT}
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        there.discard(path)
    for path in there:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--to", type=Path, default=FROZEN, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick and arguments.to == FROZEN:
        parser.error("--quick leaves files out: name another folder with --to")
    held = hold("2026-11-30T00:00:00+00:00")
    write(arguments.to, quick_files() if arguments.quick else made(held))
