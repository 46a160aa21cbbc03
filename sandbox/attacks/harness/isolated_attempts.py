"""Attempts that may crash their place, each in one of its own, and also judged from outside.

The output of such a place may be cut off, flooded or missing. So the outcome of each is derived from what the box, the
kernel and our own clock report: a place that was ended for its memory was bounded.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sandbox.attacks.harness.attempt import Outcome
from sandbox.attacks.harness.probing import GVISOR, LIMITS, answering, endings, has_sentry, program
from sandbox.boxes.box import Box, ExitFacts, ResourceLimits, RunningAgent
from sandbox.errors import Lost

Ending = tuple[Outcome, str]

TENFOLD = 10
KILLED, GAVE_UP = 128 + 9, 2  # the second is gVisor's, where it gets no more of the host
CPUS = 0.1
FLOOD = 1 << 30
SLACK = 1024  # what an output says about how it was cut
AMOUNTS = {"PROBE_CPUS": str(CPUS), "PROBE_INODES": "300000", "PROBE_FLOOD": str(FLOOD)}


def limits(*, lifted: bool) -> ResourceLimits:
    """Return the caps of such a place, or ten times as much."""
    caps = replace(LIMITS, cpus=CPUS, wall=120.0)
    if not lifted:
        return caps
    return replace(
        caps,
        memory=caps.memory * TENFOLD,
        pids=caps.pids * TENFOLD,
        tmpfs=caps.tmpfs * TENFOLD,
        cpus=caps.cpus * TENFOLD,
        output=caps.output * TENFOLD,
    )


def make(box: Box, name: str, *, lifted: bool = False) -> Ending:
    """Make one attempt in a place of its own; with `lifted`, its positive control.

    Raises:
        Lost: it told nothing, and nobody knows why.
        Unavailable: the box cannot be had.
    """
    caps = limits(lifted=lifted)
    if name != "cpu":
        caps = replace(caps, cpus=LIMITS.cpus)
    if has_sentry(box):
        caps = replace(caps, memory=GVISOR.memory, pids=GVISOR.pids)
    with _running(box, name, caps) as (agent, mark):
        if name == "never-ending":
            return _unseen(agent) if has_sentry(box) else _never_ending(agent, mark, kill=not lifted)
        facts = agent.wait(caps.wall)
        agent.kill()
        if name == "log-flood":
            return _flood(agent, facts, LIMITS.output)
        return _ending(agent, facts, name, sentry=has_sentry(box))


@contextlib.contextmanager
def _running(box: Box, name: str, caps: ResourceLimits) -> Iterator[tuple[RunningAgent, str]]:
    mark = f"--{secrets.token_hex(8)}"
    with answering() as (sockets, _):
        flood = {"PROBE_FLOOD": str(FLOOD // 16)} if caps.output > LIMITS.output else {}
        made = program([name], environment=AMOUNTS | flood, inside=mark)
        agent = box.place(made, sockets, caps).start()
        try:
            yield agent, mark
        finally:
            agent.kill()


def _ending(agent: RunningAgent, facts: ExitFacts, name: str, *, sentry: bool) -> Ending:
    results = endings(agent.output())
    if name in results:
        return results[name]
    if facts.out_of_memory or facts.exit_code == KILLED or (sentry and facts.exit_code == GAVE_UP):
        return "bounded", "its place was ended for what it took"
    if facts.running:
        return "bounded", "its place was ended at the deadline"
    raise Lost(f"the attempt {name} ended its place with {facts.exit_code} and printed nothing, which proves nothing")


def _flood(agent: RunningAgent, facts: ExitFacts, cap: int) -> Ending:
    size = len(agent.output().encode())
    if facts.running or facts.exit_code != 0:
        return "bounded", f"stopped before it had printed all, {size} bytes kept"
    return ("bounded" if size <= cap + SLACK else "escaped"), f"all of it was printed, {size} bytes kept"


def _never_ending(agent: RunningAgent, mark: str, *, kill: bool) -> Ending:
    deadline = time.monotonic() + 20
    while len(_alive(mark)) < 2 and time.monotonic() < deadline:  # noqa: PLR2004 - itself, and its daemon
        if not agent.wait(0.2).running:
            raise Lost("what should never end ended by itself, which proves nothing")
    before = len(_alive(mark))
    if not kill:
        return ("escaped" if agent.wait(2).running else "bounded"), f"{before} processes go on"
    agent.kill()
    left = len(_alive(mark))
    return ("escaped" if left or not before else "bounded"), f"{before} processes before the end, {left} after it"


def _unseen(agent: RunningAgent) -> Ending:
    """Judge where gVisor hides its processes from the machine: they are all in one that the engine ends."""
    running = agent.wait(2).running
    agent.kill()
    return ("bounded" if running else "escaped"), "it went on until its place was ended"


def _alive(mark: str) -> list[int]:
    """Find the processes of this machine that carry the mark among their arguments."""
    pids = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                pids.append(int(process.name))
    return pids
