"""Tests of claims about an answer: outcomes, coverage in exact fractions, and a predicate with three values."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.answer.claims import MAX_REPLY, ClaimOutcome, Coverage, coverage, reply_outcome
from verifiers.answer.examples import answer_views
from verifiers.errors import Malformed
from verifiers.language.in_process import judge
from verifiers.language.predicate import claims_of, parse
from verifiers.language.verdict import Verdict

WRONG, PARTLY, RIGHT = ClaimOutcome
OUTCOMES = st.lists(st.sampled_from([WRONG, PARTLY, RIGHT, None]), min_size=1, max_size=32)


def asked(outcomes, answer="an answer", **more):
    names = [f"c{number}" for number in range(len(outcomes))]
    claims = [{"id": name, "text": f"Claim {name}."} for name in names]
    views = answer_views(answer, **dict(zip(names, outcomes, strict=True)))
    return judge(parse({"answer.claims": {"claims": claims, **more}}), views)


@pytest.mark.parametrize(
    ("outcomes", "share", "verdict"),
    [
        ([RIGHT, PARTLY, PARTLY, WRONG], Fraction(1, 2), Verdict.FALSE),
        ([RIGHT, RIGHT, WRONG, WRONG, WRONG], Fraction(2, 5), Verdict.FALSE),
        ([RIGHT, RIGHT, RIGHT, WRONG], Fraction(3, 4), Verdict.TRUE),
        ([RIGHT] * 5, Fraction(1), Verdict.TRUE),
    ],
)
def test_the_published_examples_come_out_at_the_default_threshold(outcomes, share, verdict):
    assert coverage(outcomes) == Coverage(share, share)
    assert asked(outcomes).verdict is verdict
    assert f"the coverage is {share}," in asked(outcomes).found


@pytest.mark.parametrize(
    ("outcomes", "threshold", "verdict"),
    [
        ([RIGHT, RIGHT, RIGHT, None], 0.75, Verdict.TRUE),  # whatever the last one is
        ([RIGHT, RIGHT, PARTLY, None], 0.75, Verdict.UNKNOWN),
        ([WRONG, WRONG, RIGHT, None], 0.75, Verdict.FALSE),
        ([None], 0.01, Verdict.UNKNOWN),
        ([RIGHT] * 9 + [WRONG], 0.9, Verdict.TRUE),  # 0.9 is the decimal nine tenths
        ([RIGHT, RIGHT, WRONG], 0.67, Verdict.FALSE),
        ([RIGHT], 1, Verdict.TRUE),
        ([RIGHT, PARTLY], 1, Verdict.FALSE),
    ],
)
def test_unknown_outcomes_count_only_where_they_cannot_decide(outcomes, threshold, verdict):
    assert asked(outcomes, threshold=threshold).verdict is verdict


@given(OUTCOMES, st.integers(1, 100))
def test_the_bounds_hold_whatever_the_unknown_outcomes_turn_out_to_be(outcomes, percent):
    bounds, threshold = coverage(outcomes), Fraction(percent, 100)
    filled = [coverage([fill if outcome is None else outcome for outcome in outcomes]) for fill in (WRONG, RIGHT)]
    assert [bounds.low, bounds.high] == [share.low for share in filled] == [share.high for share in filled]
    decided = {share.reaches(threshold) for share in filled}
    assert bounds.reaches(threshold) is (decided.pop() if len(decided) == 1 else None)


def test_an_unknown_claim_is_never_a_pass_on_either_side_of_a_not():
    claims = {"answer.claims": {"claims": [{"id": "a", "text": "A."}]}}
    for document in (claims, {"not": claims}):
        assert judge(parse(document), answer_views("it is so", a=None)).verdict is Verdict.UNKNOWN
        assert judge(parse(document), answer_views("it is so")).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("answer", ["", " \n", None])
def test_an_empty_answer_supports_nothing_and_nobody_need_be_asked(answer):
    claims = parse({"answer.claims": {"claims": [{"id": "a", "text": "A."}]}})
    assert judge(claims, answer_views(answer)).verdict is Verdict.FALSE
    assert judge(claims, answer_views(answer, a=RIGHT)).verdict is Verdict.FALSE


GOOD = {"outcome": "correct", "justification": "It says so."}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (json.dumps(GOOD), RIGHT),
        (f"\n {json.dumps(GOOD)}\n", RIGHT),
        (json.dumps(GOOD | {"outcome": "partially_correct"}), PARTLY),
        (json.dumps(GOOD | {"outcome": "incorrect"}), WRONG),
        (json.dumps(GOOD | {"outcome": "Correct"}), None),
        (json.dumps(GOOD | {"outcome": True}), None),
        (json.dumps(GOOD | {"score": 1}), None),
        (json.dumps({"outcome": "correct"}), None),
        (json.dumps([GOOD]), None),
        (f"```json\n{json.dumps(GOOD)}\n```", None),
        (json.dumps(GOOD) + json.dumps(GOOD), None),
        ('{"outcome": "incorrect", "outcome": "correct", "justification": ""}', None),
        (json.dumps(GOOD | {"justification": "x" * MAX_REPLY}), None),
        ("[" * 1000, None),
        ("correct", None),
        ("", None),
        (None, None),
    ],
)
def test_a_reply_is_read_strictly(reply, outcome):
    assert reply_outcome(reply) is outcome


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"claims": []}, "breaks the rule minItems"),
        ({"claims": [{"id": "a", "text": "A."}] * 33}, "breaks the rule maxItems"),
        ({"claims": [{"id": "a"}]}, "lacks text"),
        ({"claims": [{"id": "A b", "text": "A."}]}, "is not a claim's id"),
        ({"claims": [{"id": "a", "text": "A.", "weight": 2}]}, "has an unknown key (weight)"),
        ({"claims": [{"id": "a", "text": "A."}], "threshold": 0}, "breaks the rule exclusiveMinimum"),
        ({"claims": [{"id": "a", "text": "A."}], "threshold": 1.1}, "breaks the rule maximum"),
        ({"claims": [{"id": "a", "text": "A."}, {"id": "a", "text": "B."}]}, "two claims have the id a;"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_place(arguments, sentence):
    with pytest.raises(Malformed) as error:
        parse({"answer.claims": arguments}, "$.success_predicate")
    assert sentence in str(error.value)
    assert str(error.value).startswith("$.success_predicate")


def test_an_id_names_one_claim_of_the_whole_predicate():
    first, second = ({"answer.claims": {"claims": [{"id": name, "text": "A."}]}} for name in ("a", "b"))
    predicate = parse({"all": [first, {"not": second}]})
    assert [claim.id for claim in claims_of(predicate)] == ["a", "b"]
    with pytest.raises(Malformed, match="two claims have the id a"):
        parse({"any": [first, {"not": first}]})
