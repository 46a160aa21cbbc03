"""Tests that a call that reached no server touches no world: a world broken all the same is not the agent's doing."""

from __future__ import annotations

from sandbox.errors import Malformed

from .builders import Hands, an_sqlite_task, in_memory, run


def test_a_call_of_a_tool_that_is_not_listed_does_not_count_as_a_call_of_the_world():
    def too_large(servers, state, limits):
        world = make(servers, state, limits)
        world.fail_to_freeze(Malformed("beyond the caps"))
        return world

    box, agent = in_memory(lambda made: Hands(made).call("sqlite__rewrite_history"))
    make, box.world = box.world, too_large
    last = run(an_sqlite_task()[0], agent, box)
    assert {(one.failure, one.code) for one in (*last.earlier, last)} == {("ours", "state-too-large")}
    assert [call.passed_on for call in last.transcript.calls] == [False]
