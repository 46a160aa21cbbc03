"""Predicates over a forge: what they ask of the state file, what of git, and what wreckage comes to."""

from __future__ import annotations

import json

import pytest

from verifiers.evaluate import evaluate
from verifiers.forge import FILE
from verifiers.forge_examples import ISSUE, PULL, forge
from verifiers.predicate import parse
from verifiers.verdict import Verdict
from verifiers.views import Node, Tree, Views

SITE = {"repository": "acme/site"}


def verdict(views, name, **arguments):
    return evaluate(parse({f"github.{name}": {**SITE, **arguments}}), views).verdict.value


def denied(views, name, **arguments):
    return evaluate(parse({"not": {f"github.{name}": {**SITE, **arguments}}}), views).verdict.value


def with_state(views, change):
    """Change the state file, as a JSON document or as bytes."""
    tree = views.states["github"]
    data = json.loads(tree[FILE].data)
    changed = change(data)
    data = changed if isinstance(changed, bytes) else json.dumps(data).encode()
    return Views({"github": Tree({**tree, FILE: Node("file", data)})})


def test_a_repository_is_found_whatever_its_case():
    assert verdict(forge(), "repositoryExists", repository="Acme/SITE") == "true"
    assert verdict(forge(), "repositoryExists", repository="acme/other") == "false"
    assert denied(forge(), "repositoryExists", repository="acme/other") == "true", "what is lacking is not wreckage"


def test_an_issue_is_named_by_number_or_by_title():
    views = forge({**ISSUE, "state": "closed", "state_reason": "not_planned"})
    assert verdict(views, "issueState", issue=1, state="closed") == "true"
    assert verdict(views, "issueState", issue="Menu", state="closed", reason="not_planned") == "true"
    assert verdict(views, "issueState", issue="Menu", state="closed", reason="completed") == "false"
    assert verdict(views, "issueState", issue="menu", state="closed") == "false", "titles are exact"
    assert verdict(views, "issueState", issue="A footer", state="open") == "false", "a pull request has a branch"
    assert verdict(views, "issueState", issue=2, state="open") == "true", "but a number of the same row"


def test_one_of_several_issues_of_a_title_is_enough():
    def twin(data):
        issues = data["repositories"]["acme/site"]["issues"]
        issues["3"] = {**issues["1"], "number": 3, "labels": ["bug"]}

    views = with_state(forge(), twin)
    assert verdict(views, "issueHasLabel", issue="Menu", label="BUG") == "true"
    assert verdict(views, "issueHasLabel", issue=1, label="bug") == "false"
    assert verdict(views, "issueCount", count=2, title_contains="Me") == "true"
    assert verdict(views, "issueCount", count=1, label="bug") == "true"


@pytest.mark.parametrize(
    ("labels", "asked", "expected"),
    [(["bug"], ["bug"], "true"), (["bug", "x"], ["bug"], "false"), ([], [], "true"), (["Bug"], ["bug"], "true")],
)
def test_labels_are_just_these(labels, asked, expected):
    assert verdict(forge({**ISSUE, "labels": labels}), "issueLabels", issue=1, labels=asked) == expected


def test_a_comment_counts_for_who_wrote_it():
    views = forge({**ISSUE, "comments": [{"user": "ada", "body": "On it \n"}, {"user": "bob", "body": "Thanks"}]})
    assert verdict(views, "issueCommented", number=1, equals="On it", by="ADA") == "true"
    assert verdict(views, "issueCommented", number=1, equals="On it", by="bob") == "false"
    assert verdict(views, "issueCommented", number=1, contains="hank") == "true"
    assert verdict(views, "issueCommented", number=9, contains="hank") == "false"


def test_merged_means_that_the_base_still_has_it():
    assert verdict(forge(merged=True), "prMerged", pull="draft", into="main", method="squash") == "true"
    assert verdict(forge(merged=True), "prMerged", pull="draft", method="merge") == "false"
    assert verdict(forge(merged=True), "prMerged", pull="draft", into="other") == "false"

    def elsewhere(data):
        pull = data["repositories"]["acme/site"]["issues"]["2"]["pull"]
        pull["merge_commit"] = pull["head"]["sha"]

    rewound = with_state(forge(merged=True), elsewhere)
    assert verdict(rewound, "prMerged", pull=2) == "false", "the branch was moved away from what was merged"


def test_a_closed_pull_request_is_neither_open_nor_merged():
    closed = forge({**PULL, "state": "closed"})
    assert verdict(closed, "prClosed", pull=2) == "true"
    assert verdict(closed, "prOpen", head="draft") == "false"
    assert verdict(closed, "prMerged", pull=2) == "false"
    assert verdict(forge(merged=True), "prClosed", pull=2) == "false"


def test_an_open_pull_request_is_as_it_is_asked_for():
    views = forge({**PULL, "body": "Adds a footer"})
    assert verdict(views, "prOpen", head="draft", base="main", title="A footer", body_contains="Adds") == "true"
    assert verdict(views, "prOpen", head="acme:draft", draft=False) == "true"
    for wrong in ({"base": "other"}, {"title": "Footer"}, {"draft": True}, {"body_contains": "no"}):
        assert verdict(views, "prOpen", head="draft", **wrong) == "false"
    assert verdict(views, "prOpen", head="eve:draft") == "false"


def test_reviews_have_a_state_an_author_and_a_text():
    views = forge({**PULL, "reviews": [{"user": "ada", "state": "CHANGES_REQUESTED", "body": "Shorter, please"}]})
    assert verdict(views, "prReviewed", pull=2, state="CHANGES_REQUESTED", by="ada", contains="Shorter") == "true"
    assert verdict(views, "prReviewed", pull=2, state="APPROVED") == "false"
    assert verdict(views, "prReviewed", pull=2, state="CHANGES_REQUESTED", by="bob") == "false"


def test_files_branches_and_history_are_looked_up_in_git():
    merged = forge(merged=True)
    assert verdict(merged, "fileAtBranch", branch="main", path="footer.html", text="bye", trim=True) == "true"
    assert verdict(merged, "fileAtBranch", branch="main", path="footer.html", text="bye") == "false"
    assert verdict(merged, "fileAtBranch", branch="main~1", path="footer.html", text="bye\n") == "false"
    assert verdict(merged, "fileAbsentAtBranch", branch="main~1", path="footer.html") == "true"
    assert verdict(merged, "commitCount", branch="main", count=2) == "true"
    assert verdict(merged, "headMessage", branch="main", contains="(#2)") == "true"
    assert verdict(merged, "branchAt", branch="main", same_as="draft") == "false"
    assert verdict(merged, "commitCount", branch="gone", count=2) == "false"


def test_a_fork_is_the_accounts_own():
    views = forge(fork="ada/copy")
    tree = parse({"github.forkExists": {"of": "acme/site", "owner": "Ada"}})
    assert evaluate(tree, views).verdict is Verdict.TRUE
    assert evaluate(parse({"github.forkExists": {"of": "acme/site", "owner": "bob"}}), views).verdict is Verdict.FALSE


# -- wreckage --------------------------------------------------------------------------------------------------------

ASKED = {"issueState": {"issue": 1, "state": "open"}, "repositoryExists": {}, "branchExists": {"branch": "draft"}}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": "other"}',
        b"[" * 100_000,
        b'{"a": 1, "a": 1}',
        b'{"clock": NaN}',
        b"1" * 5000,
        b"\xff",
    ],
    ids=["empty", "cut", "list", "schema", "deep", "twice", "nan", "digits", "bytes"],
)
def test_a_spoiled_state_file_wins_nothing(name, state):
    views = with_state(forge(), lambda _: state)
    assert verdict(views, name, **ASKED[name]) == "false"
    assert denied(views, name, **ASKED[name]) == "false"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["repositories"]["acme/site"]["issues"]["1"].pop("state"),
        lambda data: data["repositories"]["acme/site"]["issues"]["2"]["pull"].update(merged_at=3),
        lambda data: data["repositories"]["acme/site"].update(issues=[]),
    ],
)
def test_a_state_file_out_of_shape_wins_nothing(change):
    views = with_state(forge(), lambda data: change(data) and None)
    assert verdict(views, "issueState", issue=1, state="open") == "false"
    assert denied(views, "issueState", issue=1, state="open") == "false"


def test_a_repository_without_its_git_part_wins_nothing():
    tree = forge().states["github"]
    views = Views({"github": Tree({path: node for path, node in tree.items() if not path.endswith("HEAD")})})
    assert verdict(views, "branchExists", branch="draft") == "false"
    assert denied(views, "branchExists", branch="draft") == "false"
    assert verdict(views, "issueState", issue=1, state="open") == "true", "the rest can still be read"


def test_a_merge_without_a_commit_wins_nothing():
    def lost(data):
        data["repositories"]["acme/site"]["issues"]["2"]["pull"]["merge_commit"] = None

    views = with_state(forge(merged=True), lost)
    assert (verdict(views, "prMerged", pull=2), denied(views, "prMerged", pull=2)) == ("false", "false")


def test_a_state_that_was_not_read_is_unknown():
    assert verdict(Views({}), "issueState", issue=1, state="open") == "unknown"
