"""Test of a task on the forge in a real world, started by the first call and judged by a predicate."""

from __future__ import annotations

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.runs.prover import BoxProver
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict

from ...builders import a_task

SITE = {
    "commits": [
        {"branch": "main", "message": "Begin", "files": {"index.html": "<p>hi</p>\n"}},
        {"branch": "draft", "from": "main", "message": "Add a footer", "files": {"footer.html": "bye\n"}},
    ],
    "issues": [{"title": "No footer", "user": "bob", "body": "Add one."}],
    "pulls": [{"title": "A footer", "head": "draft", "base": "main", "user": "bob", "body": "Fixes #1"}],
}
HERE = {"repository": "ada/site"}
TASK = a_task(
    "github",
    max_steps=8,
    goal="Approve and merge bob's pull request, and write down in notes.txt which issue that closed.",
    initial_state={
        "github": {"users": [{"login": "ada"}, {"login": "bob"}], "repositories": {"ada/site": SITE}},
        "filesystem": {},
    },
    available_tools=["filesystem.write_file", *[f"github.{tool}" for tool in SERVERS["github"].tools][-14:]],
    success_predicate={
        "all": [
            {"github.prReviewed": {**HERE, "pull": "draft", "state": "APPROVED", "by": "ada"}},
            {"github.prMerged": {**HERE, "pull": "draft", "into": "main"}},
            {"github.issueState": {**HERE, "issue": 1, "state": "closed"}},
            {"github.fileAtBranch": {**HERE, "branch": "main", "path": "footer.html", "text": "bye\n"}},
            {"filesystem.fileTextEquals": {"path": "notes.txt", "text": "1"}},
        ]
    },
).document
PULL = {"owner": "ada", "repo": "site", "pull_number": 2}
REVIEW = {"tool": "github.create_pull_request_review", "arguments": {**PULL, "body": "Good", "event": "APPROVE"}}
MERGE = {"tool": "github.merge_pull_request", "arguments": PULL}
NOTE = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/notes.txt", "content": "1"}}


def solved(box):
    prover = BoxProver(box)
    prover.check(TASK)
    proved = prover.prove(TASK, [REVIEW, MERGE, NOTE], None)
    assert (proved.verdict, proved.errors) == (Verdict.TRUE, 0), proved.log
    return prover, proved


@pytest.mark.box
def test_a_solution_is_proved_and_its_mutants_fail():
    prover, proved = solved(BwrapBox())
    for change in (
        {"issue": {"number": 2, "merged": False}},
        {"branch": {"name": "main", "at": "main~1"}},
        {"issue": {"number": 1, "state": "open"}},
        {"drop_reviews": 2},
    ):
        mutant = {"name": "m", "server": "github", "change": {**HERE, **change}}
        assert prover.mutated(TASK, proved, [mutant])[0].verdict is Verdict.FALSE


@pytest.mark.full
@pytest.mark.box
def test_doing_nothing_or_failing_is_no_solution():
    prover = BoxProver(BwrapBox())
    assert prover.prove(TASK, [], None).verdict is Verdict.FALSE
    twice = prover.prove(TASK, [MERGE, MERGE, NOTE], None)
    assert (twice.errors, twice.verdict) == (1, Verdict.FALSE)
    assert "not mergeable" in str(twice.log[1])


@pytest.mark.engine
def test_the_image_has_all_that_it_takes():
    solved(DockerBox())
