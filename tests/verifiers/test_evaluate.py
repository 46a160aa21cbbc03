"""Tests of evaluation in three values: complete evidence, lasting unknowns, and broken states that win nothing."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.formats.snapshot import written
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict, all_of, any_of
from verifiers.quoting import listed, quoted
from verifiers.states.files import predicates as filesystem
from verifiers.states.files.examples import files
from verifiers.tree import JudgeInput, tree_of

TRUE, FALSE, UNKNOWN = Verdict.TRUE, Verdict.FALSE, Verdict.UNKNOWN
HERE = {"filesystem.fileExists": {"path": "here"}}
GONE = {"filesystem.fileExists": {"path": "gone"}}
UNSEEN = {"git.branchExists": {"repository": "r", "branch": "b"}}  # no git view is given below
VIEWS = files({"here": ""})


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"all": [HERE, HERE]}, TRUE),
        ({"all": [HERE, UNSEEN]}, UNKNOWN),
        ({"all": [UNSEEN, GONE]}, FALSE),
        ({"any": [UNSEEN, HERE]}, TRUE),
        ({"any": [UNSEEN, GONE]}, UNKNOWN),
        ({"any": [GONE, GONE]}, FALSE),
        ({"not": UNSEEN}, UNKNOWN),
        ({"not": GONE}, TRUE),
        ({"not": {"all": [UNSEEN, GONE]}}, TRUE),
    ],
)
def test_kleenes_tables(document, expected):
    assert judge(parse(document), VIEWS).verdict is expected


@given(st.lists(st.sampled_from(Verdict), min_size=1))
def test_de_morgan_holds_in_three_values(values):
    assert all_of(values).negated() is any_of([value.negated() for value in values])


def test_every_operand_leaves_evidence_also_after_the_decision():
    tree = judge(parse({"all": [GONE, {"any": [HERE, GONE]}]}), VIEWS).as_json()
    assert tree["verdict"] == "false"
    assert [child["verdict"] for child in tree["children"]] == ["false", "true"]
    assert [child["verdict"] for child in tree["children"][1]["children"]] == ["true", "false"]
    assert tree["children"][0]["looked_at"] == {"path": "gone"}
    assert tree["children"][0]["found"] == 'there is nothing at "gone"'


def test_a_missing_view_is_unknown_and_says_so():
    evidence = judge(parse(HERE), JudgeInput())
    assert evidence.verdict is UNKNOWN
    assert "the state of filesystem" in evidence.found


def test_no_answer_is_a_fail_and_not_unknown():
    evidence = judge(parse({"answer.contains": {"text": "a"}}), JudgeInput())
    assert (evidence.verdict, evidence.found) == (FALSE, "the agent gave no answer")


WRECKED = JudgeInput({"sqlite": tree_of({"main.db": b"not a database at all"}), "filesystem": tree_of({"here": ""})})
ROW = {"sqlite.rowExists": {"table": "t", "where": {"id": 1}}}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (ROW, FALSE),
        ({"not": ROW}, FALSE),
        ({"not": {"not": ROW}}, FALSE),
        ({"all": [HERE, {"not": ROW}]}, FALSE),
        ({"any": [HERE, {"not": ROW}]}, TRUE),
        ({"not": {"any": [ROW, GONE]}}, FALSE),
        ({"not": {"all": [ROW, GONE]}}, TRUE),
    ],
)
def test_wrecking_a_database_proves_nothing_on_either_side_of_a_not(document, expected):
    assert judge(parse(document), WRECKED).verdict is expected


def test_an_internal_defect_is_unknown_and_quotes_nothing(monkeypatch):
    def broken(data, expected):
        raise RuntimeError(data)

    monkeypatch.setattr(filesystem, "difference", broken)
    evidence = judge(parse({"filesystem.fileTextEquals": {"path": "a", "text": "x"}}), files({"a": "secret"}))
    assert evidence.verdict is UNKNOWN
    assert "RuntimeError" in evidence.found
    assert "secret" not in evidence.found


def test_evidence_of_hostile_bytes_is_plain_json():
    hostile = "\udcff\x1b[31m\u202e" * 100
    views = JudgeInput({"filesystem": tree_of({hostile[:9]: b"\xff\xfe" * 999, "a": b"\xff\x00"})}, answer=hostile)
    document = {
        "all": [
            {"filesystem.directoryHasOnly": {"path": ".", "names": []}},
            {"filesystem.fileTextEquals": {"path": "a", "text": "x"}},
            {"filesystem.fileLines": {"path": "a", "lines": ["x"]}},
            {"answer.equals": {"text": "x"}},
            {"answer.set": {"items": ["x"]}},
        ]
    }
    text = json.dumps(judge(parse(document), views).as_json(), ensure_ascii=False)
    assert text.encode()  # no lone surrogate
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_sentence_is_cut_and_printable_whatever_a_state_calls_things():
    keys = {"k": {"type": "\u202e\udcff" * 5000, "value": None, "left": None}}
    views = JudgeInput({"redis": written({"keys": keys})})
    found = judge(parse({"redis.keyExists": {"key": "k", "type": "list"}}), views).found
    assert found.startswith('"k" is a \\u202e\\udcff')
    assert found.encode()
    assert len(found) < 20_000


ODD = [10**5000, -(10**400), float("nan"), Fraction(10**400, 3), [[]] * 10**6, {"a": {1}}]


@pytest.mark.parametrize("value", ODD, ids=["large", "small", "nan", "fraction", "long", "a set"])
def test_quotations_are_short_and_nothing_is_raised(value):
    assert len(quoted(value)) <= 121
    nested = value
    for _ in range(5000):
        nested = [nested]
    assert quoted(nested).startswith("[[[[")
    assert listed([value] * 99).endswith("and 87 more")


def test_evidence_keeps_secrets_out_of_its_repr():
    evidence = judge(parse({"answer.equals": {"text": "xyzzy"}}), JudgeInput(answer="xyzzy plugh"))
    assert "xyzzy" not in repr(evidence)
