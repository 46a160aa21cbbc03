"""Tests of the frame's comparison of two states: what counts as a change, and what a server changes by itself."""

from typing import Any

from verifiers.normal_form import NormalState
from verifiers.states.changes import changes_between, described
from verifiers.states.items import items_of

UNMERGED = {"merge_commit": None, "merge_method": None}
START = {"c1": ["t1", [], "Start"], "c2": ["t2", ["c1"], "Page"]}
TREES = {"t1": [["100644", "a.txt", "b1"]], "t2": [["100644", "a.txt", "b1"], ["100644", "page.txt", "b1"]]}


def pull(**otherwise: Any) -> dict[str, Any]:
    ends = {
        "head": {"repository": "acme/site", "branch": "draft", "sha": "c2"},
        "base": {"branch": "main", "sha": "c1"},
    }
    return {**ends, "draft": False, "merged_at": None, **UNMERGED, "reviews": [], "review_comments": [], **otherwise}


def issue(**otherwise: Any) -> dict[str, Any]:
    empty = {"body": None, "state_reason": None, "labels": [], "assignees": [], "milestone": None, "comments": []}
    return {"number": 1, "title": "Page", "user": "ada", "state": "open", **empty, **otherwise}


def forge(refs: dict[str, str], **of_pull: Any) -> NormalState:
    about = {"description": None, "private": False, "default_branch": "main", "parent": None, "milestones": {}}
    record = {**about, "issues": {"1": issue(pull=pull(**of_pull))}}
    git = {"head": "ref: refs/heads/main", "refs": refs, "commits": START, "trees": TREES, "blobs": {"b1": 0}}
    document = {
        "forge": {"viewer": "ada", "repositories": {"acme/site": record}},
        "repositories": {"repositories/acme/site.git": {**git, "index": {"entries": []}, "files": []}},
    }
    return NormalState(document, (b"A\n",))


def changed(before: NormalState, after: NormalState) -> list[str]:
    return [described(change) for change in changes_between(items_of("github", before), items_of("github", after))]


BRANCHES = {"refs/heads/main": "c1", "refs/heads/draft": "c2"}


def test_nothing_of_a_forge_is_staged():
    assert not [item for item in items_of("github", forge(BRANCHES)).values() if item.sort == "staged file"]


def test_looking_at_a_pull_request_changes_nothing():
    seen = forge({**BRANCHES, "refs/pull/1/head": "c2"}, base={"branch": "main", "sha": "c2"})
    assert changed(forge(BRANCHES), seen) == []


def test_commits_that_a_forge_fetched_to_show_a_pull_request_are_no_change():
    main = {"refs/heads/main": "c1"}
    assert changed(forge(main), forge({**main, "refs/pull/1/head": "c2"})) == []


def test_another_base_is_a_change():
    assert changed(forge(BRANCHES), forge(BRANCHES, base={"branch": "draft", "sha": "c1"})) == [
        "acme/site: pull request #1, base changed"
    ]


def test_a_merge_is_a_change_at_whatever_time():
    first, later = (forge(BRANCHES, merged_at=f"2024-07-01T0{hour}:00:00Z") for hour in (8, 9))
    assert changed(forge(BRANCHES), first) == ["acme/site: pull request #1, merged_at changed"]
    assert changed(first, later) == []


def test_a_label_twice_is_one_label():
    labels = [
        [item.fields["labels"] for item in items_of("github", labelled(*names)).values() if item.sort == "issue"]
        for names in (["bug"], ["bug", "bug"])
    ]
    assert labels[0] == labels[1] == [["bug"]]


def labelled(*names: str) -> NormalState:
    state = forge(BRANCHES)
    state.document["forge"]["repositories"]["acme/site"]["issues"]["2"] = issue(number=2, labels=[*names], pull=None)
    return state


def test_a_repository_without_its_git_part_is_another():
    bare = forge(BRANCHES)
    bare.document["repositories"].clear()
    assert "repository acme/site, git changed" in changed(forge(BRANCHES), bare)


def test_a_field_that_no_reader_writes_is_none_of_an_item():
    odd = labelled()
    odd.document["forge"]["repositories"]["acme/site"]["issues"]["2"]["title~"] = "Page"
    assert changed(labelled(), odd) == []
