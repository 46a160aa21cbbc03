"""Measures a whole verdict through a reader and a judge process, beside the same work in one process.

The floor is the same code in this process: the same parser, readers and predicates, with no process between. What the
processes cost is the difference, which the title gives in milliseconds of this machine.

A verdict with a frame reads two states, so it is compared with one without. Two at a time share the fork servers: their
ratio to one is 1 on idle cores, and 2 where both wait for one lock or one core.

The last row is the verdict whose texts cost the most: the input in `tests/verifiers/costly.py` with the most processor
time a step, at the caps and as often as the budget of judging allows, beside hashing.
"""

from __future__ import annotations

import hashlib
import io
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import compare, interleave, timed
from predicates import FILES, TEXT
from report import Failed, Found, Line

from sandbox.judge import JUDGING, Question
from sandbox.servers.registry import SERVERS
from sandbox.world.frozen import FrozenState
from verifiers.budget import MAX_JUDGED
from verifiers.errors import VerifierError
from verifiers.formats.archive import tree_from_tar
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.predicates.context import Context
from verifiers.tree import JudgeInput

sys.path.insert(0, str(Path(__file__).parents[1]))
import contextlib

from tests.verifiers.costly import CASES as COSTLY

ROUNDS = 15
FILE_BYTES, TEXT_BYTES, HASHED_BYTES = 3 << 20, 1_500_000, 256 << 20
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
        framed = {"all": [predicate, {f"{name}.unchanged": {}}]}
        lines.append(
            Line(f"{name} with a frame", "without", compare(_sides(name, state, framed)[0], ours, rounds), "verdicts")
        )
        lines.append(
            Line(f"{name}, two at a time", "one", interleave(_at_a_time(2, ours), timed(ours), rounds), "pairs")
        )
        added.append(f"{name} {_milliseconds(ours, rounds) - _milliseconds(floor, rounds):.1f} ms")
    lines.append(_costliest(rounds))
    return Found(f"A verdict through a reader and a judge; what they add in the median: {', '.join(added)}.", lines)


def _sides(name: str, state: Any, predicate: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    left, parsed = FrozenState(SERVERS[name].seed(state).under(name).to_tar()), parse(predicate)
    question = Question(predicate, parsed, {name: name})

    def ours() -> Verdict:
        return JUDGING.verdict(question, left, None, lambda: left).verdict

    def floor() -> Verdict:
        tree = tree_from_tar(io.BytesIO(left.tar)).below(name)
        return judge(parsed, JudgeInput({name: tree}, baseline={name: tree})).verdict

    if ours() is not Verdict.TRUE or floor() is not Verdict.TRUE:
        raise Failed(f"the verdict on {name} and its floor do not agree that the predicate holds")
    return ours, floor


def _at_a_time(count: int, ours: Callable[[], Any]) -> Callable[[], float]:
    def together() -> None:
        threads = [threading.Thread(target=ours) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return timed(together)


def _costliest(rounds: int) -> Line:
    """Compare the verdict that takes the most processor time with hashing."""
    probes = {label: _spending(label) for label in COSTLY}
    label = max(probes, key=lambda label: min(probes[label](), probes[label]()))
    data = bytes(HASHED_BYTES)
    hashing = timed(lambda: hashlib.sha256(data), clock=time.process_time)
    what = f"a budget spent on {label} ({COSTLY[label].name})"
    return Line(what, "SHA-256 of 256 MiB", interleave(probes[label], hashing, rounds), "verdicts")


def _spending(label: str) -> Callable[[], float]:
    """Return a side that judges one probe, and gives the seconds of as many as the budget allows."""
    case = COSTLY[label]
    data = case.text(FILE_BYTES if case.name.startswith("filesystem.") or "AtBranch" in case.name else TEXT_BYTES)
    states, answer = case.states(data), data.decode("utf-8", "replace")

    def side() -> float:
        context = Context(states, answer)
        started = time.process_time()
        with contextlib.suppress(VerifierError):
            CATALOGUE[case.name].probe(context, **case.arguments)
        return (time.process_time() - started) * max(1, MAX_JUDGED / context.budget.steps)

    return side


def _milliseconds(function: Callable[[], Any], rounds: int) -> float:
    seconds = []
    for _ in range(2 * rounds + 1):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) * 1000
