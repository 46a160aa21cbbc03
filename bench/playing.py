"""Measures one task played in a box, beside the same calls made by a bare pair of server and agent.

Ours is everything that `run_task` does: world, gateway, relay, agent, log, freeze, verdict, removal. The floor starts
the same server and the same agent and waits until both are gone; there is no box, no log, no limit on what is called
and no verdict, and its data folder lies ready before the clock starts. Every run must have done its work, or nothing is
measured.

Two agents make the same calls: `agent/player.py` with the official client, which takes a while to load as most agents
do, and `agent/lean.py` of the standard library alone, which hides nothing of the box's cost.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from documents import CALLS, NOTES, a_task
from measure import Comparison, Side, interleave
from predicates import write
from report import Failed, Found, Line, Missing, Phases

from sandbox.boxes.box import Box
from sandbox.errors import Unavailable
from sandbox.results.outcome import TaskRun
from sandbox.runs import submission
from sandbox.runs.run import run_task
from sandbox.runs.task_world import seed

AGENTS = Path(__file__).parent / "agent"
PROGRAMS = {"lean.py": "a lean agent", "player.py": "the official client"}
PHASES = (
    *("seed", "world", "gateway", "place", "start", "agent", "calls"),
    *("transcript", "freeze", "verdict", "removal"),
)
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Pair:
    """How to start the two processes of a bare pair."""

    server: Sequence[str | Path]
    agent: Sequence[str | Path]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Notes:
    """Other measurements of the rounds: how long the agent's calls took, and the phases of our runs."""

    calls: list[float] = field(default_factory=list)
    phases: list[dict[str, float]] = field(default_factory=list)

    def take(self, said: str, phases: Mapping[str, float] | None = None) -> None:
        """Keep the median time of a call but the first (it waits for the list of tools too), and the phases.

        The calls are a part of the agent's phase, so their time is subtracted from it.
        """
        line = next((line for line in said.splitlines() if line.startswith("{")), None)
        if line is None:
            raise Failed(f"the agent did not say how long its calls took, but: {said!r}")
        seconds = json.loads(line)["seconds"]
        self.calls.append(statistics.median(seconds[1:]))
        if phases is not None:
            apart = {**phases, "agent": phases["agent"] - sum(seconds), "calls": sum(seconds)}
            self.phases.append({name: apart[name] for name in sorted(apart, key=PHASES.index)})


Start = Callable[[Path, str], Pair]
"""From a data folder and the name of an agent's program to how a bare pair is started."""


def play(box: Box, pair: Start, rounds: int, about: str) -> Found:
    """Play the box and the bare pair in turns, with each agent."""
    try:
        box.check()
    except Unavailable as error:
        raise Missing(str(error)) from error
    lines, phases = [], []
    for program, what in PROGRAMS.items():
        walled, bare = Notes(), Notes()
        whole = interleave(walled_side(box, program, walled), bare_side(pair, program, bare), rounds)
        calls = Comparison(tuple(walled.calls[1:]), tuple(bare.calls[1:]))  # the first of each was the warm-up
        lines.append(Line(f"a whole run in the {box.name} box, {what}", "a bare pair from start to end", whole))
        lines.append(Line(f"one tool call, as {what} sees it", "the same call over plain stdio", calls))
        phases.append(Phases(f"a run in the {box.name} box with {what}", walled.phases[1:]))
    return Found(about, lines, phases)


def walled_side(box: Box, program: str, notes: Notes) -> Side:
    """Run the task in the box; the times of each phase and call go into `notes`."""
    task, player = a_task(), submission.command(f"python3 {AGENTS / program}", submitter="bench", name="player")

    def side() -> float:
        start = time.perf_counter()
        outcome = run_task(task, player, box, alias="r-bench")
        seconds = time.perf_counter() - start
        passed(outcome, program, box)
        notes.take(outcome.output, outcome.phases)
        return seconds

    return side


def passed(run: TaskRun, program: str, box: Box) -> None:
    """Require that a run passed at its first attempt."""
    if not run.passed or run.attempts != 1 or run.calls != CALLS:
        raise Failed(f"{program} did not pass in the {box.name} box: {run.code}, {run.output!r}")


def bare_side(pair: Start, program: str, notes: Notes) -> Side:
    """Run the same calls with nothing around them."""

    def side() -> float:
        with data_folder() as folder:
            start = time.perf_counter()
            said = joined(pair(folder, program))
            seconds = time.perf_counter() - start
            written = len(list((folder / "files" / "notes").iterdir()))
        if written != NOTES:
            raise Failed(f"the bare pair with {program} wrote {written} notes and not {NOTES}: {said!r}")
        notes.take(said)
        return seconds

    return side


def joined(pair: Pair) -> str:
    """Start a server and an agent joined by stdio; wait for both, and give what the agent printed."""
    pipe: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(pair.server, **pipe) as server:
        agent = subprocess.Popen(
            pair.agent,
            stdin=server.stdout,
            stdout=server.stdin,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | pair.environment,
        )
        for end in (server.stdin, server.stdout):
            if end is not None:
                end.close()  # so that each sees the other's end
        try:
            return agent.communicate(timeout=PATIENCE)[1]
        finally:
            for process in (agent, server):
                _ended(process)


def _ended(process: subprocess.Popen[Any]) -> None:
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def data_folder() -> Iterator[Path]:
    """Make a world's /data folder with the task's seed in it, writable for the server's user."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as name:
        folder = Path(name)
        write(seed(a_task().document), folder)
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o777 if place.is_dir() else 0o666)
        yield folder
