"""Measure the ladder on a public dev set: `.venv/bin/python examples/agents/ladder/measure.py [--dev-of demo]`.

Prints a table with a row for each rung: how many tasks it passes of all, and of each server, difficulty and category.
Nothing is left to chance, so a second measurement gives the same table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

LADDER = Path(__file__).with_name("ladder.py")
COLUMNS = ("server", "difficulty", "category")
ORDER = ("easy", "medium", "hard")
RUNGS = range(6)


def play(rung: int, dev_of: str, box: str) -> list[dict[str, Any]]:
    """Play a rung on the dev set; give its tasks with their runs."""
    command = [str(Path(sys.executable).with_name("quarterturn")), "run", "--as", "ladder", "--dev-of", dev_of]
    agent = ["--box", box, "--agent", f"python3 {LADDER} {rung}", "--json"]
    done = subprocess.run([*command, *agent], stdout=subprocess.PIPE, check=True)
    return list(json.loads(done.stdout)["data"]["tasks"])


def counts(played: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """Count the tasks of each kind, and those that were passed; `all` is the kind of every task."""
    there, passed = Counter[str](), Counter[str]()
    for kind_of in (lambda _: "all", *(itemgetter(column) for column in COLUMNS)):
        for entry in sorted(played, key=lambda entry: ORDER.index(entry["task"]["difficulty"])):
            kind = kind_of(entry["task"])
            there[kind] += 1
            passed[kind] += entry["run"]["passed"]
    return there, passed


def table(rungs: dict[int, tuple[Counter[str], Counter[str]]]) -> list[str]:
    """Return the lines of the table, in Markdown."""
    there, _ = next(iter(rungs.values()))
    lines = ["| rung | " + " | ".join(f"{kind} ({count})" for kind, count in there.items()) + " |"]
    lines.append("|---" * (len(there) + 1) + "|")
    for rung, (_, passed) in rungs.items():
        lines.append(f"| {rung} | " + " | ".join(str(passed[kind]) for kind in there) + " |")
    return lines


def main() -> None:
    """Play every rung and print the table."""
    parser = argparse.ArgumentParser(prog="measure.py", description="Measure the ladder on a public dev set.")
    parser.add_argument("--dev-of", default="mcpbench", choices=("demo", "mcpbench"), help="which dev set")
    parser.add_argument("--box", default="bwrap", choices=("bwrap", "docker"), help="where to run it")
    given = parser.parse_args()
    rungs = {rung: counts(play(rung, given.dev_of, given.box)) for rung in RUNGS}
    print("\n".join(table(rungs)))


if __name__ == "__main__":
    main()
