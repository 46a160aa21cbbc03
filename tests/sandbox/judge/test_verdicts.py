"""Tests that verdicts through a reader and a judge equal those of the same code in one process."""

import json
from dataclasses import replace
from io import BytesIO

import pytest

from sandbox.errors import Malformed
from sandbox.judge import differences
from sandbox.judge.state_judge import MutatedCase
from sandbox.world.frozen import FrozenState
from verifiers.budget import MAX_JUDGED
from verifiers.formats.archive import tree_from_tar
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.linear_regex import CHARACTERS
from verifiers.tree import DIRECTORY, FileTree, JudgeInput, Node

SEED = FileTree({"a.txt": Node("file", b"hello\n")})
THERE, GONE = {"filesystem.fileExists": {"path": "a.txt"}}, {"filesystem.fileExists": {"path": "b"}}


@pytest.mark.slow
@pytest.mark.parametrize("namespace", sorted({name.partition(".")[0] for name in CATALOGUE}))
def test_every_predicate_says_the_same_through_the_processes(judging, question, left, namespace):
    for name, entry in CATALOGUE.items():
        if name.partition(".")[0] != namespace:
            continue
        document = {name: dict(entry.example.arguments)}
        for make, expected in ((entry.example.holds, Verdict.TRUE), (entry.example.fails, Verdict.FALSE)):
            views = make()
            state = left(**views.states)
            asked = replace(question(document, *views.states), replies=views.replies)
            before = left(**(views.baseline or views.states))
            judged = judging.verdict(asked, state, views.answer, lambda: before)  # noqa: B023
            assert judged.evidence == judge(parse(document), views), name
            assert judged.verdict is expected, name


def test_an_answer_and_several_states_are_judged_together(judging, question, left):
    document = {"all": [THERE, {"not": GONE}, {"answer.equals": {"text": "42"}}]}
    asked, state = question(document, "filesystem"), left(filesystem=SEED)
    judged = judging.verdict(asked, state, "42", lambda: state)
    assert judged.evidence == judge(parse(document), JudgeInput({"filesystem": SEED}, "42"))
    assert judged.verdict is Verdict.TRUE
    assert not judged.again
    assert judging.verdict(asked, state, "43", lambda: state).verdict is Verdict.FALSE


def test_a_folder_that_an_agent_removed_is_empty_and_not_missing(judging, question, left):
    judged = judging.verdict(question({"not": GONE}, "filesystem"), left(), None, left)
    assert judged.verdict is Verdict.TRUE


def test_a_state_that_was_not_handed_over_is_unknown(judging, question, left):
    assert judging.verdict(question(THERE), left(filesystem=SEED), None, left).verdict is Verdict.UNKNOWN


def test_the_share_that_a_verdict_spent_is_that_of_judging_where_it_is_larger(judging, question, left):
    state = left(filesystem=FileTree({"a.txt": Node("file", b"a" * 400_000)}))
    matched = {"filesystem.fileMatches": {"path": "a.txt", "pattern": "b"}}
    shares = [judging.verdict(question(asked, "filesystem"), state, None, left).spent for asked in (THERE, matched)]
    assert shares[0] < 0.01
    assert shares[1] >= 400_000 / CHARACTERS / MAX_JUDGED


def test_changes_are_made_where_the_state_is_read(judging, question, left):
    asked, state = question(THERE, "filesystem"), left(filesystem=SEED)
    cases = [MutatedCase((), None), MutatedCase([("filesystem", {"remove": "a.txt"})], None)]
    assert [found.verdict for found in judging.mutated(asked, state, cases)] == [Verdict.TRUE, Verdict.FALSE]


def test_every_mutant_of_an_end_state_is_judged(judging, question, left):
    document = {"all": [THERE, {"answer.equals": {"text": "42"}}]}
    made = judging.mutants(question(document, "filesystem"), left(), left(filesystem=SEED), "42")
    broken = [verdict for _, kind, verdict in made if kind == "broken"]
    assert broken == [Verdict.FALSE, Verdict.FALSE]
    assert {kind for _, kind, _ in made} == {"broken", "mistake"}


def test_a_state_is_given_as_a_document_of_what_the_predicate_looks_at(judging, question, left):
    asked, state = question(THERE, "filesystem", "git"), left(filesystem=SEED, git=SEED)
    file = {"kind": "file", "mode": 0o644, "data": "aGVsbG8K"}
    assert judging.document(asked, state) == {"filesystem": {"a.txt": file}}
    assert judging.document(asked, state, [("filesystem", {"remove": "a.txt"})]) == {"filesystem": {}}
    assert judging.document(asked, left(git=SEED)) == {"filesystem": {}}


@pytest.mark.parametrize(
    "tree",
    [
        FileTree({"secret": Node("file", b"x" * 900_000)}),
        FileTree({"secret\udcff": Node("file")}),
        FileTree({f"secret/{number}": Node("file") for number in range(9000)}),
    ],
)
def test_a_state_that_no_release_could_hold_is_refused_and_not_quoted(judging, question, left, tree):
    with pytest.raises(Malformed, match="the end state is no document") as raised:
        judging.document(question(THERE, "filesystem"), left(filesystem=tree))
    assert "secret" not in str(raised.value)


def test_a_state_is_compared_with_the_one_before_it_where_neither_is_read_by_the_runner(judging, question, left):
    before, after = left(filesystem=SEED), left(filesystem=FileTree({"b.txt": Node("file", b"\xed\xa0\x80 new")}))
    made = judging.differences(question(THERE, "filesystem"), before, after)["filesystem"]
    assert [(change.kind, change.item) for change in made.changes] == [
        ("added", "file b.txt"),
        ("removed", "file a.txt"),
    ]
    changes = [("filesystem", {"remove": "b.txt"})]
    gone = judging.differences(question(THERE, "filesystem"), before, after, changes)["filesystem"]
    assert [change.kind for change in gone.changes] == ["removed"]


@pytest.mark.parametrize("namespace", ["filesystem", "git", "sqlite", "memory", "github"])
def test_a_file_beside_the_servers_folders_is_a_change_and_an_empty_folder_is_none(judging, question, left, namespace):
    views = CATALOGUE[f"{namespace}.unchanged"].example.holds()
    asked = question({f"{namespace}.unchanged": {}}, namespace)
    before = left(**views.baseline)
    tree = {**tree_from_tar(BytesIO(before.tar)), "another": DIRECTORY}  # of a server that a kept world had before
    seen = []
    for more in ({}, {"copy.db": Node("file", b"x")}):
        state = FrozenState(FileTree({**tree, **more}).to_tar())
        seen.append(judging.verdict(asked, state, None, lambda: before).evidence)
    assert [evidence.verdict for evidence in seen] == [Verdict.TRUE, Verdict.FALSE]
    assert "file ../copy.db, added" in seen[1].found


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"differences": {}},
        {"differences": {"a": {"changes": [], "left_out": 0}}},
        {"differences": {"a": {"changes": [["moved", "x", {}, {}]], "left_out": 0, "unknown": ""}}},
        {"differences": {"a": {"changes": [["added", "x", {}, {"text": 1}]], "left_out": 0, "unknown": ""}}},
        {"differences": {"a": {"changes": [["added", "x", {}, []]], "left_out": 0, "unknown": ""}}},
    ],
)
def test_a_judges_reply_about_a_difference_is_trusted_for_nothing_beyond_its_shape(reply):
    with pytest.raises(Malformed):
        differences.parsed(json.dumps(reply).encode(), ["a"])
