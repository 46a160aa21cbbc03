"""Fixtures that call a real server in a boxed world, and read the state that is left."""

from __future__ import annotations

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.prover import BoxProver
from sandbox.servers.registry import SERVERS

from ..builders import a_task

MOST, LEAST = 18, 12  # tools that a task may list


@pytest.fixture(scope="module")
def prover():
    """Return a prover in bubblewrap, which keeps the worlds of servers that keep nothing between proofs."""
    return BoxProver(BwrapBox())


@pytest.fixture
def played(prover):
    """Return a function that plays calls of one server, `[(tool, arguments)]`, and gives their results."""

    def play(server, state, calls, predicate, box=None):
        used = list(dict.fromkeys(tool for tool, _ in calls))
        tools = [f"{server}.{tool}" for tool in [*used, *(set(SERVERS[server].tools) - set(used))][:MOST]]
        tools += [f"memory.{tool}" for tool in list(SERVERS["memory"].tools)[: max(0, LEAST - len(tools))]]
        played = {"initial_state": {server: state}, "available_tools": tools, "success_predicate": predicate}
        task = a_task(server, max_steps=40, **played).document
        steps = [{"tool": f"{server}.{tool}", "arguments": arguments} for tool, arguments in calls]
        return (BoxProver(box) if box else prover).prove(task, steps, None)

    return play
