"""Tests of the GitHub predicates: on the state file, on git, and on broken states."""

import json

import pytest

from verifiers.language.verdict import Verdict
from verifiers.states.forge.examples import ISSUE, PULL, forge
from verifiers.states.forge.state import FILE
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

asked = Asked("github", repository="acme/site")


def with_state(views, change):
    """Change the state file, as a JSON document or as bytes."""
    tree = views.states["github"]
    data = json.loads(tree[FILE].data)
    changed = change(data)
    data = changed if isinstance(changed, bytes) else json.dumps(data).encode()
    return JudgeInput({"github": FileTree({**tree, FILE: Node("file", data)})})


def test_a_repository_is_found_whatever_its_case():
    assert asked(forge(), "repositoryExists", repository="Acme/SITE")
    assert not asked(forge(), "repositoryExists", repository="acme/other")
    assert asked.denied(forge(), "repositoryExists", repository="acme/other") is Verdict.TRUE, (
        "what is lacking is not wreckage"
    )


def test_an_issue_is_named_by_number_or_by_title():
    views = forge({**ISSUE, "state": "closed", "state_reason": "not_planned"})
    assert asked(views, "issueState", issue=1, state="closed")
    assert asked(views, "issueState", issue="Menu", state="closed", reason="not_planned")
    assert not asked(views, "issueState", issue="Menu", state="closed", reason="completed")
    assert not asked(views, "issueState", issue="menu", state="closed"), "titles are exact"
    assert not asked(views, "issueState", issue="A footer", state="open"), "a pull request has a branch"
    assert asked(views, "issueState", issue=2, state="open"), "but a number of the same row"


def test_one_of_several_issues_of_a_title_is_enough():
    def twin(data):
        issues = data["repositories"]["acme/site"]["issues"]
        issues["3"] = {**issues["1"], "number": 3, "labels": ["bug"]}

    views = with_state(forge(), twin)
    assert asked(views, "issueHasLabel", issue="Menu", label="BUG")
    assert not asked(views, "issueHasLabel", issue=1, label="bug")
    assert asked(views, "issueCount", count=2, title_contains="Me")
    assert asked(views, "issueCount", count=1, label="bug")


@pytest.mark.parametrize(
    ("labels", "just", "expected"),
    [(["bug"], ["bug"], True), (["bug", "x"], ["bug"], False), ([], [], True), (["Bug"], ["bug"], True)],
)
def test_labels_are_just_these(labels, just, expected):
    assert asked(forge({**ISSUE, "labels": labels}), "issueLabels", issue=1, labels=just) is expected


def test_a_comment_counts_for_who_wrote_it():
    views = forge({**ISSUE, "comments": [{"user": "ada", "body": "On it \n"}, {"user": "bob", "body": "Thanks"}]})
    assert asked(views, "issueCommented", number=1, equals="On it", by="ADA")
    assert not asked(views, "issueCommented", number=1, equals="On it", by="bob")
    assert asked(views, "issueCommented", number=1, contains="hank")
    assert not asked(views, "issueCommented", number=9, contains="hank")


def test_merged_means_that_the_base_still_has_it():
    assert asked(forge(merged=True), "prMerged", pull="draft", into="main", method="squash")
    assert not asked(forge(merged=True), "prMerged", pull="draft", method="merge")
    assert not asked(forge(merged=True), "prMerged", pull="draft", into="other")

    def elsewhere(data):
        pull = data["repositories"]["acme/site"]["issues"]["2"]["pull"]
        pull["merge_commit"] = pull["head"]["sha"]

    rewound = with_state(forge(merged=True), elsewhere)
    assert not asked(rewound, "prMerged", pull=2), "the branch was moved away from what was merged"


def test_a_closed_pull_request_is_neither_open_nor_merged():
    closed = forge({**PULL, "state": "closed"})
    assert asked(closed, "prClosed", pull=2)
    assert not asked(closed, "prOpen", head="draft")
    assert not asked(closed, "prMerged", pull=2)
    assert not asked(forge(merged=True), "prClosed", pull=2)


def test_an_open_pull_request_is_as_it_is_asked_for():
    views = forge({**PULL, "body": "Adds a footer"})
    assert asked(views, "prOpen", head="draft", base="main", title="A footer", body_contains="Adds")
    assert asked(views, "prOpen", head="acme:draft", draft=False)
    for wrong in ({"base": "other"}, {"title": "Footer"}, {"draft": True}, {"body_contains": "no"}):
        assert not asked(views, "prOpen", head="draft", **wrong)
    assert not asked(views, "prOpen", head="eve:draft")


def test_reviews_have_a_state_an_author_and_a_text():
    views = forge({**PULL, "reviews": [{"user": "ada", "state": "CHANGES_REQUESTED", "body": "Shorter, please"}]})
    assert asked(views, "prReviewed", pull=2, state="CHANGES_REQUESTED", by="ada", contains="Shorter")
    assert not asked(views, "prReviewed", pull=2, state="APPROVED")
    assert not asked(views, "prReviewed", pull=2, state="CHANGES_REQUESTED", by="bob")


def test_files_branches_and_history_are_looked_up_in_git():
    merged = forge(merged=True)
    assert asked(merged, "fileAtBranch", branch="main", path="footer.html", text="bye", trim=True)
    assert not asked(merged, "fileAtBranch", branch="main", path="footer.html", text="bye")
    assert not asked(merged, "fileAtBranch", branch="main~1", path="footer.html", text="bye\n")
    assert asked(merged, "fileAbsentAtBranch", branch="main~1", path="footer.html")
    assert asked(merged, "commitCount", branch="main", count=2)
    assert asked(merged, "headMessage", branch="main", contains="(#2)")
    assert not asked(merged, "branchAt", branch="main", same_as="draft")
    assert not asked(merged, "commitCount", branch="gone", count=2)


def test_a_fork_is_the_accounts_own():
    views = forge(fork="ada/copy")
    of_site = Asked("github", of="acme/site")
    assert of_site(views, "forkExists", owner="Ada")
    assert not of_site(views, "forkExists", owner="bob")


# -- wreckage --------------------------------------------------------------------------------------------------------

ASKED = {"issueState": {"issue": 1, "state": "open"}, "repositoryExists": {}, "branchExists": {"branch": "draft"}}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    "state",
    [
        b"", b"{", b"[]", b'{"schema": "other"}', b"[" * 100_000, b'{"a": 1, "a": 1}', b'{"clock": NaN}', b"1" * 5000,
        b"\xff",
    ],
    ids=["empty", "cut", "list", "schema", "deep", "twice", "nan", "digits", "bytes"],
)  # fmt: skip
def test_a_broken_state_file_wins_nothing(name, state):
    views = with_state(forge(), lambda _: state)
    asked.wins_nothing(views, name, **ASKED[name])


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
    asked.wins_nothing(views, "issueState", issue=1, state="open")


def test_a_repository_without_its_git_part_wins_nothing():
    tree = forge().states["github"]
    views = JudgeInput({"github": FileTree({path: node for path, node in tree.items() if not path.endswith("HEAD")})})
    asked.wins_nothing(views, "branchExists", branch="draft")
    assert asked(views, "issueState", issue=1, state="open"), "the rest can still be read"


def test_a_merge_without_a_commit_wins_nothing():
    def lost(data):
        data["repositories"]["acme/site"]["issues"]["2"]["pull"]["merge_commit"] = None

    views = with_state(forge(merged=True), lost)
    asked.wins_nothing(views, "prMerged", pull=2)


def test_issues_are_counted_by_whole_title_several_labels_text_and_comment():
    views = forge(
        {
            **ISSUE,
            "title": "Menu",
            "labels": ["bug", "UI"],
            "body": "a b",
            "comments": [{"user": "ada", "body": "On it."}],
        }
    )
    kinds = {"title": "Menu", "labels": ["ui", "bug"], "comment": "On it.", "body_contains": ["a", "b"]}
    assert asked(views, "issueCount", count=1, **kinds)
    for wrong in ({"title": "menu"}, {"labels": ["ui", "docs"]}, {"comment": "On it"}, {"body_contains": ["c"]}):
        assert asked(views, "issueCount", count=0, **{**kinds, **wrong})
    assert asked(views, "issueCount", count=0, at_least=True)
    assert not asked(views, "issueCount", count=2, at_least=True)


def test_a_file_on_a_branch_is_compared_by_its_parts():
    file = {"branch": "draft", "path": "footer.html"}
    assert asked(forge(), "fileContainsAtBranch", **file, text="BYE", ignore_case=True)
    assert not asked(forge(), "fileContainsAtBranch", **file, text="BYE")
    assert asked(forge(), "fileExistsAtBranch", **file, not_empty=True)
    assert asked(forge(), "prOpen", head="draft", title="A footer", body="")
    assert not asked(forge(), "prOpen", head="draft", body="Else")
