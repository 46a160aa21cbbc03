"""Measures the evaluation of predicates, beside a direct check of the same fact on the same frozen state.

One predicate of each namespace is evaluated with its evidence, on a state of a hundred files. The floor is what one
would write by hand: it trusts the state, opens nothing with care and gives no evidence. For Git, that is one
`git rev-parse` in a checkout that lies there already; for SQLite, one query on the file's bytes in memory.
"""

from __future__ import annotations

import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import compare
from report import Failed, Found, Line

from sandbox.servers.registry import SERVERS
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.tree import FileTree, JudgeInput

ROUNDS = 15
FILES = 100
TEXT = "The quick brown fox jumps over the lazy dog.\n" * 20
ANSWER = "forty-two"


def bench(rounds: int = 0) -> Found:
    """Evaluate one predicate of each namespace."""
    rounds = rounds or ROUNDS
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        lines = [_files(rounds), _git(Path(folder), rounds), _sqlite(rounds), _answer(rounds)]
    return Found("One predicate with its evidence, beside a direct check of the same fact on the same state.", lines)


def _files(rounds: int) -> Line:
    tree = SERVERS["filesystem"].seed({"files": {f"notes/{number}.txt": TEXT for number in range(FILES)}})
    predicate = {"filesystem.fileTextEquals": {"path": "notes/42.txt", "text": TEXT}}

    def direct() -> bool:
        return tree["notes/42.txt"].data.decode() == TEXT

    return _line(predicate, JudgeInput({"filesystem": tree}), direct, "bytes of the tree compared", rounds)


def _git(folder: Path, rounds: int) -> Line:
    commits = [
        {"branch": "main", "message": f"Note {number}", "files": {f"{number}.txt": TEXT}} for number in range(FILES)
    ]
    commits.append({"branch": "spare", "from": "main", "message": "Another", "files": {"spare.txt": TEXT}})
    tree = SERVERS["git"].seed({"repositories": {"site": {"commits": commits, "checkout": "spare"}}})
    write(tree, folder)
    command = ["git", "-C", str(folder / "site"), "rev-parse", "refs/heads/spare", "HEAD"]

    def direct() -> bool:
        return len(set(subprocess.run(command, capture_output=True, check=True).stdout.split())) == 1

    predicate = {"git.branchAt": {"repository": "site", "branch": "spare", "same_as": "HEAD"}}
    return _line(predicate, JudgeInput({"git": tree}), direct, "one git rev-parse", rounds)


def _sqlite(rounds: int) -> Line:
    rows = [[number, f"Person {number}"] for number in range(FILES)]
    table = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": rows}
    tree = SERVERS["sqlite"].seed({"tables": {"people": table}})
    data = tree["main.db"].data

    def direct() -> bool:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            return connection.execute("SELECT 1 FROM people WHERE id = 42 AND name = 'Person 42'").fetchone() == (1,)

    predicate = {"sqlite.rowExists": {"table": "people", "where": {"id": 42, "name": "Person 42"}}}
    return _line(predicate, JudgeInput({"sqlite": tree}), direct, "one query on the same bytes", rounds)


def _answer(rounds: int) -> Line:
    predicate = {"answer.equals": {"text": ANSWER}}
    return _line(predicate, JudgeInput(answer=ANSWER), lambda: ANSWER.strip() == ANSWER, "two texts compared", rounds)


def _line(
    predicate: Mapping[str, Any], views: JudgeInput, direct: Callable[[], bool], beside: str, rounds: int
) -> Line:
    parsed = parse(predicate)
    if judge(parsed, views).verdict is not Verdict.TRUE or not direct():
        raise Failed(f"{next(iter(predicate))} and its floor do not agree that the fact holds")
    seen = compare(lambda: judge(parsed, views), direct, rounds)
    return Line(next(iter(predicate)), beside, seen, "evaluations")


def write(tree: FileTree, folder: Path) -> None:
    """Write a tree of files and folders out."""
    for path, node in tree.items():
        place = folder / path
        if node.kind == "directory":
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(node.data)
