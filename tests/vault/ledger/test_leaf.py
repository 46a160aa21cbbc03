"""Statements: what the builders write the parser reads, and nothing else."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Malformed
from vault.ledger import leaf
from vault.ledger.jcs import canonical
from vault.ledger.note import Signer

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
    }
    return leaf.set_of_tasks(**(facts | other))


def a_run(**other):
    facts = {"run": 7, "commitment": H, "month": "2026-12", "track": "docker", "set_root": H}
    return leaf.run_open(**(facts | {"cohorts": ["cohort-2026-12"], "size": 3, "root": H} | other))


def a_score(**other):
    facts = {"run": 7, "month": "2026-12", "track": "docker", "count": 1, "results_root": H}
    return leaf.score(**(facts | {"totals": [("cohort-2026-12", H)]} | other))


def keys():
    old, new = (Signer("o", Ed25519PrivateKey.from_private_bytes(bytes([n] * 32))).verifier for n in (1, 2))
    return leaf.key(old=old, new=new)


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
    ),
    "withdraw": leaf.withdraw(TASK, H, month="2026-12", reason="it leaked", replacement=OTHER),
    "key": keys(),
}


def test_there_is_a_builder_for_every_kind():
    assert list(GOOD) == list(leaf.KINDS)


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_built_is_read(kind):
    found = leaf.Statement.parse(GOOD[kind])
    assert found.kind == kind
    assert canonical(found.document()) == GOOD[kind]
    document = json.loads(GOOD[kind])
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == f"urn:quarterturn:{kind}:v1"
    assert leaf.statement(kind, found.name, next(iter(found.digest.values())), found.predicate) == GOOD[kind]


def paths(value, way=()):
    yield way
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*way, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from paths(item, (*way, place))


def with_change(document, way, change):
    document = json.loads(json.dumps(document))
    holder = document
    for step in way[:-1]:
        holder = holder[step]
    change(holder, way[-1])
    return canonical(document)


FREE = {("predicate", "reserve", "git/recovery/hard"), ("predicate", "reserve", "git/recovery/hard", 0)}
LISTS = {("predicate", "cohorts", 0), ("predicate", "totals", 0), ("predicate", "tasks", 0)}


@pytest.mark.parametrize("kind", GOOD)
def test_every_place_is_checked(kind):
    document = json.loads(GOOD[kind])
    for way in paths(document):
        if not way:
            continue
        with pytest.raises(Malformed, match="the leaf is no statement"):
            leaf.Statement.parse(with_change(document, way, lambda holder, key: holder.__setitem__(key, [[0.5]])))
        if isinstance(way[-1], str) and way not in FREE:
            with pytest.raises(Malformed):
                leaf.Statement.parse(with_change(document, way, lambda holder, key: holder.pop(key)))
            with pytest.raises(Malformed):
                leaf.Statement.parse(with_change(document, way, lambda holder, key: holder.__setitem__("x", 1)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: leaf.commit("task 1", H, spec="1.0.0", provenance=H, public_grammar=False),
        lambda: leaf.commit(TASK, H[:31], spec="1.0.0", provenance=H, public_grammar=False),
        lambda: leaf.commit(TASK, H, spec="1.0", provenance=H, public_grammar=False),
        lambda: a_set(month="2026-13"),
        lambda: a_set(cohorts=[cohort(TASK), cohort(TASK, month="2027-01")]),
        lambda: a_set(cohorts=[cohort(TASK) | {"id": "cohort-2027-01"}]),
        lambda: a_set(cohorts=[cohort(TASK) | {"count": 2}]),
        lambda: a_set(reserve={"git": []}),
        lambda: a_run(run=0),
        lambda: a_run(size=0),
        lambda: a_run(track="Docker Image"),
        lambda: a_score(count=0),
        lambda: leaf.abort(run=7, month="2026-12", reason="The submitter Jane asked", commitment=H),
        lambda: leaf.statement("rumour", "x", H.hex(), {}),
        lambda: leaf.statement("abort", "run/8", H.hex(), {"run": 7, "month": "2026-12", "reason": "ours"}),
        lambda: a_set(reserve={"git/recovery/hard": [H.hex()] * 1000}),
    ],
)
def test_statements_that_are_not_built(build):
    with pytest.raises(Malformed):
        build()


def test_the_error_says_where():
    with pytest.raises(Malformed, match=r"\$\.predicate\.cohorts\[0\]\.tasks\[0\] must be a task's id"):
        a_set(cohorts=[cohort("nonsense")])
