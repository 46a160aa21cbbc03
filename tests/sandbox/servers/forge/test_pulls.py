"""Tests of the forge's pull requests: opened, shown, reviewed, merged in three ways, and what blocks a merge."""

import pytest

pytestmark = pytest.mark.slow

R = "/repos/acme/site"


def put(forge, path, text, branch, name="acme/site"):
    tree = {
        "base_tree": forge.git("rev-parse", branch, name=name),
        "tree": [{"path": path, "mode": "100644", "content": text}],
    }
    made = forge("POST", f"/repos/{name}/git/trees", tree, status=201)["sha"]
    body = {"message": f"Put {path}", "tree": made, "parents": [tree["base_tree"]]}
    commit = forge("POST", f"/repos/{name}/git/commits", body, status=201)["sha"]
    forge("PATCH", f"/repos/{name}/git/refs/heads/{branch}", {"sha": commit})
    return commit


# -- shown -----------------------------------------------------------------------------------------------------------


def test_a_pull_request_knows_what_it_changes(forge):
    shown = forge("GET", f"{R}/pulls/4")
    assert (shown["commits"], shown["changed_files"], shown["additions"], shown["deletions"]) == (2, 2, 2, 1)
    assert (shown["mergeable"], shown["mergeable_state"], shown["merged"]) == (True, "clean", False)
    files = {one["filename"]: one for one in forge("GET", f"{R}/pulls/4/files")}
    assert files["footer.html"]["status"] == "added"
    assert files["docs/a.md"]["patch"] == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"


def test_its_head_follows_its_branch(forge):
    commit = put(forge, "more.txt", "more\n", "draft")
    assert forge("GET", f"{R}/pulls/4")["head"]["sha"] == commit
    assert [one["sha"] for one in forge("GET", f"{R}/pulls/4/commits")][-1] == commit


@pytest.mark.slow
def test_renamed_and_removed_files_are_told_as_such(forge):
    tip = forge.git("rev-parse", "draft")
    long = "".join(f"line {number}\n" for number in range(20))
    put(forge, "long.txt", long, "main")
    put(forge, "long.txt", long, "spare")
    old = forge.git("rev-parse", "spare:long.txt")
    changes = [{"path": "long.txt", "sha": None}, {"path": "moved.txt", "mode": "100644", "sha": old}]
    changes += [{"path": "README.md", "sha": None}]
    parent = forge.git("rev-parse", "main")
    tree = forge("POST", f"{R}/git/trees", {"base_tree": parent, "tree": changes}, status=201)["sha"]
    body = {"message": "Move", "tree": tree, "parents": [parent]}
    commit = forge("POST", f"{R}/git/commits", body, status=201)["sha"]
    forge("POST", f"{R}/git/refs", {"ref": "refs/heads/moving", "sha": commit}, status=201)
    made = forge("POST", f"{R}/pulls", {"title": "Move", "head": "moving", "base": "main"}, status=201)
    files = {one["filename"]: one for one in forge("GET", f"{R}/pulls/{made['number']}/files")}
    assert (files["moved.txt"]["status"], files["moved.txt"]["previous_filename"]) == ("renamed", "long.txt")
    assert files["README.md"]["status"] == "removed"
    assert tip == forge.git("rev-parse", "draft")


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", [5, 4]), ("?head=acme:draft", [4]), ("?base=spare", []), ("?state=closed", []), ("?direction=asc", [4, 5])],
)
def test_lists_are_filtered_and_sorted(forge, query, expected):
    assert [one["number"] for one in forge("GET", f"{R}/pulls{query}")] == expected


def test_an_issue_is_no_pull_request(forge):
    forge("GET", f"{R}/pulls/1", status=404)


# -- opened ----------------------------------------------------------------------------------------------------------


def test_one_is_opened_from_a_branch(forge):
    put(forge, "more.txt", "more\n", "spare")
    body = {"title": "More", "head": "spare", "base": "main", "body": "b", "draft": True}
    made = forge("POST", f"{R}/pulls", body, status=201)
    assert (made["number"], made["head"]["label"], made["draft"], made["user"]["login"]) == (
        6,
        "acme:spare",
        True,
        "ada",
    )
    assert forge.git("rev-parse", "refs/pull/6/head") == forge.git("rev-parse", "spare")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"head": "spare"}, {"message": "No commits between main and spare"}),
        ({"head": "draft"}, {"message": "A pull request already exists for acme:draft."}),
        ({"head": "gone"}, {"field": "head", "code": "invalid"}),
        ({"head": "eve:draft"}, {"field": "head", "code": "invalid"}),
        ({"head": "draft", "base": "gone"}, {"field": "base", "code": "invalid"}),
    ],
)
def test_an_impossible_pull_request_is_refused(forge, body, error):
    shown = forge("POST", f"{R}/pulls", {"title": "T", "base": "main"} | body, status=422)
    assert shown["message"] == "Validation Failed"
    assert error.items() <= shown["errors"][0].items()


def test_one_comes_from_a_fork_and_is_merged_with_its_commits(forge):
    forge("POST", "/repos/bob/tool/forks", status=202)
    commit = put(forge, "tool.sh", "echo forked\n", "main", name="ada/tool")
    made = forge("POST", "/repos/bob/tool/pulls", {"title": "T", "head": "ada:main", "base": "main"}, status=201)
    assert (made["head"]["repo"]["full_name"], made["head"]["sha"]) == ("ada/tool", commit)
    assert forge.git("cat-file", "-t", commit, name="bob/tool") == "commit"
    forge("PUT", f"/repos/bob/tool/pulls/{made['number']}/merge", {}, status=403)


# -- reviewed --------------------------------------------------------------------------------------------------------


def test_a_review_comes_with_comments_on_lines(forge):
    comments = [{"path": "docs/a.md", "line": 2, "body": "Why?"}, {"path": "footer.html", "position": 1, "body": "Hm"}]
    body = {"event": "REQUEST_CHANGES", "body": "Not yet", "comments": comments}
    made = forge("POST", f"{R}/pulls/4/reviews", body)
    assert (made["state"], made["user"]["login"]) == ("CHANGES_REQUESTED", "ada")
    first, second = forge("GET", f"{R}/pulls/4/comments")
    assert (first["position"], first["diff_hunk"]) == (3, "@@ -1,3 +1,3 @@\n one\n-two\n+2")
    assert (second["line"], second["pull_request_review_id"]) == (1, made["id"])
    assert [one["body"] for one in forge("GET", f"{R}/pulls/4/reviews")] == ["Not yet"]


@pytest.mark.parametrize(
    ("number", "body", "error"),
    [
        (5, {"event": "APPROVE"}, "Can not approve your own pull request"),
        (5, {"event": "REQUEST_CHANGES", "body": "x"}, "Can not request changes on your own pull request"),
        (4, {"event": "COMMENT", "body": " "}, "Body cannot be blank"),
        (4, {"event": "COMMENT", "comments": [{"path": "no", "line": 1, "body": "x"}]}, "Path could not be resolved"),
        (
            4,
            {"event": "COMMENT", "comments": [{"path": "docs/a.md", "line": 9, "body": "x"}]},
            "Line could not be resolved",
        ),
    ],
)
def test_a_review_that_cannot_be_is_refused(forge, number, body, error):
    assert forge("POST", f"{R}/pulls/{number}/reviews", body, status=422)["errors"] == [error]
    assert forge("GET", f"{R}/pulls/{number}/reviews") == []


def test_a_review_that_was_not_submitted_stands_alone(forge):
    forge("POST", f"{R}/pulls/4/reviews", {"body": "later"})
    assert forge("GET", f"{R}/pulls/4/reviews")[0]["state"] == "PENDING"
    again = forge("POST", f"{R}/pulls/4/reviews", {"event": "APPROVE"}, status=422)
    assert again["errors"] == ["User can only have one pending review per pull request"]


# -- merged ----------------------------------------------------------------------------------------------------------


def test_a_merge_is_a_commit_of_two_parents_with_githubs_words(forge):
    base, head = forge.git("rev-parse", "main"), forge.git("rev-parse", "draft")
    done = forge("PUT", f"{R}/pulls/4/merge", {})
    assert done["merged"] is True
    assert forge.git("rev-parse", "main") == done["sha"]
    assert forge.git("log", "-1", "--format=%P", "main") == f"{base} {head}"
    assert forge.git("log", "-1", "--format=%B|%an|%cn", "main") == (
        "Merge pull request #4 from acme/draft\n\nA footer|Ada L|GitHub"
    ) or forge.git("log", "-1", "--format=%s|%b|%an|%cn", "main") == (
        "Merge pull request #4 from acme/draft|A footer|Ada L|GitHub"
    )
    assert forge.git("show", "main:docs/a.md") == "one\n2\nthree"
    assert forge.git("fsck", "--strict") == ""
    shown = forge("GET", f"{R}/pulls/4")
    assert (shown["state"], shown["merged"], shown["merge_commit_sha"]) == ("closed", True, done["sha"])
    assert forge("GET", f"{R}/issues/1")["state"] == "closed", "its text says so"


def test_a_squash_is_one_commit_that_lists_what_it_holds(forge):
    base = forge.git("rev-parse", "main")
    forge("PUT", f"{R}/pulls/4/merge", {"merge_method": "squash"})
    assert forge.git("log", "-1", "--format=%P", "main") == base
    assert forge.git("log", "-1", "--format=%s|%b", "main") == "A footer (#4)|* Change two\n\n* Add a footer"


def test_a_rebase_carries_each_commit_over(forge):
    put(forge, "other.txt", "o\n", "main")
    base = forge.git("rev-parse", "main")
    forge("PUT", f"{R}/pulls/4/merge", {"merge_method": "rebase"})
    assert forge.git("log", "--format=%s|%cn", f"{base}..main").splitlines() == [
        "Add a footer|GitHub",
        "Change two|GitHub",
    ]
    assert forge.git("log", "--merges", "main") == ""
    assert forge.git("show", "main:other.txt") == "o"


def test_the_words_of_a_merge_can_be_given(forge):
    forge("PUT", f"{R}/pulls/4/merge", {"commit_title": "Ours", "commit_message": "Because"})
    assert forge.git("log", "-1", "--format=%s|%b", "main") == "Ours|Because"


def conflicting(forge):
    put(forge, "docs/a.md", "one\nzwei\nthree\n", "main")
    return forge.git("rev-parse", "main")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("merge", "Pull Request is not mergeable"),
        ("squash", "Pull Request is not mergeable"),
        ("rebase", "This branch can't be rebased"),
    ],
)
def test_a_conflict_is_no_merge_and_leaves_the_base_alone(forge, method, message):
    tip = conflicting(forge)
    assert forge("PUT", f"{R}/pulls/4/merge", {"merge_method": method}, status=405)["message"] == message
    assert forge.git("rev-parse", "main") == tip
    shown = forge("GET", f"{R}/pulls/4")
    assert (shown["state"], shown["mergeable"], shown["mergeable_state"]) == ("open", False, "dirty")


def test_a_merge_twice_a_draft_and_a_moved_head_are_refused(forge):
    assert forge("PUT", f"{R}/pulls/5/merge", {}, status=405)["message"] == "Pull Request is still a draft"
    wrong = {"sha": "f" * 40}
    assert forge("PUT", f"{R}/pulls/4/merge", wrong, status=409)["message"].startswith("Head branch was modified")
    forge("PUT", f"{R}/pulls/4/merge", {})
    assert forge("PUT", f"{R}/pulls/4/merge", {}, status=405)["message"] == "Pull Request is not mergeable"
    forge("PATCH", f"{R}/issues/4", {"state": "open"}, status=422)


def test_a_branch_is_brought_up_to_date(forge):
    put(forge, "other.txt", "o\n", "main")
    forge("PUT", f"{R}/pulls/4/update-branch", {}, status=202)
    assert forge.git("log", "-1", "--format=%s", "draft") == "Merge branch 'main' into draft"
    again = forge("PUT", f"{R}/pulls/4/update-branch", {}, status=422)
    assert again["message"] == "There are no new commits on the base branch."


def test_a_branch_that_cannot_be_brought_up_to_date_is_left_alone(forge):
    wrong = forge("PUT", f"{R}/pulls/4/update-branch", {"expected_head_sha": "f" * 40}, status=422)
    assert wrong["message"].startswith("expected head sha")
    conflicting(forge)
    tip = forge.git("rev-parse", "draft")
    assert forge("PUT", f"{R}/pulls/4/update-branch", {}, status=422)["message"].startswith("merge conflict")
    assert forge.git("rev-parse", "draft") == tip
