"""Freezes the detectors' flags, over case files that are kept.

The cases are an input, as the corpus of states is: made once from simulated worlds in which something is wrong, and
then only read, since another numpy would draw another world. A line is a submission; what the detectors do not read
(errors and durations) is left out. A case file that is removed is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from freezing.numbers import rounded

OF_TASK = ("server", "family", "first_active_rotation", "max_steps")
OF_RUN = ("rotation", "submission", "submitter")


def cases(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the case files, as they lie in `folder` or made anew."""
    for name in ("copied", "known"):
        path = folder / "cases" / f"{name}.json"
        yield f"cases/{name}.json", path.read_bytes() if path.is_file() else _packed(list(_made(name)))


def expand(kept: bytes, path: Path) -> None:
    """Write a kept case as the detectors read it: one line for each task run."""
    case = json.loads(kept)
    with path.open("w") as file:
        for run in case["runs"]:
            named = dict(zip(OF_RUN, run["of"], strict=True))
            for task, (passed, calls) in run["results"].items():
                facts = dict(zip(OF_TASK, case["tasks"][task], strict=True))
                seen = {"passed": bool(passed), "tool_calls": calls, "errors": 0, "duration_s": 1}
                file.write(json.dumps({"task_id": task, **named, **facts, **seen}) + "\n")


def flags(path: Path) -> bytes:
    """Return what was written of each test."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return b"".join(json.dumps(rounded(line)).encode() + b"\n" for line in lines)


def _made(name: str) -> Iterator[dict[str, Any]]:
    from tests.rotation.detection.worlds import World, Wrong, lines, play

    world = World(submitters=12, rotations=3, cohort=20, families=16)
    wrong, seed = Wrong(known=0.9, shortcut=0.5, copied=0.8, broken=50), 3
    if name == "known":
        world = World(submitters=16, rotations=3, cohort=20, families=10)
        wrong, seed = Wrong(family=2, knowing=0.6, broken=45), 5
    return (json.loads(line) for line in lines(play(world, seed, wrong)))


def _packed(rows: list[dict[str, Any]]) -> bytes:
    tasks = {row["task_id"]: [row[name] for name in OF_TASK] for row in rows}
    runs: dict[str, dict[str, Any]] = {}
    for row in rows:
        run = runs.setdefault(row["submission"] + str(row["rotation"]), {"of": [row[n] for n in OF_RUN], "results": {}})
        run["results"][row["task_id"]] = [int(row["passed"]), row["tool_calls"]]
    lines = ",\n".join(json.dumps(run) for run in runs.values())
    return f'{{"tasks": {json.dumps(tasks)},\n"runs": [\n{lines}\n]}}\n'.encode()
