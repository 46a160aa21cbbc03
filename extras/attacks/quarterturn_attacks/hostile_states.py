"""Hostile final states, given to a reader as a world would leave them: none may stop the verdict or change it.

Each is made to be read for ever, to be misread, or to crash the reader or judge. No box is needed: the controls are
the reader, the judge, and their budgets. The positive control of each is a naive reader of the same state.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.attacks.harness.attempt import Attempt, Spec, catalogue
from sandbox.boxes.box import Box
from sandbox.errors import Unjudged
from sandbox.judge import JUDGING, Question
from sandbox.servers.registry import SERVERS
from sandbox.world.frozen import FrozenState
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.git.examples import repository
from verifiers.states.graph.entities import FILE
from verifiers.states.workbook.examples import workbook
from verifiers.tree import FileTree, Node

COUNTED = "steps are counted, and a state that needs too many counts against whoever left it"
BOUNDED = "numbers and texts have bounds in the normal form, and a formula that leaves them has no value"
STEPS = 100_000
LINE_BREAK = "\u2028"


@dataclass(frozen=True, slots=True)
class _Left:
    """One state.

    Attributes:
        spec: its name and what stops it.
        tree: makes the files of its namespace.
        predicate: what is asked; it does not hold.
        naive: says whether a naive reader is stopped or deceived by the same thing.
    """

    spec: Spec
    tree: Callable[[], FileTree]
    predicate: Mapping[str, Any]
    naive: Callable[[], bool]


def _sheet(*rows: list[Any]) -> Callable[[], FileTree]:
    return lambda: workbook("book.xlsx", {"Sheet1": list(rows)}).states["spreadsheet"]


def _cell(value: object) -> dict[str, Any]:
    return {"spreadsheet.cellEquals": {"path": "book.xlsx", "sheet": "Sheet1", "cell": "A2", "value": value}}


PATTERN, TEXT = "*a" * 40 + "*b", "a" * 4000


def _backtracks() -> bool:
    """Match a wildcard by trying everything, and say whether that takes more steps than anybody has."""
    steps, waiting = 0, [(0, 0)]
    while waiting and steps <= STEPS:
        steps += 1
        at, position = waiting.pop()
        if at < len(PATTERN) and PATTERN[at] == "*":
            waiting += [(at + 1, place) for place in range(position, min(position + 64, len(TEXT)))]
        elif at < len(PATTERN) and position < len(TEXT) and PATTERN[at] == TEXT[position]:
            waiting.append((at + 1, position + 1))
    return steps > STEPS


def _doubles() -> bool:
    """Put a text together with itself again and again, and say whether it outgrows what a cell may hold."""
    length = 1000
    for _ in range(40):
        length *= 2
    return length > 1 << 30


def _many_lines() -> bool:
    """Read names line by line, as whoever splits at everything that Unicode calls a line break."""
    listed = f"refs/heads/side{LINE_BREAK}refs/heads/release"
    return "refs/heads/release" in listed.splitlines()


def _breaks(do: Callable[[], object]) -> bool:
    try:
        do()
    except (ValueError, OverflowError):
        return True
    return False


def _branch() -> FileTree:
    made = dict(repository([("main", "Begin", {"a.txt": "one\n"})]).states["git"])
    tip = made["site/.git/refs/heads/main"]
    made[f"site/.git/refs/heads/side{LINE_BREAK}release"] = tip
    made["site/.git/packed-refs"] = Node("file", tip.data.strip() + f" refs/heads/x{LINE_BREAK}".encode() + b"\n")
    return FileTree(made)


def _graph() -> FileTree:
    entity = f'{{"type": "entity", "name": "a", "entityType": "b", "observations": [], "extra": {"7" * 4301}}}\n'
    return FileTree({FILE: Node("file", entity.encode())})


_TABLE = (
    _Left(
        Spec("left-wildcards", "score", COUNTED),
        _sheet([TEXT], [f'=COUNTIF(A1:A1,"{PATTERN}")']),
        _cell(1),
        _backtracks,
    ),
    _Left(
        Spec("left-joined-texts", "score", COUNTED),
        _sheet(["x" * 1000], *([f"=A{row}&A{row}"] for row in range(1, 41))),
        _cell("x"),
        _doubles,
    ),
    _Left(
        Spec("left-huge-sum", "score", BOUNDED),
        _sheet([1.7e308], ["=A1+A1"], [1.7e308]),
        _cell(1),
        lambda: _breaks(lambda: json.dumps(1.7e308 * 10, allow_nan=False)),
    ),
    _Left(
        Spec("left-huge-column", "score", BOUNDED),
        _sheet(["n"], [1.7e308], [1.7e308]),
        {"spreadsheet.columnSum": {"path": "book.xlsx", "sheet": "Sheet1", "column": "n", "sum": 1}},
        lambda: _breaks(lambda: math.fsum((1.7e308, 1.7e308))),
    ),
    _Left(
        Spec("left-line-break-in-a-branch", "score", "names are taken whole, never from the lines of a text"),
        _branch,
        {"git.branchExists": {"repository": "site", "branch": "release"}},
        _many_lines,
    ),
    _Left(
        Spec("left-long-number", "score", "a number is read with a cap on its digits, and only where one is asked for"),
        _graph,
        {"memory.entityExists": {"name": "Grace"}},
        lambda: _breaks(lambda: json.loads("7" * 4301)),
    ),
)

_BY_NAME = {state.spec.name: state for state in _TABLE}
ATTEMPTS: Mapping[str, Spec] = catalogue(*(state.spec for state in _TABLE))


def run(box: Box, names: Collection[str]) -> Iterator[Attempt]:  # noqa: ARG001 - no box is between
    """Judge each state that is named; see `sandbox.attacks.harness.attempt.SuitePart`."""
    return (_attempt(_BY_NAME[name]) for name in names)


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:  # noqa: ARG001 - the baseline needs no box
    """Say of each named state whether a naive reader is stopped or deceived by it."""
    return {name: _BY_NAME[name].naive() for name in names}


def _attempt(left: _Left) -> Attempt:
    """Judge a state, and an untouched one after it; ours is the failure if either is not known."""
    namespace = next(iter(left.predicate)).partition(".")[0]
    state = FrozenState(left.tree().under(namespace).to_tar())
    empty = FrozenState(SERVERS[namespace].seed({}).under(namespace).to_tar())
    question = Question(left.predicate, parse(left.predicate), {namespace: namespace})
    try:
        verdict = JUDGING.verdict(question, state, None, lambda: empty).verdict
        after = JUDGING.verdict(question, empty, None, lambda: empty).verdict
    except Unjudged as error:
        verdict = after = Verdict.UNKNOWN
        detail = str(error)
    else:
        detail = f"the verdict is {verdict.value}, and {after.value} on a state that nobody touched"
    held = verdict is after is Verdict.FALSE
    return Attempt(left.spec.name, left.spec.group, left.spec.control, "blocked" if held else "escaped", detail)
