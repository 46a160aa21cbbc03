"""Tests of remains: an attempt's state is handed over before it is judged, and judged later with no second serving."""

from __future__ import annotations

import pytest

from sandbox.boxes.box import ExitFacts
from sandbox.results.unjudged import UnjudgedResult
from verifiers.language.verdict import Verdict

from ..builders import Hands, an_sqlite_task, in_memory, run_set


class Died(BaseException):
    """Raised in place of a judge that died."""


def interrupted(story, **more):
    """Play a set whose runner dies after handing something over; give that, and the box and agent to resume with."""
    kept: dict[str, UnjudgedResult] = {}

    def keep(left):
        kept[left.task_id] = UnjudgedResult.from_bytes(left.to_bytes())
        raise Died

    box, agent = in_memory(lambda made: story(Hands(made)), **more)
    task = an_sqlite_task()[0]
    with pytest.raises(Died):
        run_set([task], agent, box, keep_unjudged=keep)
    return task, kept, box, agent


def test_a_state_handed_over_is_judged_and_its_task_is_not_served_again():
    task, kept, box, agent = interrupted(Hands.add)
    assert list(kept) == [task.id]
    served: list[str] = []
    (run,) = run_set([task], agent, box, left=kept, record_serving=served.append)
    assert (run.verdict, run.code, run.attempts, served) == (Verdict.TRUE, "finished", 1, [])
    assert len(box.worlds) == len(box.agents) == 1, "the one that was played, and none for the verdict"
    assert [call.tool for call in run.transcript.calls] == ["sqlite.write_query"]
    assert run.phases["verdict"] > 0
    assert "freeze" in run.phases


def test_a_later_verdict_equals_the_first_one():
    task, kept, box, agent = interrupted(Hands.look)
    (late,) = run_set([task], agent, box, left=kept)
    (now,) = run_set([task], agent, in_memory(lambda made: Hands(made).look())[0])
    assert (late.verdict, late.evidence, late.code) == (now.verdict, now.evidence, now.code)


def test_it_is_handed_over_before_it_is_judged(monkeypatch):
    order: list[str] = []
    monkeypatch.setattr("sandbox.judge.state_judge.StateJudge.verdict", lambda *_: order.append("judged"))
    box, agent = in_memory(lambda made: Hands(made).add())
    with pytest.raises(AttributeError):  # nothing came of the verdict
        run_set([an_sqlite_task()[0]], agent, box, keep_unjudged=lambda _: order.append("handed over"))
    assert order == ["handed over", "judged"]


def test_a_retry_hands_over_what_came_before_it():
    kept: list[UnjudgedResult] = []

    def story(hands):
        if len(box.agents) == 1:
            hands.agent.die(ExitFacts(running=False, lost=True))
        hands.add()

    box, agent = in_memory(lambda made: story(Hands(made)))
    (run,) = run_set([an_sqlite_task()[0]], agent, box, keep_unjudged=kept.append)
    assert run.attempts == 2
    assert [len(left.earlier) for left in kept] == [0, 1]
    assert UnjudgedResult.from_bytes(kept[1].to_bytes()) == kept[1]
    assert "heliotrope" not in repr(kept[1])
