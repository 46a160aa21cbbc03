"""Tests of what a run's result holds of said choices: from a memorised solution, with real servers and in memory."""

from __future__ import annotations

import json
from random import Random

import pytest

from grammars.draw.sample import sample
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.judge import JUDGING, JudgeFailed
from sandbox.results.outcome import TaskRun
from sandbox.results.said import SaidChoices
from sandbox.results.unjudged import UnjudgedResult
from sandbox.servers.registry import wire_name
from vault.task.document import Task
from vault.task.variant import filled

from ...shipped import shipped
from ..builders import Hands, a_task, an_agent, in_memory, run_set

FREE = {"colour": ("heliotrope", "burnt umber", "sea-green"), "tray": ("north", "south")}


@pytest.mark.full
@pytest.mark.box
def test_a_memorised_solution_of_another_s_variant_is_said_to_real_servers(tmp_path):
    draft = sample(shipped("filesystem"), Random(11))
    task, solution = Task.parse(draft.task), draft.provenance["solutions"][0]
    mine, theirs = ({name: choices[place] for name, choices in task.free.items()} for place in (1, 2))
    memorised = filled({"calls": solution["calls"], "answer": solution["answer"]}, theirs)
    calls = [(wire_name(step["tool"]), step["arguments"]) for step in memorised["calls"]]
    story = f"for name, arguments in json.loads({json.dumps(calls)!r}):\n    call(name, **arguments)\n"
    agent, served, box = an_agent(tmp_path / "agent", story), task.filled(mine), BwrapBox()
    (run,) = run_set([served], agent, box, free={task.id: task.free})
    assert run.code == "finished", run.output
    assert len(run.transcript.calls) == len(calls)
    assert run.said, "the shipped tasks name their places in calls"
    assert {(one.parameter, one.choices, one.said, one.replied) for one in run.said} <= {
        (name, len(choices), (2,), ()) for name, choices in task.free.items()
    }
    honest = json.dumps(calls)
    for name, value in theirs.items():
        honest = honest.replace(value, mine[name])
    story = f"for name, arguments in json.loads({honest!r}):\n    call(name, **arguments)\n"
    (run,) = run_set([served], an_agent(tmp_path / "honest", story), box, free={task.id: task.free})
    assert (len(run.transcript.calls), run.said) == (len(calls), ())


def test_what_is_said_is_sealed_with_the_result_and_found_again_where_it_is_judged_later():
    kept: dict[str, UnjudgedResult] = {}
    box, agent = in_memory(lambda made: (Hands(made).write("sea green"), Hands(made).answer("south, heliotrope")))
    task = a_task()
    keep = lambda left: kept.update({left.task_id: left})  # noqa: E731
    (run,) = run_set([task], agent, box, free={task.id: FREE}, keep_unjudged=keep)
    assert run.said == (SaidChoices("colour", 3, (2,)), SaidChoices("tray", 2, (1,))), "heliotrope is in the goal"
    assert TaskRun.from_json(json.loads(json.dumps(run.to_sealed_json()))) == run
    (late,) = run_set([task], agent, box, free={task.id: FREE}, left=kept)
    assert late.said == run.said
    (plain,) = run_set([task], agent, box)
    assert plain.said == ()
    assert "said" not in plain.as_json()
    assert "said" not in plain.phases


def test_a_judge_that_fails_costs_nobody_a_result(monkeypatch):
    def died(*_):
        raise JudgeFailed("it died")

    monkeypatch.setattr(type(JUDGING), "said", died)
    box, agent = in_memory(lambda made: Hands(made).solve())
    (run,) = run_set([a_task()], agent, box, free={a_task().id: FREE})
    assert (run.passed, run.said) == (True, ())
