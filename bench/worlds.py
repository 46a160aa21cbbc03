"""Measures how long a world takes until its server has answered: for each server, and for one world with all ten.

Each server is seeded as a task of its public grammar says, drawn with a fixed seed, and asked the first call of that
task's reference solution, by a gateway that plays it; backends (PostgreSQL, Redis, Dovecot, Radicale) are started on
the way. *seed* builds the data in memory, *world* starts the box and hands the data over, *answer* is the gateway's
start and the server's with the call, *freeze* reads the data out, *removal* takes all of it down. There is no floor to
stand beside: the figures are seconds of this machine. The caps are a task's, but for the world of all servers, which no
task has: it gets as many times a task's memory and processors as it has servers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from documents import a_document
from report import Failed, Found, Table

from grammars.draw.sample import sample
from grammars.draw.variants import base
from grammars.language.grammar import Draft
from grammars.language.load import library, load
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.job import Terms, new_alias
from sandbox.runs.task_world import seed, specify
from sandbox.servers.registry import SERVERS
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import ToolCall
from vault.task.document import Task

ROUNDS = 5
COLUMNS = ("server", "seed", "world", "answer", "freeze", "removal", "together")
FEWEST_TOOLS = 12


def bench(rounds: int = 0) -> Found:
    """Start each world in turn, after one round that does not count."""
    drafts = {name: _draft(name) for name in library()}
    cases: dict[str, Sequence[str]] = {name: [name] for name in drafts} | {f"all {len(drafts)}": list(drafts)}
    rows = []
    for what, servers in cases.items():
        document, calls = _task(servers, drafts)
        seen = [_start(document, calls, servers) for _ in range((rounds or ROUNDS) + 1)][1:]
        medians = {name: statistics.median(one[name] for one in seen) for name in COLUMNS[1:-1]}
        medians["together"] = statistics.median(sum(one.values()) for one in seen)
        rows.append({"server": what} | {name: f"{value:.3f} s" for name, value in medians.items()})
    about = f"Medians of {rounds or ROUNDS} worlds in the bwrap box, one after another:"
    return Found("A world from its task to its first answer, and away again.", [], tables=[Table(about, COLUMNS, rows)])


def _draft(server: str) -> Draft:
    return base(sample(load(server), Random(1), category="single-tool", difficulty="easy"))


def _task(servers: Sequence[str], drafts: Mapping[str, Draft]) -> tuple[dict[str, Any], list[ToolCall]]:
    """Join the servers' parts of their tasks into one, with the first call to each."""
    states, calls, tools = {}, [], []
    for name in servers:
        draft = drafts[name]
        if name in draft.task["initial_state"]:
            states[name] = draft.task["initial_state"][name]
        first = next(c for c in draft.provenance["solutions"][0]["calls"] if c["tool"].startswith(f"{name}."))
        calls.append(ToolCall(first["tool"], first.get("arguments", {})))
        tools.append(first["tool"])
    others = (f"{name}.{tool}" for name in (*servers, "filesystem") for tool in sorted(SERVERS[name].tools))
    for tool in others:
        if len(tools) < FEWEST_TOOLS and tool not in tools:
            tools.append(tool)
    changes = {"server": servers[0], "initial_state": states, "available_tools": tools, "max_steps": len(calls)}
    return a_document(**changes), calls


def _start(document: Mapping[str, Any], calls: Sequence[ToolCall], names: Sequence[str]) -> dict[str, float]:
    terms, task = Terms(), Task.parse(document)
    meter, servers = Meter(terms.clock), [SERVERS[name] for name in names]
    with meter.phase("seed"):
        tree = seed(task.document)
    spec = specify(task, alias=new_alias(), wall=terms.world.wall, script=calls, servers=servers)
    caps, many = terms.world, len(servers)
    limits = replace(caps, memory=caps.memory * many, pids=caps.pids * many, cpus=caps.cpus * many)
    with RunEnvironment(BwrapBox(), spec, servers, tree, limits, terms.patience, meter) as scene:
        scene.open()
        start = time.monotonic()
        transcript = scene.gateway.finish(terms.world.wall)
        played = time.monotonic() - start
        if len(transcript.calls) != len(calls) or transcript.errors:
            late = ", ".join(sorted(scene.gateway.missed)) or "none"
            said = f"{len(transcript.calls)} of {len(calls)} calls to {', '.join(names)} were played"
            raise Failed(f"{said}, {transcript.errors} with an error; servers that were late or lost: {late}")
        scene.freeze()
    seconds = meter.seconds
    return {name: seconds[name] for name in seconds if name != "gateway"} | {"answer": seconds["gateway"] + played}
