"""Tests of runs whose tasks have claims: a model is asked, its replies kept, and verdicts replayed from them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from quarterturn_judge.loopback_model import Dials, LoopbackModel
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.judge import WORKER
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.prover import BoxProver
from sandbox.runs.rejudge import JudgeAgain
from sandbox.runs.run import Terms
from verifiers.language.verdict import Verdict

from ..builders import Hands, a_task, in_memory, run_set
from ..claim_judge.conftest import spec_of

CLAIMS = [{"id": "count", "text": "There were 2 files before."}, {"id": "word", "text": 'The word is "heliotrope".'}]
RIGHT, HALF, WRONG = "There were 2 files; I wrote heliotrope.", "There were 2 files.", "There were 3 files."


def a_judged_task(**arguments):
    wanted = {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}}
    return a_task(success_predicate={"all": [wanted, {"answer.claims": {"claims": CLAIMS, **arguments}}]})


@pytest.fixture
def model():
    with LoopbackModel() as model:
        yield model


@pytest.fixture
def judge(model):
    with ClaimJudge(spec_of(model.url), "test-key") as judge:
        yield judge


def play(task, answer, judge):
    """Play a task; give the run, and its state as it comes back out of its seal."""
    kept: list[UnjudgedResult] = []

    def story(made):
        hands = Hands(made)
        hands.write()
        hands.answer(answer)

    box, agent = in_memory(story)
    (run,) = run_set([task], agent, box, keep_unjudged=kept.append, terms=Terms(claims=judge))
    return run, UnjudgedResult.from_bytes(kept[-1].to_bytes())


@pytest.mark.parametrize(
    ("answer", "verdict"), [(RIGHT, Verdict.TRUE), (HALF, Verdict.FALSE), (WRONG, Verdict.FALSE), (" ", Verdict.FALSE)]
)
def test_a_run_is_judged_by_what_the_model_says_of_each_claim(judge, model, answer, verdict):
    run, _ = play(a_judged_task(), answer, judge)
    assert (run.verdict, run.passed, run.failure) == (verdict, verdict is Verdict.TRUE, None)
    assert [exchange.claim for exchange in run.claims] == (["count", "word"] if answer.strip() else [])
    assert TaskRun.from_json(json.loads(json.dumps(run.to_sealed_json()))) == run
    assert len(model.asked) == len(run.claims)


def test_a_verdict_is_replayed_from_the_seal_without_a_model(judge, model):
    task = a_judged_task()
    run, left = play(task, RIGHT, judge)
    sealed = TaskRun.from_json(json.loads(json.dumps(run.to_sealed_json())))
    asked = list(model.asked)
    with JudgeAgain(pytest.fail) as again:
        assert again.verdict("memory", task, left, sealed.claims) is run.judged is Verdict.TRUE
        assert again.verdict("memory", task, left) is Verdict.UNKNOWN
        spoiled = [replace(exchange, reply=exchange.reply.replace("correct", "incorrect")) for exchange in run.claims]
        assert again.verdict("memory", task, left, spoiled) is Verdict.FALSE
    assert model.asked == asked


def test_without_a_judge_a_claim_is_unknown_which_is_a_fail_for_a_person_to_look_at():
    run, _ = play(a_judged_task(), RIGHT, None)
    assert (run.judged, run.verdict, run.failure, run.code) == (
        Verdict.UNKNOWN,
        Verdict.FALSE,
        "unclear",
        "verdict-unknown",
    )
    assert not run.passed
    assert run.judged_by == WORKER


def test_a_reply_that_is_no_verdict_never_counts_as_one():
    with LoopbackModel(Dials(failures=1)) as broken, ClaimJudge(spec_of(broken.url), "test-key") as judge:
        run, _ = play(a_judged_task(), RIGHT, judge)
    assert (run.judged, run.passed, run.failure) == (Verdict.UNKNOWN, False, "unclear")


def test_a_task_without_claims_asks_nobody(judge, model):
    run, _ = play(a_task(), "2", judge)
    assert (run.verdict, run.claims, model.asked) == (Verdict.TRUE, (), [])
    assert "claims" not in run.as_json()


def test_admission_asks_about_each_answer_for_itself(judge):
    """The solution's answer is right, each wrong answer is under the threshold, and another state changes no reply."""
    box, _ = in_memory(lambda _: None)
    prover = BoxProver(box, Terms(claims=judge))
    document = dict(a_judged_task().document) | {"success_predicate": {"all": [{"answer.claims": {"claims": CLAIMS}}]}}
    proved = prover.prove(document, [], RIGHT)
    assert proved.verdict is Verdict.TRUE
    assert prover.mutated(document, proved, [{"name": "half", "answer": HALF}])[0].verdict is Verdict.FALSE
    assert prover.mutated(document, proved, [{"name": "wrong", "answer": WRONG}])[0].verdict is Verdict.FALSE
    removed = {"name": "gone", "server": "filesystem", "change": {"remove": "one.txt"}}
    assert prover.mutated(document, proved, [removed])[0].verdict is Verdict.TRUE
    made = {mutant.name: mutant.verdict for mutant in prover.mutant_results(document, proved)}
    assert made["conjunct 0 broken"] is Verdict.FALSE
    assert made["answer: says-nothing"] is Verdict.FALSE
    assert made["answer: off-by-one"] is Verdict.UNKNOWN  # nobody was asked about that answer
