"""Freeze the behaviour that `tests/contracts/frozen/` holds: `.venv/bin/python -m freezing.behaviour`.

With `--to FOLDER` the files are written there instead, which is how the tests make them again, and with `--part` those
alone that need a month, or none. Whatever the machine, its time, its zone, its locale and its randomness, the same code
writes the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from freezing.fixed import Held, hold

FROZEN = Path(__file__).parents[1] / "tests" / "contracts" / "frozen"
COMMAND = ".venv/bin/python -m freezing.behaviour"
QUICK = ("verdicts/", "exports/", "cli/help/")
KEPT = {"README.md"}
"""Written by hand."""

MEMORY = Path("/dev/shm")


def quick_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files that need no month, by their paths in the folder."""
    from freezing import commands, exports, verdicts

    for path, data in verdicts.files(FROZEN / "verdicts"):
        yield f"verdicts/{path}", data
    for path, data in exports.files():
        yield f"exports/{path}", data
    for path, data in commands.helps():
        yield f"cli/{path}", data


def slow_files(held: Held) -> Iterator[tuple[str, bytes]]:
    """Yield the files that need a month, by their paths in the folder; the cases are read from it, not made."""
    from freezing import commands, flags, month

    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        beside = Path(name).resolve()
        played = month.play(beside / "home", held.clock)
        for path, data in month.files(played):
            yield f"month/{path}", data
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
    parser.add_argument("--part", choices=("quick", "slow"))
    arguments = parser.parse_args()
    if arguments.part and arguments.to == FROZEN:
        parser.error("--part leaves files out: name another folder with --to")
    held = hold("2026-11-30T00:00:00+00:00")
    parts = {"quick": quick_files, "slow": lambda: slow_files(held)}
    write(arguments.to, chain.from_iterable(parts[part]() for part in (arguments.part or "quick slow").split()))
