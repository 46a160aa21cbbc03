"""Measures the tracing of leaked texts: how often the right run is named, two are told apart, or a name is false.

Texts are those of `tests/rotation/leaking.py`: tasks of all shipped grammars, each served to every submitter in four
months, so that a text has four times as many recipients as there are submitters. A leak is a goal, a goal with its
world, or three goals. *Named* is the right recipient of one, or both of two; *false* is anybody else. A foreign text
holds choices that nobody on record was shown together. Shares stand with their 95 % interval (E. B. Wilson 1927).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from report import Found, Table

from rotation.detection.tracing import Recipient, Trace, trace
from sandbox.results.interval import wilson

_SPEC = importlib.util.spec_from_file_location(
    "leaking", Path(__file__).parents[1] / "tests" / "rotation" / "leaking.py"
)
assert _SPEC
assert _SPEC.loader
leaking = sys.modules[_SPEC.name] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(leaking)

CASES = 100
TASKS = 40
SUBMITTERS = (20, 50)
LEAKS = {"a goal": (1, False), "a goal and its world": (1, True), "three goals": (3, False)}
BY = {1: tuple(leaking.SPOILT), 2: ("as it was", "reworded, a third missing"), 0: ("as it was",)}
NAMES = {1: "one", 2: "two, mixed", 0: "a stranger"}
COLUMNS = ("submitters", "leaked", "by", "text", "named", "named, 95 %", "said two", "unclear or nothing", "false")


def bench(rounds: int = 0) -> Found:
    """Trace that many leaks of each kind."""
    rows = [row for submitters in SUBMITTERS for row in _rows(submitters, rounds or CASES)]
    false = sum(row["wrong"] for row in rows)
    count = len(rows) * (rounds or CASES)
    low, high = wilson(false / count, count)
    about = f"{rounds or CASES} leaks of each kind, held against {TASKS} tasks."
    remark = f"Somebody else was named in {false} of {count} cases, {low:.2%} to {high:.2%}."
    return Found(about, (), remarks=(remark,), tables=(Table("Who is named.", COLUMNS, rows),))


def _rows(submitters: int, cases: int) -> Iterator[dict[str, Any]]:
    among = leaking.drawn(Random(f"tasks/{submitters}"), TASKS, submitters)
    served = [shown.served for shown in among]
    for leaked, (tasks, world) in LEAKS.items():
        for by, spoils in BY.items():
            for spoil in spoils:
                dice = Random(f"{submitters}/{leaked}/{by}/{spoil}")
                found = []
                for _ in range(cases):
                    guilty = leaking.guilty(among, by, dice)
                    text = leaking.leak(among, guilty, dice, spoil, tasks=tasks, world=world)
                    found.append((trace(text, served), guilty))
                yield {"submitters": submitters, "leaked": leaked, "by": NAMES[by], "text": spoil, **_counted(found)}


def _counted(found: Sequence[tuple[Trace, Sequence[Recipient]]]) -> dict[str, Any]:
    named = [({who for who, _ in said.named}, set(guilty)) for said, guilty in found]
    right = sum(bool(guilty) and names == guilty for names, guilty in named) / len(found)
    low, high = wilson(right, len(found))
    wrong = sum(bool(names - guilty) for names, guilty in named)
    return {
        "named": f"{right:.0%}",
        "named, 95 %": f"{low:.0%} to {high:.0%}",
        "said two": f"{sum(said.verdict == 'two' for said, _ in found) / len(found):.0%}",
        "unclear or nothing": f"{sum(said.verdict in {'unclear', 'nothing'} for said, _ in found) / len(found):.0%}",
        "false": f"{wrong / len(found):.0%}",
        "wrong": wrong,
    }
