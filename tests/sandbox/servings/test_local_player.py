"""Tests of what a player hands in beside the state: what only backends read back, and of the untouched state too."""

from __future__ import annotations

import json

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.run import Solution
from sandbox.transcript import ToolCall
from verifiers.language.verdict import Verdict

from ..builders import a_task, in_memory, oracle, run_set, tools

SET = Solution([ToolCall("redis.set", {"key": "colour", "value": "heliotrope"})])


def a_redis_task():
    probe = {"redis.stringEquals": {"key": "colour", "value": "heliotrope"}}
    return a_task(
        "redis",
        initial_state={"redis": {"strings": {"kept": "1"}}},
        available_tools=sorted({"redis.set", *tools("redis", 11)}),
        success_predicate={
            "all": [probe, {"redis.unchanged": {"except": [{"item": "key", "where": {"key": "colour"}, "add": 1}]}}]
        },
    )


@pytest.mark.box
@pytest.mark.needs("databases")
def test_what_a_backend_reads_back_is_sealed_and_judged_later_without_a_box():
    task, kept = a_redis_task(), []
    (run,) = run_set([task], oracle(), BwrapBox(), solutions={task.id: SET}, keep_unjudged=kept.append)
    assert run.passed, run.as_json()
    left = UnjudgedResult.from_bytes(kept[0].to_bytes())
    after, before = (json.loads(dumps["redis"])["keys"] for dumps in (left.state.dumps, left.baseline))
    assert (sorted(after), sorted(before)) == (["colour", "kept"], ["kept"])
    box, agent = in_memory()  # in which no Redis could be started
    (later,) = run_set([task], agent, box, left={task.id: left})
    assert (later.verdict, later.evidence) == (Verdict.TRUE, run.evidence)
    assert box.worlds == []
