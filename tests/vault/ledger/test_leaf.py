"""Tests of statements: the parser reads what the builders write, and nothing else."""

import copy
import json
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from freezing.statement_schemas import files, schema
from vault.errors import Malformed
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical

from ..builders import signer

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "statements"
TASK = "t-abcdefghijklmnop"
OTHER = "t-ponmlkjihgfedcba"
H = bytes(range(32))


def cohort(*tasks, month="2026-12"):
    return {"id": f"cohort-{month}", "retires": month, "count": len(tasks), "root": H.hex(), "tasks": list(tasks)}


def a_set(**other):
    facts = {
        "month": "2026-12",
        "root": H,
        "previous": None,
        "cohorts": [cohort(TASK), cohort(OTHER, month="2027-01")],
        "reserve": {"git/recovery/hard": [H.hex()]},
        "counts": {"unseen": 2, "seen": 0},
        "next_draw": H,
        "public_grammar": False,
        "plan": {"cohorts": 2, "lifetime": "P2M"},
        "servers": {"git": H.hex()},
        "judge": {"anchors": H.hex(), "parameters": H.hex(), "rubric": H.hex()},
        "month_key": H,
        "access_log": (3, H),
        "spot_check": H,
    }
    return leaf.set_of_tasks(**(facts | other))


def a_run(**other):
    facts = {"run": 7, "commitment": H, "month": "2026-12", "track": "docker", "set_root": H}
    return leaf.run_open(**(facts | {"cohorts": ["cohort-2026-12"], "size": 3, "root": H, "judge": H.hex()} | other))


def a_score(**other):
    facts = {"run": 7, "month": "2026-12", "track": "docker", "count": 1, "results_root": H}
    return leaf.score(**(facts | {"totals": [("cohort-2026-12", H)]} | other))


def keys():
    return leaf.key(old=signer(1, "o"), new=signer(2, "o"), size=9)


GOOD = {
    "commit": leaf.commit(TASK, H, spec="1.0.0", provenance=H, public_grammar=False),
    "set": a_set(),
    "run-open": a_run(),
    "score": a_score(),
    "abort": leaf.abort(run=7, month="2026-12", reason="ours", commitment=H),
    "retire": leaf.retire(
        month="2026-12",
        cohort="cohort-2026-12",
        manifest=H.hex(),
        tasks=[{"id": TASK, "commitment": H.hex(), "sha256": H.hex()}],
        spot_check={"seed": H.hex(), "salt": H.hex(), "chosen": 9, "judged": 8, "differed": 1},
        draw_seeds=[{"set": 3, "seed": H.hex(), "salt": H.hex()}],
    ),
    "withdraw": leaf.withdraw(TASK, H, month="2026-12", cause="leak", reason="it leaked", replacement=OTHER),
    "key": keys(),
}


def test_every_kind_has_a_builder():
    assert list(GOOD) == list(leaf.STATEMENTS)


@pytest.mark.parametrize("kind", GOOD)
def test_built_statements_are_parsed(kind):
    found = leaf.Statement.parse(GOOD[kind])
    assert found.kind == kind
    document = json.loads(GOOD[kind])
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == f"urn:quarterturn:{kind}:v1"
    assert leaf.statement(kind, found.name, found.digest, found.predicate) == GOOD[kind]


def paths(value, way=()):
    yield way
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*way, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from paths(item, (*way, place))


@pytest.mark.parametrize(
    "build",
    [
        lambda: leaf.commit("task 1", H, spec="1.0.0", provenance=H, public_grammar=False),
        lambda: leaf.commit(TASK, H[:31], spec="1.0.0", provenance=H, public_grammar=False),
        lambda: leaf.commit(TASK, H, spec="1.0", provenance=H, public_grammar=False),
        lambda: a_set(month="2026-13"),
        lambda: a_set(reserve={"git": []}),
        lambda: a_set(servers={"Git": H.hex()}),
        lambda: a_set(plan={"cohorts": 0, "lifetime": "P4M"}),
        *(
            lambda lifetime=lifetime: a_set(plan={"cohorts": 4, "lifetime": lifetime})
            for lifetime in ("P0M", "P04M", "P1000W", "P4D", "P1Y4M", "4M", "P4M\n")
        ),
        lambda: a_run(run=0),
        lambda: a_run(size=0),
        lambda: a_run(track="Docker Image"),
        lambda: a_score(count=0),
        lambda: leaf.abort(run=7, month="2026-12", reason="The submitter Jane asked", commitment=H),
        lambda: leaf.statement("rumour", "x", H.hex(), {}),
        lambda: a_set(reserve={"git/recovery/hard": [H.hex()] * 1000}),
    ],
)
def test_statements_that_are_not_built(build):
    with pytest.raises(Malformed):
        build()


def test_the_error_says_where():
    with pytest.raises(Malformed, match=r"\$\.predicate\.cohorts\[0\]\.tasks\[0\] must be a task's id"):
        a_set(cohorts=[cohort("nonsense")])


OTHERS = (None, True, -1, 0, 1.5, "", "x", "A" * 64, "a" * 1025, [], {}, ["x"], {"x": 1})


def changed(document):
    """Yield a statement with one value replaced, one key left out, or one key more."""
    for path in paths(document):
        for other in OTHERS:
            yield put(document, path, other)
        at = reduce(getitem, path, document)
        if isinstance(at, dict):
            yield put(document, path, at | {"more": 1})
            yield from (put(document, path, {k: v for k, v in at.items() if k != key}) for key in at)
        if isinstance(at, list):
            yield put(document, path, at * 2)


def put(document, path, value):
    if not path:
        return value
    made = copy.deepcopy(document)
    reduce(getitem, path[:-1], made)[path[-1]] = value
    return made


def test_the_docs_have_the_schema_of_each_kind():
    assert {path.name: path.read_text() for path in DOCS.iterdir()} == files()


@pytest.mark.parametrize("kind", GOOD)
def test_schema_and_parser_refuse_the_same(kind):
    document, validator = json.loads(GOOD[kind]), Draft202012Validator(schema(kind))
    validator.check_schema(validator.schema)
    assert validator.is_valid(document)
    refused = 0
    for other in changed(document):
        if isinstance(other, dict) and str(other.get("predicateType")) != document["predicateType"]:
            continue  # of another kind, or of none
        try:
            leaf.Statement.parse(canonical(other))
        except Malformed:
            refused += 1
            assert not validator.is_valid(other), other
        else:
            assert validator.is_valid(other), other
    assert refused > 50
