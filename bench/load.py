"""Measures many concurrent tasks in the Docker box, beside as many bare pairs: throughput, latency and memory.

A *bare pair* is what `in_docker` has: the same two images under plain `docker run`, joined by stdio, making the same
five calls; no box, no log, no verdict. A round at N at a time is four things after each other, and each ratio is of
one round:

    a set      2 N tasks through `run_set` with N workers, as an operator would run them
    bare       2 N bare pairs, N at a time: the floor of the three others
    one task   2 N tasks, N at a time, each through `run_task`: nothing is prepared, and everything is removed within
    prepared   N tasks at a time whose worlds, gateways and places are ready: from the agent's start to the last removal

Memory is what all processes of one prepared run hold (world, relay, gateway, the engine's shims; each shared page by
its share), before its agent starts. What the agent itself takes is the agent's.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from documents import a_task
from in_docker import box, pair
from playing import AGENTS, Notes, bare_side, passed
from report import Found, Phases, Table

from sandbox.boxes.docker.box import DockerBox
from sandbox.gateway import FORK_SERVER
from sandbox.runs import submission
from sandbox.runs.attempt import attempt, prepare
from sandbox.runs.job import Job, PlannedTask, RunSetup, new_alias
from sandbox.runs.run import run_set, run_task
from sandbox.servings.local_player import LocalServing
from sandbox.servings.player import PreparedServing
from sandbox.servings.run_environment import RunEnvironment

ROUNDS = 5
AT_A_TIME = (1, 2, 4, 8)
PROGRAM = "lean.py"
COLUMNS = ("at a time", "throughput", "one task", "prepared", "MiB a run", "tasks a minute", "bare pairs a minute")
GOALS = "Beside the bare pair's: throughput at least 0.75, one task at most 1.3, a prepared one at most 1.0."


@dataclass
class Round:
    """Measurements of one round, in seconds."""

    a_set: float
    bare: float
    bare_one: list[float]
    one: list[float]
    prepared: list[float]
    mebibytes: float


@dataclass
class Load:
    """The rounds at one number at a time."""

    at_a_time: int
    rounds: list[Round] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the medians of the rounds' ratios, with the smallest and the largest."""
        units, each = 2 * self.at_a_time, self.rounds
        return {
            "at a time": self.at_a_time,
            "throughput": _span([one.bare / one.a_set for one in each]),
            "one task": _span([_median(one.one) / _median(one.bare_one) for one in each]),
            "prepared": _span([_median(one.prepared) / _median(one.bare_one) for one in each]),
            "MiB a run": round(_median([one.mebibytes for one in each])),
            "tasks a minute": round(60 * units / _median([one.a_set for one in each])),
            "bare pairs a minute": round(60 * units / _median([one.bare for one in each])),
        }


def bench(rounds: int = 0) -> Found:
    """Play rounds at one, two, four and eight at a time, after one of each that does not count."""
    playing = Playing(box())
    loads = [Load(number) for number in AT_A_TIME]
    for number in range((rounds or ROUNDS) + 1):
        for load in loads:
            playing.phases[load.at_a_time].clear() if number == 1 else None
            played = playing.round(load.at_a_time)
            load.rounds += [played] if number else []
    table = Table(f"N tasks at a time, and N bare pairs. {GOALS}", COLUMNS, [load.row() for load in loads])
    phases = [Phases(f"a set at {number} at a time", seen) for number, seen in playing.phases.items()]
    about = "Tasks of five calls in the Docker box at one, two, four and eight at a time, beside bare pairs."
    return Found(about, [], phases, tables=[table])


class Playing:
    """Plays rounds; `phases` are those of the sets."""

    def __init__(self, where: DockerBox) -> None:
        self._box = where
        self._player = submission.command(f"python3 {AGENTS / PROGRAM}", submitter="bench", name="player")
        self.phases: dict[int, list[dict[str, float]]] = {number: [] for number in AT_A_TIME}

    def round(self, at_a_time: int) -> Round:
        """Play one round."""
        a_set = self._set(at_a_time)
        bare = bare_side(pair, PROGRAM, Notes())
        bare_all, bare_one = _together(at_a_time, [bare] * (2 * at_a_time))
        _, one = _together(at_a_time, [self._one] * (2 * at_a_time))
        prepared, mebibytes = self._prepared(at_a_time)
        return Round(a_set, bare_all, bare_one, one, prepared, mebibytes)

    def _set(self, at_a_time: int) -> float:
        start = time.perf_counter()
        tasks = [PlannedTask(a_task(number)) for number in range(2 * at_a_time)]
        runs = run_set(tasks, self._player, RunSetup.in_box(self._box, workers=at_a_time))
        seconds = time.perf_counter() - start
        notes = Notes()
        for run in runs:
            passed(run, PROGRAM, self._box)
            notes.take(run.output, run.phases)
        self.phases[at_a_time] += notes.phases
        return seconds

    def _one(self) -> float:
        start = time.perf_counter()
        passed(run_task(a_task(), self._player, self._box, alias=new_alias()), PROGRAM, self._box)
        return time.perf_counter() - start

    def _prepared(self, at_a_time: int) -> tuple[list[float], float]:
        setup = RunSetup.in_box(self._box, workers=at_a_time)
        jobs = [Job(PlannedTask(a_task(n)), self._player, setup, new_alias()) for n in range(at_a_time)]
        with ThreadPoolExecutor(at_a_time) as pool:
            servings = list(pool.map(prepare, jobs))
        time.sleep(1)  # so that what comes up behind them is up
        mebibytes = _held([serving.environment for serving in servings if isinstance(serving, LocalServing)])
        pairs = zip(jobs, servings, strict=True)
        plays = [lambda job=job, serving=serving: self._play(job, serving) for job, serving in pairs]
        return _together(at_a_time, plays)[1], mebibytes

    def _play(self, job: Job, serving: PreparedServing) -> float:
        start = time.perf_counter()
        passed(attempt(job, serving), PROGRAM, self._box)
        return time.perf_counter() - start


def _together(at_a_time: int, sides: Sequence[Callable[[], float]]) -> tuple[float, list[float]]:
    """Run all of them, so many concurrently; give the seconds for all, and for each."""
    start = time.perf_counter()
    with ThreadPoolExecutor(at_a_time) as pool:
        each = list(pool.map(lambda side: side(), sides))
    return time.perf_counter() - start, each


def _held(scenes: Sequence[RunEnvironment]) -> float:
    """Return how many MiB a run's processes hold: those in its containers, their shims, and its gateway."""
    parts = [f"{vars(scene.world)} {vars(scene.place)} {vars(vars(scene.place)['relay'])}" for scene in scenes]
    names = re.findall(r"\b[0-9a-f]{64}\b", " ".join(parts))  # of their containers
    fork_server = FORK_SERVER.pid
    held = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            about = (process / "cgroup").read_text() + (process / "cmdline").read_text()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == fork_server or any(name in about for name in names):
                held += int(re.findall(r"^Pss:\s+(\d+)", (process / "smaps_rollup").read_text(), re.M)[0])
        except (OSError, IndexError):
            pass  # it ended while we looked
    return held / 1024 / len(scenes)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _span(values: Sequence[float]) -> str:
    return f"{_median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
