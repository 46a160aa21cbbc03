"""Measures a whole verdict through a reader and a judge process, beside the same work in one process.

The floor is the same code in this process: the same parser, readers and predicates, with no process between. What the
processes cost is the difference, which the title gives in milliseconds of this machine.
"""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from typing import Any

from measure import compare
from predicates import FILES, TEXT
from report import Failed, Found, Line

from sandbox.judge import JUDGING, Question
from sandbox.servers.registry import SERVERS
from sandbox.world.frozen import FrozenState
from verifiers.formats.archive import tree_from_tar
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.tree import JudgeInput

ROUNDS = 15
PEOPLE = {
    "columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]],
    "rows": [[number, f"Person {number}"] for number in range(FILES)],
}
COMMITS = [{"branch": "main", "message": f"Note {n}", "files": {f"{n}.txt": TEXT}} for n in range(FILES)]
CASES: dict[str, tuple[Any, Any]] = {
    "filesystem": (
        {"files": {f"notes/{number}.txt": TEXT for number in range(FILES)}},
        {"filesystem.fileTextEquals": {"path": "notes/42.txt", "text": TEXT}},
    ),
    "git": (
        {"repositories": {"site": {"commits": COMMITS, "checkout": "main"}}},
        {"git.branchExists": {"repository": "site", "branch": "main"}},
    ),
    "sqlite": (
        {"tables": {"people": PEOPLE}},
        {"sqlite.rowExists": {"table": "people", "where": {"id": 42, "name": "Person 42"}}},
    ),
}


def bench(rounds: int = 0) -> Found:
    """Judge one state of each of three servers."""
    rounds, lines, added = rounds or ROUNDS, [], []
    for name, (state, predicate) in CASES.items():
        ours, floor = _sides(name, state, predicate)
        lines.append(Line(name, "the same in one process", compare(ours, floor, rounds), "verdicts"))
        added.append(f"{name} {_milliseconds(ours, rounds) - _milliseconds(floor, rounds):.1f} ms")
    return Found(f"A verdict through a reader and a judge; what they add in the median: {', '.join(added)}.", lines)


def _sides(name: str, state: Any, predicate: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    left, parsed = FrozenState(SERVERS[name].seed(state).under(name).to_tar()), parse(predicate)
    question = Question(predicate, parsed, {name: name})

    def ours() -> Verdict:
        return JUDGING.verdict(question, left, None, lambda: left).verdict

    def floor() -> Verdict:
        tree = tree_from_tar(io.BytesIO(left.tar)).below(name)
        return judge(parsed, JudgeInput({name: tree})).verdict

    if ours() is not Verdict.TRUE or floor() is not Verdict.TRUE:
        raise Failed(f"the verdict on {name} and its floor do not agree that the predicate holds")
    return ours, floor


def _milliseconds(function: Callable[[], Any], rounds: int) -> float:
    seconds = []
    for _ in range(2 * rounds + 1):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) * 1000
