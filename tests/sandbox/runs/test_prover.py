"""Tests of the prover: solutions played on the real servers, and final states mutated."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from grammars.admission.prover import Prover
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Lost, Malformed, NotFound, Unavailable
from sandbox.judge import JUDGING, Question
from sandbox.runs.prover import BoxProver
from sandbox.servers.registry import SERVERS
from sandbox.world.frozen import FrozenState
from vault.errors import Malformed as MalformedTask
from verifiers.errors import Malformed as MalformedPredicate
from verifiers.language import predicate as predicates
from verifiers.language.verdict import Verdict
from verifiers.predicates import namespaces

from ...frozen import content

pytestmark = pytest.mark.box

WRITE = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/out.txt", "content": "done"}}
READ = {"tool": "filesystem.read_text_file", "arguments": {"path": "/data/files/in.txt"}}
BRANCH = {
    "tool": "git.git_create_branch",
    "arguments": {"repo_path": "/data/repos/site", "branch_name": "spare", "base_branch": "main"},
}
INSERT = {"tool": "sqlite.write_query", "arguments": {"query": "INSERT INTO people VALUES (2, 'Grace')"}}


def a_draft(**changes):
    """Make one task over all three servers: write a file, make a branch, add a row, and answer."""
    commits = [{"branch": "main", "message": "Begin", "files": {"a.txt": "one\n"}}]
    table = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": [[1, "Ada"]]}
    tools = ["filesystem.write_file", "filesystem.read_text_file", "git.git_create_branch", "sqlite.write_query"]
    more = [f"{name}.{tool}" for name, server in SERVERS.items() for tool in server.tools]
    return {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-aaaaaaaaaaaaaaaa",
        "server": "filesystem",
        "category": "composition",
        "difficulty": "easy",
        "max_steps": 6,
        "goal": "Do it everywhere.",
        "initial_state": {
            "filesystem": {"files": {"in.txt": "7"}},
            "git": {"repositories": {"site": {"commits": commits, "checkout": "main"}}},
            "sqlite": {"tables": {"people": table}},
        },
        "available_tools": tools + [tool for tool in more if tool not in tools][:10],
        "success_predicate": {
            "all": [
                {"filesystem.fileTextEquals": {"path": "out.txt", "text": "done"}},
                {"git.branchExists": {"repository": "site", "branch": "spare"}},
                {"sqlite.rowCount": {"table": "people", "count": 2}},
                {"answer.equals": {"text": "7"}},
            ]
        },
    } | changes


@pytest.fixture(scope="module")
def prover() -> Prover:
    made: Prover = BoxProver(BwrapBox())  # it has the shape that the grammars ask for
    return made


@pytest.fixture(scope="module")
def proved(prover):
    return prover.prove(a_draft(), [READ, WRITE, BRANCH, INSERT], "7")


def test_a_solution_over_all_servers_is_proved(proved):
    assert (proved.verdict, proved.calls, proved.errors) == (Verdict.TRUE, 4, 0)
    assert [child.verdict for child in proved.evidence.children] == [Verdict.TRUE] * 4
    assert [entry["tool"] for entry in proved.log] == [call["tool"] for call in (READ, WRITE, BRANCH, INSERT)]
    assert "7" in proved.log[0]["result"]


def test_the_null_agent_changes_nothing(prover):
    null = prover.prove(a_draft(), [], None)
    assert (null.verdict, null.calls, null.log) == (Verdict.FALSE, 0, [])


def test_the_null_agent_is_judged_as_a_world_that_nobody_changed(prover):
    null, read = prover.prove(a_draft(), [], "7"), prover.prove(a_draft(), [READ], "7")
    assert (null.evidence, null.spent) == (read.evidence, read.spent)
    assert content(null.state.state) == content(read.state.state)


def test_every_proof_has_a_world_of_its_own(prover, proved):
    again = prover.prove(a_draft(), [READ], "7")
    assert [child.verdict for child in again.evidence.children] == [Verdict.FALSE] * 3 + [Verdict.TRUE]


def test_a_call_that_errs_is_counted_and_the_rest_is_played(prover):
    wrong = {"tool": "filesystem.read_text_file", "arguments": {"path": "/data/files/none.txt"}}
    found = prover.prove(a_draft(), [wrong, WRITE], None)
    assert (found.calls, found.errors) == (2, 1)
    assert found.evidence.children[0].verdict is Verdict.TRUE


def test_a_scheduled_fault_meets_the_solution_too(prover):
    fault = {"tool": WRITE["tool"], "call": 1, "error": "busy"}
    draft = a_draft(category="recovery", faults=[fault])
    once, twice = prover.prove(draft, [WRITE], None), prover.prove(draft, [WRITE, WRITE], None)
    assert (once.errors, once.evidence.children[0].verdict) == (1, Verdict.FALSE)
    assert (twice.errors, twice.evidence.children[0].verdict) == (1, Verdict.TRUE)


def test_a_solution_longer_than_the_budget_is_played_and_counted(prover):
    """The gate refuses it as too long, and says how long."""
    assert prover.prove(a_draft(max_steps=1), [WRITE, READ, READ], None).calls == 3


@pytest.mark.parametrize(
    "mutant",
    [
        {"name": "wrong answer", "answer": "8"},
        {"name": "undone", "server": "filesystem", "change": {"remove": "out.txt"}},
    ],
    ids=lambda mutant: mutant["name"],
)
def test_a_mutant_of_a_final_state_fails(prover, proved, mutant):
    assert prover.mutated(a_draft(), proved, [mutant])[0].verdict is Verdict.FALSE
    assert proved.verdict is Verdict.TRUE, "the proved state is left as it was"


def test_a_mutant_of_nothing_is_refused(prover, proved):
    with pytest.raises(Malformed, match="neither a server nor another answer"):
        prover.mutated(a_draft(), proved, [{"name": "what"}])


def test_a_sound_draft_passes_the_checks(prover):
    prover.check(a_draft())


@pytest.mark.parametrize(
    ("changes", "error", "place"),
    [
        ({"max_steps": 0}, MalformedTask, "max_steps"),
        ({"initial_state": {"filesystem": {"files": {"../x": "1"}}}}, Malformed, "files"),
        ({"success_predicate": {"filesystem.isNice": {}}}, MalformedPredicate, "isNice"),
        ({"initial_state": {}, "available_tools": [f"filesystem.made_up_{n}" for n in range(12)]},
         Malformed, r"available_tools\[0\]"),
        ({"initial_state": {}, "available_tools": [f"filesystem.{t}" for t in SERVERS["filesystem"].tools][:12]},
         Malformed, "success_predicate looks at git"),
    ],
)  # fmt: skip
def test_a_draft_that_cannot_be_is_refused_with_the_place(prover, changes, error, place):
    with pytest.raises(error, match=place):
        prover.check(a_draft(**changes))


def test_descriptions_are_those_of_the_pinned_servers(prover):
    found = prover.descriptions(["filesystem.write_file", "sqlite.write_query"])
    assert found["filesystem.write_file"] == SERVERS["filesystem"].tools["write_file"]["description"]
    with pytest.raises(NotFound, match=r"git\.push"):
        prover.descriptions(["git.push"])


def test_a_world_that_is_lost_proves_nothing_and_says_so():
    class Lossy(BwrapBox):
        def world(self, servers, state, limits):
            world = super().world(servers, state, limits)
            world.close()
            return world

    with pytest.raises((Lost, Unavailable)):
        BoxProver(Lossy()).prove(a_draft(), [WRITE], None)
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))


def test_a_server_that_does_not_start_is_our_fault_and_no_verdict_on_the_draft(monkeypatch):
    broken = replace(SERVERS["sqlite"], command=["/usr/bin/false"])
    monkeypatch.setattr("sandbox.runs.task_world.SERVERS", {**SERVERS, "sqlite": broken})
    with pytest.raises(Lost, match="the server sqlite was lost"):
        BoxProver(BwrapBox()).prove(a_draft(), [INSERT], None)


def judged(state, answer):
    """Judge a state that was kept as a document, as somebody does who has the release alone."""
    asked = a_draft()["success_predicate"]
    question = Question(asked, predicates.parse(asked), {name: name for name in state})
    given = FrozenState.of_document(json.loads(json.dumps(state)))
    return JUDGING.verdict(question, given, answer, lambda: given).evidence


def test_an_end_state_is_judged_from_its_document_as_it_was_in_its_world(prover, proved):
    state = prover.end_state(a_draft(), proved)
    assert sorted(state) == ["filesystem", "git", "sqlite"]
    assert base64.b64decode(state["filesystem"]["out.txt"]["data"]) == b"done"
    assert judged(state, "7") == proved.evidence


@pytest.mark.parametrize(
    "mutant",
    [
        {"name": "gone", "server": "filesystem", "change": {"remove": "out.txt"}},
        {"name": "another answer", "answer": "8"},
    ],
)
def test_a_mutant_is_judged_from_its_document_as_it_was_where_it_was_made(prover, proved, mutant):
    state = prover.end_state(a_draft(), proved, mutant)
    evidence = judged(state, mutant.get("answer", "7"))
    assert evidence == prover.mutated(a_draft(), proved, [mutant])[0]
    assert evidence.verdict is Verdict.FALSE


def test_an_added_server_that_writes_when_it_starts_spoils_a_solution_that_does_not_call_it(monkeypatch, tmp_path):
    """An agent may well start it: a task whose goal promises that its state stays must not be admitted."""
    for name in ("_KINDS", "_OWN", "_ENTRIES"):
        monkeypatch.setattr(namespaces, name, dict(getattr(namespaces, name)))
    monkeypatch.setattr(SERVERS, "_servers", {**SERVERS})
    program = "import time; open('/data/diary/started', 'w').write(str(time.time())); time.sleep(60)"
    like, tools = SERVERS["filesystem"], {"write": next(iter(SERVERS["filesystem"].tools.values()))}
    command = [SERVERS["git"].command[0], "-c", program]
    diary = replace(like, name="diary", root="diary", command=command, environment={}, tools=tools, folder=tmp_path)
    SERVERS.add(diary)
    holds = {"all": [{"filesystem.fileTextEquals": {"path": "out.txt", "text": "done"}}, {"diary.unchanged": {}}]}
    listed = ["diary.write", *(f"filesystem.{tool}" for tool in like.tools)]
    draft = a_draft(initial_state={}, available_tools=listed, success_predicate=holds)
    assert BoxProver(BwrapBox()).prove(draft, [WRITE], None).verdict is Verdict.FALSE
