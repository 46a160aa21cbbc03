"""A private run whose tasks have claims, from the turn that names the judge to the audit of the release."""

from __future__ import annotations

import json
import re

import pytest

from quarterturn.errors import UpstreamDown
from quarterturn_judge.loopback_model import Dials, LoopbackModel
from rotation.calendar import Month
from rotation.month import sets
from vault.ledger.audit.verify import audit
from verifiers.language.verdict import Verdict

from ...sandbox.builders import Hands, in_memory
from ..conftest import MONTH, with_files
from ..keys.test_claim_judge import with_judge
from ..scenes import EASY

pytestmark = pytest.mark.slow

FIRST = Month.parse(MONTH)


def judged(stratum, number):
    """Write a task whose answer is judged: the right one names the folder."""
    claims = [
        {"id": "name", "text": f'The folder is "number-{number}".'},
        {"id": "kept", "text": 'Nothing was "lost".'},
    ]
    return with_files(stratum, number) | {"success_predicate": {"all": [{"answer.claims": {"claims": claims}}]}}


@pytest.fixture
def home(copy, monkeypatch):
    """Return a home with a stocked set of four tasks, none of which is live."""
    monkeypatch.setitem(sets.SETS, "one", sets.SetSpec("one", {EASY: 1}, {EASY: 1}))
    return copy("judged", of="one", tasks=6, write=judged)


class Quiet:
    def progress(self, what, total):
        from contextlib import nullcontext

        return nullcontext(lambda steps: None)

    def say(self, line):
        pass


def answers(made):
    """Answer rightly where the folder's number is even."""
    hands = Hands(made)
    folder = re.search(r"number-(\d+)", hands.get("/task")["goal"])
    hands.answer(f"The folder is {folder[0]}, and nothing was lost." if int(folder[1]) % 2 == 0 else "I do not know.")


def begin(opened, home, model):
    """Name the judge, count it as checked, and make the first turn."""
    house = with_judge(opened, home, model)
    house.keys.claim_judges.keep(house.keys.claim_judges.digests(), {"refused": []})
    house.month.rotation.run(FIRST.plus(-1))
    return house


@pytest.mark.full
def test_a_judged_run_is_bound_counted_as_shown_and_judged_again_without_its_model(opened, home, monkeypatch):
    monkeypatch.setattr("vault.ledger.statements.spot_check.ONE_IN", 1)
    box, agent = in_memory(answers)
    with LoopbackModel() as model:
        house = begin(opened, home, model)
        with house.keys.claim_judges.opened("private") as judge:
            begun, results = house.execution.private_runs.play(agent, box, Quiet(), claims=judge)
    tasks = {task_id: house.home.vault.open(task_id, who="test", why="test").task for task_id in begun.tasks}
    right = {task_id for task_id, task in tasks.items() if re.search(r"number-\d*[02468]\.", task.goal)}
    assert {result.task for result in results if result.passed} == right
    assert 0 < len(right) < len(tasks) == 4
    digest = house.keys.claim_judges.digests().digest
    assert house.runs.ledger.opened(begun.record.number).statement.predicate["judge"] == digest
    shown = {task for task, _, channel, _ in house.benchmark.exposures.totals() if channel == "upstream:rules"}
    assert shown == set(tasks)
    for run in house.runs.store.results(begun.record.number, who="test", why="test"):
        assert [exchange.claim for exchange in run.claims] == ["name", "kept"]
        assert json.loads(run.claims[0].reply)["outcome"] == ("correct" if run.task_id in right else "incorrect")
    house.month.rotation.run(FIRST)  # the model is gone
    (checked,) = [turn for turn in house.benchmark.months.turns() if turn.month == FIRST]
    facts = json.loads(checked.facts["spot_check"])
    assert (facts["chosen"], facts["judged"], facts["differed"]) == (4, 4, 0)
    report = audit(house.home.places.releases / FIRST.release, [house.home.places.log_vkey.read_text()])
    assert not report.failed, report.failed


def test_an_upstream_that_goes_down_fails_one_task_and_the_others_wait(opened, home):
    box, agent = in_memory(answers)
    with LoopbackModel() as model:
        house = begin(opened, home, model)
        judge = house.keys.claim_judges.judge("private")
    with judge, pytest.raises(UpstreamDown, match="the claim judge's upstream does not answer"):
        house.execution.private_runs.play(agent, box, Quiet(), claims=judge)
    (record,) = house.runs.store.list()
    done = house.runs.store.results(record.number, who="test", why="test")
    assert 0 < len(done) < 4
    assert {(run.verdict, run.failure, run.judged) for run in done} == {(Verdict.FALSE, "unclear", Verdict.UNKNOWN)}


def test_a_reply_that_cannot_be_read_never_passes_a_task(opened, home):
    box, agent = in_memory(answers)
    with LoopbackModel(Dials(failures=1)) as model:
        house = begin(opened, home, model)
        with house.keys.claim_judges.opened("private") as judge:
            _, results = house.execution.private_runs.play(agent, box, Quiet(), claims=judge)
    assert not any(result.passed for result in results)
