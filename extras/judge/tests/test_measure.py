"""Tests of the check of a claim judge: judges with known faults are found out, and one without any passes."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from quarterturn_judge import measure as judge_check
from quarterturn_judge.cases import injected, of_task, shipped
from quarterturn_judge.loopback_model import Dials, LoopbackModel, judged, ruled
from quarterturn_judge.measure import FEWEST_INJECTED, FEWEST_TRANSCRIPTS, CheckPlan, measure
from sandbox.claim_judge import anchors as anchored
from sandbox.claim_judge.anchors import MIN_ANCHORS, SHIPPED, digest, frozen, parse
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.errors import Malformed, Refused
from tests.sandbox.claim_judge.conftest import spec_of
from verifiers.language.predicate import parse as parse_predicate


def plan(passes=2):
    cases = shipped()
    return CheckPlan(cases, parse(SHIPPED.read_bytes(), "the shipped anchors"), injected(cases), passes)


def measured(passes=2, **dials):
    dice = random.Random(7)  # the stand-in draws from each request's marker
    markers = {"marker": lambda: dice.randbytes(16).hex()}
    with LoopbackModel(Dials(**dials)) as model, ClaimJudge(spec_of(model.url), "test-key", **markers) as judge:
        return measure(judge.ask, plan(passes))


def test_the_corpora_are_large_enough_and_their_known_outcomes_are_those_of_the_rule():
    made = plan()
    assert len(made.answers) >= FEWEST_TRANSCRIPTS
    assert len(made.injected) >= FEWEST_INJECTED
    assert len({item.text for item in made.injected}) == len(made.injected)
    assert len({item.kind for item in made.injected}) >= 8
    assert len(made.anchors) >= MIN_ANCHORS
    for case, answer in made.answers:
        assert tuple(ruled(claim.text, answer.text) for claim in case.claims) == answer.gold, (case.id, answer.text)
    for anchor in made.anchors:
        assert tuple(ruled(claim.text, anchor.answer) for claim in anchor.claims) == anchor.gold, anchor.id


def test_a_judge_without_faults_passes_every_bar():
    found = measured()
    assert found.refused() == []
    assert (found.answer_accuracy.value, found.claim_accuracy.value, found.resisted.value) == (1, 1, 1)
    assert (found.claim_spread, found.task_spread, found.rho) == (0, 0, pytest.approx(1))
    assert found.answers["right"]["failed"] == found.answers["wrong"]["passed"] == 0
    estimated = plan().cost(200)
    assert found.cost["requests"] == estimated["requests"]
    assert 0.8 < found.cost["read"] / estimated["read"] < 1.2
    assert found.cost["written"] < estimated["written"]


@pytest.mark.full
def test_a_judge_that_confuses_one_claim_in_ten_is_measured_and_refused():
    made, all_found = plan(), []
    for seed in range(2):
        dials = Dials(confusion=0.1, seed=seed)
        found = measured(confusion=0.1, seed=seed)
        asked = [
            (goal, claim, answer)
            for goal, claims, answer in made.questions()[: -len(made.injected)]
            for claim in claims
        ]
        right = [judged(claim.text, answer, "", dials) is ruled(claim.text, answer) for _, claim, answer in asked]
        assert found.claim_accuracy.value == pytest.approx(sum(right) / len(right)), "all that it got wrong was found"
        sentences = found.refused()
        assert any("of the claims got the right outcome; 95% are the least" in sentence for sentence in sentences)
        assert found.claim_spread == 0, "it errs in the same way each time, which variance cannot show"
        all_found.append(found)
    share = sum(found.claim_accuracy.value for found in all_found) / len(all_found)
    assert abs(share - 0.9) < 0.04
    assert any(found.claim_accuracy.low <= 0.9 <= found.claim_accuracy.high for found in all_found)


@pytest.mark.full
def test_a_judge_that_wavers_has_a_spread_that_is_its_dial(monkeypatch):
    """Of two passes with one step off in a share p of each, half a step is the deviation of those that differ."""
    monkeypatch.setattr(judge_check, "AT_ONCE", 1)  # so that each question has its marker
    share = 0.2
    found = measured(noise=share)
    expected = 2 * share * (1 - share) * Fraction(1, 4)
    assert abs(found.claim_spread - expected) < 0.05  # 4.5 deviations of twelve measurements
    assert 0 < found.task_spread < found.claim_spread
    assert found.refused()
    assert measured(passes=1, noise=share).claim_spread is None


@pytest.mark.full
@pytest.mark.parametrize("bias", [0.3, -0.3])
def test_a_judge_that_is_too_kind_or_too_strict_is_refused(bias):
    found = measured(bias=bias)
    raised = found.outcomes["incorrect"]["partially_correct"]
    lowered = found.outcomes["correct"]["partially_correct"]
    assert (raised > 0 == lowered) if bias > 0 else (lowered > 0 == raised)
    assert found.refused()


def test_a_gullible_judge_is_found_out_by_the_injected_answers_alone():
    found = measured(gullible=0.3)
    assert found.answer_accuracy.value == found.claim_accuracy.value == 1
    assert 0.15 < 1 - found.resisted.value < 0.45
    assert sum(found.obeyed.values()) == round((1 - found.resisted.value) * found.resisted.n)
    (sentence,) = found.refused()
    assert "of the injected answers were resisted" in sentence


def test_failures_count_as_errors_and_as_no_outcome():
    found = measured(failures=0.2)
    unknown = sum(row["unknown"] for row in found.outcomes.values())
    assert 0.1 < unknown / found.claim_accuracy.n < 0.3
    assert found.resisted.value == 1
    assert any("claims" in sentence for sentence in found.refused())


@pytest.mark.full
def test_a_judge_that_says_the_same_of_everything_agrees_with_nobody():
    with LoopbackModel() as model, ClaimJudge(spec_of(model.url), "test-key") as judge:
        kind = lambda goal, claims, answer: judge.ask(goal, claims, " ".join(claim.text + "." for claim in claims))  # noqa: E731
        found = measure(kind, plan(1))
    assert found.rho is None
    assert any("agrees with nobody" in sentence for sentence in found.refused())


def shipped_document():
    return json.loads(SHIPPED.read_bytes())


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("transcript", lambda anchor: anchor.update(answer="another")),
        ("transcript", lambda anchor: anchor.update(goal="another")),
        ("rubric", lambda anchor: anchor["claims"][0].update(rubric="be kind")),
        ("gold", lambda anchor: anchor["claims"][0].update(gold="partially_correct")),
    ],
)
def test_an_anchor_that_was_changed_is_refused_until_it_is_frozen_anew(part, change):
    document = shipped_document()
    change(document["anchors"][0])
    with pytest.raises(Refused, match=f"the {part} of anchor all-said was changed"):
        parse(json.dumps(document).encode(), "anchors.json")
    again = parse(json.dumps(frozen(document)).encode(), "anchors.json")
    assert digest(again) != digest(parse(SHIPPED.read_bytes(), "x"))


def test_anchors_that_hold_nothing_are_refused():
    document = shipped_document()
    few = {"anchors": document["anchors"][: MIN_ANCHORS - 1]}
    with pytest.raises(Malformed, match=r"at \$\.anchors: breaks the rule minItems"):
        parse(json.dumps(few).encode(), "anchors.json")
    for anchor in document["anchors"]:
        for claim in anchor["claims"]:
            claim["gold"] = "correct"
    with pytest.raises(Refused, match="the same coverage"):
        parse(json.dumps(frozen(document)).encode(), "anchors.json")
    with pytest.raises(Malformed, match=r"anchors\.json"):
        parse(b"{", "anchors.json")
    assert len(SHIPPED.read_bytes()) < anchored.MAX_FILE


def test_a_task_gives_its_reference_answers_and_the_mutants_that_only_claims_can_fail():
    claims = {"answer.claims": {"claims": [{"id": "a", "text": 'It is "blue".'}], "threshold": 1}}
    solutions, mutants = [{"answer": "It is blue."}, {"answer": None}], [{"answer": "It is red."}, {"server": "git"}]
    case = of_task("t-1", "Which colour?", parse_predicate({"all": [claims]}), solutions, mutants)
    assert [(answer.text, answer.right) for answer in case.answers] == [("It is blue.", True), ("It is red.", False)]
    assert case.groups[0][1] == 1
    both = parse_predicate({"all": [claims, {"answer.contains": {"text": "blue"}}]})
    assert [answer.right for answer in of_task("t-1", "?", both, solutions, mutants).answers] == [True]
    assert of_task("t-1", "?", parse_predicate({"answer.contains": {"text": "x"}}), solutions, mutants) is None
