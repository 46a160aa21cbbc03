"""Fixtures that call a real server in a boxed world, and read the state that is left."""

from __future__ import annotations

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.prover import BoxProver
from sandbox.servers.registry import SERVERS

MOST, LEAST = 18, 12  # tools that a task may list


@pytest.fixture(scope="module")
def prover():
    """Return a prover in bubblewrap, which keeps the worlds of servers that keep nothing between proofs."""
    return BoxProver(BwrapBox())


@pytest.fixture
def played(prover):
    """Give a function that plays calls of one server, `[(tool, arguments)]`, and gives their results."""

    def play(server, state, calls, predicate, box=None):
        used = list(dict.fromkeys(tool for tool, _ in calls))
        tools = [f"{server}.{tool}" for tool in [*used, *(set(SERVERS[server].tools) - set(used))][:MOST]]
        tools += [f"memory.{tool}" for tool in list(SERVERS["memory"].tools)[: max(0, LEAST - len(tools))]]
        task = {
            "schema": "quarterturn/task/v1",
            "spec": "1.0.0",
            "id": "t-aaaaaaaaaaaaaaaa",
            "server": server,
            "category": "single-tool",
            "difficulty": "easy",
            "max_steps": 40,
            "goal": "Do it.",
            "initial_state": {server: state},
            "available_tools": tools,
            "faults": [],
            "success_predicate": predicate,
        }
        steps = [{"tool": f"{server}.{tool}", "arguments": arguments} for tool, arguments in calls]
        return (BoxProver(box) if box else prover).prove(task, steps, None)

    return play
