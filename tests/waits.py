"""Allow-list of the places where tests sleep or wait for a time of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

WAITS = {"join", "wait", "result", "communicate", "acquire", "exception"}  # take a number of seconds first

ALLOWED = {
    # Polling, outside of any claim about time.
    "patience.py::until": "the one loop that polls",
    "limits.py::_dump": "polls for the stacks of a child, once a test has failed",
    "postgres.py::start": "polls a server that is starting",
    "sandbox/runs/test_run.py::watch": "looks at processes until it is told to stop",
    "sandbox/endpoint/test_pinned_post.py::drip": "sends drop by drop until it is told to stop",
    "sandbox/test_remote_client.py::serve": "sends piece by piece until it is told to stop",
    # What must still be so: on a slow machine less time passes, and the test is only weaker.
    "contracts/test_boxes.py::test_waiting_ends_with_the_time_and_killing_ends_the_agent_with_its_children": "running",
    "sandbox/endpoint/test_hosted_agent.py::test_an_accepted_task_goes_on_without_the_connection": "running",
    "sandbox/endpoint/test_hosted_agent.py::test_an_endpoint_that_says_nothing_works_until_it_is_killed": "running",
    "sandbox/endpoint/test_hosted_agent.py::"
    "test_callbacks_that_nobody_hears_any_more_are_a_fact_like_a_relays_death": "running",
    "sandbox/gateway/test_process.py::test_the_wall_clock_of_an_idle_session_runs_out": "not begun",
    "sandbox/boxes/docker/test_box.py::test_an_agent_that_closes_its_streams_still_runs": "running",
    # Time has to pass: what is used meanwhile, or that a client gives up, is the point.
    "contracts/test_relays.py::test_waiting_uses_no_time": "measures what is used meanwhile",
    "contracts/test_relays.py::idle": "measures what is used meanwhile",
    "sandbox/world/test_channel.py::test_an_idle_channel_uses_no_time": "measures what is used meanwhile",
    "sandbox/model_gateway/test_session.py::test_an_agent_that_goes_away_takes_its_request_with_it": "gives up",
    "quarterturn/servers/notebook.py::call": "a tool that takes time: it goes on in a server whose clock is frozen",
    "vault/test_database.py::count": "widens the gap between a read and a write, into which the other writers fall",
}
"""Where a test may sleep or wait for other than PATIENCE, by file and function, and why."""


def waits_in(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield each call that sleeps, or that gives a wait a limit of its own: function, line, and what it does."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((function.name, line, what) for line, what in _own_waits(function))


def _own_waits(function: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield from _own_waits(node)
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if name == "sleep" and _number(first) != 0:
            yield node.lineno, "sleeps"
        limits = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
        limits += [first] if name in WAITS and first is not None else []
        for value in map(_number, limits):
            if value is not None and value > 0:  # with 0 it looks and does not wait; PATIENCE is written by its name
                yield node.lineno, f"waits {value:g} s at most"


def _number(node: ast.expr | None) -> float | None:
    right = isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return float(node.value) if right else None
