"""Tests of the GitHub server: state made without git and checked by git, and the unchanged package before the forge."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, MCPError, StdioServerParameters

import sandbox.kinds.forge.backend
from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.forge.apply_mutation import mutate
from sandbox.kinds.forge.kind import STATE, seed
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import HANDSHAKE

from ...patience import PATIENCE
from ..builders import unpack
from ..installed import here
from .holding import holds_in

TWO = "one\n2\n"
APPROVAL = {"user": "bob", "state": "APPROVED"}
SITE = {
    "collaborators": ["bob"],
    "commits": [
        {"branch": "main", "message": "Begin", "files": {"README.md": "# Site\n", "docs/a.md": "one\ntwo\n"}},
        {"branch": "draft", "from": "main", "message": "Change two", "files": {"docs/a.md": TWO}, "author": "bob"},
        {"branch": "rival", "from": "main", "message": "Change it too", "files": {"docs/a.md": "one\nzwei\n"}},
        {"branch": "done", "from": "main", "message": "Add b", "files": {"b.txt": "b\n"}},
    ],
    "branches": {"spare": "main"},
    "labels": [{"name": "bug"}],
    "milestones": [{"title": "v1"}],
    "issues": [
        {"title": "Menu is broken", "user": "bob", "labels": ["bug"], "milestone": 1},
        {"title": "Old", "state": "closed", "comments": [{"user": "bob", "body": "Done"}], "number": 7},
    ],
    "pulls": [
        {"title": "Two", "head": "draft", "base": "main", "user": "bob", "number": 2},
        {"title": "Zwei", "head": "rival", "base": "main"},
        {"title": "B", "head": "done", "base": "main", "state": "merged", "reviews": [APPROVAL]},
    ],
    "statuses": [{"branch": "draft", "state": "failure", "context": "ci"}],
}
WORLD = {
    "users": [{"login": "ada", "name": "Ada", "email": "ada@example.org"}, {"login": "bob"}],
    "repositories": {
        "ada/site": SITE,
        "bob/tool": {"commits": [{"branch": "main", "message": "Begin", "files": {"t": "t\n"}}]},
    },
}
R = {"owner": "ada", "repo": "site"}


def unpacked(tree, folder):
    unpack(tree.to_tar(), folder)
    return folder


def git(folder, *words, name="ada/site"):
    command = ["git", "--git-dir", folder / "repositories" / f"{name}.git", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def document(folder):
    return json.loads((folder / "state.json").read_text())


def built(folder, **changes):
    return unpacked(seed({**WORLD, "repositories": {**WORLD["repositories"], "ada/site": {**SITE, **changes}}}), folder)


# -- the state -------------------------------------------------------------------------------------------------------


def test_git_finds_nothing_wrong_with_what_is_seeded(tmp_path):
    check(STATE, WORLD, "the state")
    folder = built(tmp_path)
    assert git(folder, "fsck", "--strict", "--full") == ""
    assert git(folder, "log", "--format=%an <%ae>", "-1", "main") == "Ada <ada@example.org>"
    assert git(folder, "log", "--format=%an", "-1", "draft") == "bob"
    assert git(folder, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(folder, "rev-parse", "--is-bare-repository") == "true"


def test_issues_and_pull_requests_share_their_numbers(tmp_path):
    issues = document(built(tmp_path))["repositories"]["ada/site"]["issues"]
    titles = {"1": "Menu is broken", "2": "Two", "3": "Zwei", "4": "B", "7": "Old"}
    assert {number: issue["title"] for number, issue in issues.items()} == titles
    assert [number for number, issue in issues.items() if issue["pull"]] == ["2", "3", "4"]


def test_a_merged_pull_request_is_merged_in_git(tmp_path):
    folder = built(tmp_path)
    pull = document(folder)["repositories"]["ada/site"]["issues"]["4"]["pull"]
    assert git(folder, "rev-parse", "main") == pull["merge_commit"]
    assert git(folder, "log", "-1", "--format=%s", "main") == "Merge pull request #4 from ada/done"
    assert git(folder, "rev-parse", "main^2") == git(folder, "rev-parse", "done") == pull["head"]["sha"]
    assert git(folder, "show", "main:b.txt") == "b"


def test_a_fork_begins_with_what_its_parent_has(tmp_path):
    commit = {"branch": "idea", "from": "draft", "message": "I", "files": {"i": "i"}}
    copy = {"fork_of": "ada/site", "commits": [commit]}
    state = {**WORLD, "repositories": {"ada/site": {**SITE, "pulls": []}, "bob/copy": copy}}
    folder = unpacked(seed(state), tmp_path)
    assert git(folder, "rev-parse", "idea~1", name="bob/copy") == git(folder, "rev-parse", "draft")
    assert document(folder)["repositories"]["bob/copy"]["parent"] == "ada/site"


def test_the_same_state_gives_the_same_bytes_whatever_the_order_of_its_keys():
    fork = {"fork_of": "ada/site", "commits": [{"branch": "idea", "from": "main", "message": "I", "files": {"i": "i"}}]}
    site = {**SITE, "pulls": [{"title": "Idea", "head": "bob:idea", "base": "main"}]}
    first = {**WORLD, "repositories": {"ada/site": site, "bob/a": fork}}
    second = {**WORLD, "repositories": {"bob/a": fork, "ada/site": site}}
    assert seed(first).to_tar() == seed(second).to_tar()


def test_nothing_said_is_a_forge_with_one_account(tmp_path):
    check(STATE, {}, "the state")
    data = document(unpacked(seed({}), tmp_path))
    assert (data["viewer"], list(data["users"]), data["repositories"]) == ("agent", ["agent"], {})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"commits": [{"branch": "main", "message": "m", "author": "eve"}]}, "commit 0 names the account 'eve'"),
        ({"issues": [{"title": "t", "user": "eve"}]}, "number 1, names the account 'eve'"),
        ({"issues": [{"title": "t", "milestone": 2}]}, "number 1, is in a milestone that is not there"),
        ({"issues": [{"title": "t", "created_at": "2024-13-01"}]}, "number 1, has a date that no calendar has"),
        ({"issues": [{"title": "t", "created_at": "2025-01-01"}]}, "number 1, lies after the time"),
        ({"issues": [{"title": "t", "number": 2}]}, "gives a number to two"),
        ({"pulls": [{"title": "t", "head": "gone", "base": "main"}]}, "names the branch 'gone'"),
        ({"pulls": [{"title": "t", "head": "bob:x", "base": "main"}]}, "comes from 'bob'"),
        (
            {"pulls": [{"title": "t", "head": h, "base": "main", "state": "merged"} for h in ("draft", "rival")]},
            "'docs/a.md'",
        ),
        ({"collaborators": ["eve"]}, "collaborators, names the account 'eve'"),
        ({"statuses": [{"branch": "gone", "state": "success"}]}, "statuses, names the branch 'gone'"),
        ({"fork_of": "ada/site"}, "is a fork of 'ada/site', which nothing begins"),
        ({"default_branch": "trunk"}, "default_branch, names the branch 'trunk'"),
        ({"fork_of": "bob/other"}, "is a fork of 'bob/other', which nothing begins"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused_with_the_place(tmp_path, changes, sentence):
    with pytest.raises(Malformed, match=sentence):
        built(tmp_path, **changes)


@pytest.mark.parametrize(
    "repositories", [{"a/b/c": {}}, {"a": {}}, {"a/..": {}}, {"-a/b": {}}, {"a/b.git": {}}, {"a/b\n": {}}]
)
def test_no_repository_lies_outside_the_forge(repositories):
    with pytest.raises(Malformed):
        check(STATE, {"repositories": repositories}, "the state")


# -- mutating --------------------------------------------------------------------------------------------------------


holds = holds_in("github", repository="ada/site")


@pytest.mark.parametrize(
    ("change", "name", "arguments"),
    [
        ({"delete_repository": True}, "repositoryExists", {}),
        ({"delete_branch": "draft"}, "branchExists", {"branch": "draft"}),
        ({"branch": {"name": "spare", "at": "draft"}}, "branchAt", {"branch": "spare", "same_as": "main~1"}),
        (
            {"commit": {"branch": "main", "files": {"b.txt": "c"}, "message": "m"}},
            "fileAtBranch",
            {"branch": "main", "path": "b.txt", "text": "b\n"},
        ),
        ({"branch": {"name": "main", "at": "main~1"}}, "prMerged", {"pull": 4}),
        ({"issue": {"number": 4, "merged": False}}, "prMerged", {"pull": 4}),
        ({"issue": {"number": 2, "state": "closed"}}, "prOpen", {"head": "draft"}),
        ({"issue": {"number": 2, "base": "spare"}}, "prOpen", {"head": "draft", "base": "main"}),
        ({"issue": {"number": 1, "state": "closed"}}, "issueState", {"issue": 1, "state": "open"}),
        ({"issue": {"number": 1, "labels": []}}, "issueHasLabel", {"issue": 1, "label": "bug"}),
        ({"issue": {"number": 1, "title": "menu is broken"}}, "issueTitle", {"number": 1, "equals": "Menu is broken"}),
        ({"issue": {"number": 1, "milestone": None}}, "issueMilestone", {"issue": 1, "title": "v1"}),
        ({"new_issue": {"title": "Again"}}, "issueCount", {"count": 2}),
        ({"delete_issue": 1}, "issueState", {"issue": 1, "state": "open"}),
        ({"drop_comments": 7}, "issueCommented", {"number": 7, "contains": "Done"}),
        ({"drop_reviews": 4}, "prReviewed", {"pull": 4, "state": "APPROVED"}),
    ],
)
def test_a_mutated_state_no_longer_has_what_it_had(change, name, arguments):
    whole = seed(WORLD)
    assert holds(whole, name, **arguments)
    assert not holds(mutate(whole, {"repository": "ada/site", **change}), name, **arguments)


def test_a_mutated_state_can_have_too_much():
    said = mutate(seed(WORLD), {"repository": "ada/site", "comment": {"number": 1, "body": "Hi", "user": "bob"}})
    assert holds(said, "issueCommented", number=1, equals="Hi", by="bob")
    review = {"review": {"number": 2, "state": "APPROVED"}}
    reviewed = mutate(seed(WORLD), {"repository": "ada/site", **review})
    assert holds(reviewed, "prReviewed", pull=2, state="APPROVED", by="ada")


@pytest.mark.parametrize(
    "change",
    [
        {"repository": "ada/other", "delete_repository": True},
        {"repository": "ada/site", "delete_branch": "gone"},
        {"repository": "ada/site", "issue": {"number": 9, "state": "open"}},
        {"repository": "ada/site", "issue": {"number": 1, "merged": True}},
        {"repository": "ada/site", "drop_comments": 1},
        {"repository": "ada/site", "drop_reviews": 1},
        {"repository": "ada/site", "fly": True},
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed):
        mutate(seed(WORLD), change)


# -- the unchanged server in front of the twin -----------------------------------------------------------------------


@asynccontextmanager
async def served(folder):
    """Start the forge and the package as a world does."""
    unpacked(seed(WORLD), folder / "github")
    place = str(folder / "forge.sock")
    twin = [sys.executable, "-I", str(Path(sandbox.kinds.forge.backend.__file__).parent), str(folder / "github"), place]
    program, *arguments = here(SERVERS["github"].command, folder)
    environment = {**SERVERS["github"].environment, "QUARTERTURN_FORGE_SOCKET": place}
    with subprocess.Popen(twin, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}) as process:
        assert process.stdout.readline() == b"ready\n"
        try:
            parameters = StdioServerParameters(command=program, args=arguments, env=environment)
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - it says much of every call
                from mcp.client.stdio import stdio_client

                async with Client(stdio_client(parameters, errlog=nowhere), mode=HANDSHAKE) as client:
                    yield client
        finally:
            process.terminate()
            process.wait(PATIENCE)


def played(folder, calls):
    """Play calls in one world; a call's result is its JSON document, or its error message."""

    async def play():
        results = []
        async with served(folder) as client:
            for tool, arguments in calls:
                try:
                    result = await client.call_tool(tool, arguments)
                    results.append(json.loads(result.content[0].text))
                except MCPError as error:
                    results.append(str(error))
        return results

    return asyncio.run(play())


YES = {"path": "docs/a.md", "line": 2, "body": "Yes"}
WORKS = [
    ("search_repositories", {"query": "user:ada"}),
    ("create_repository", {"name": "notes", "description": "Mine"}),
    ("get_file_contents", {**R, "path": "docs/a.md", "branch": "draft"}),
    ("create_or_update_file", {**R, "path": "docs/a.md", "content": "new\n", "message": "Set a", "branch": "spare"}),
    ("push_files", {**R, "branch": "spare", "files": [{"path": "x/y.txt", "content": "y\n"}], "message": "Push"}),
    ("create_issue", {**R, "title": "Another", "body": "b", "labels": ["bug"]}),
    ("create_branch", {**R, "branch": "feature", "from_branch": "spare"}),
    ("create_pull_request", {**R, "title": "Spare", "head": "feature", "base": "main", "body": "Please"}),
    ("fork_repository", {"owner": "bob", "repo": "tool"}),
    ("list_commits", {**R, "sha": "spare", "perPage": 2}),
    ("list_issues", {**R, "state": "open", "labels": ["bug"]}),
    ("update_issue", {**R, "issue_number": 1, "state": "closed", "labels": ["bug", "done"]}),
    ("add_issue_comment", {**R, "issue_number": 1, "body": "Thanks"}),
    ("search_code", {"q": "one repo:ada/site"}),
    ("search_issues", {"q": "menu is:closed"}),
    ("search_users", {"q": "bob"}),
    ("get_issue", {**R, "issue_number": 1}),
    ("get_pull_request", {**R, "pull_number": 2}),
    ("list_pull_requests", {**R, "state": "open"}),
    ("create_pull_request_review", {**R, "pull_number": 2, "body": "Good", "event": "APPROVE", "comments": [YES]}),
    ("get_pull_request_files", {**R, "pull_number": 2}),
    ("get_pull_request_status", {**R, "pull_number": 2}),
    ("get_pull_request_comments", {**R, "pull_number": 2}),
    ("get_pull_request_reviews", {**R, "pull_number": 2}),
    ("update_pull_request_branch", {**R, "pull_number": 2}),
    ("merge_pull_request", {**R, "pull_number": 2, "merge_method": "squash"}),
]
FAILS = [
    ("search_repositories", {"query": "repo:no/body"}, "Validation Error: Validation Failed"),
    ("create_repository", {"name": "site"}, "Repository creation failed."),
    ("get_file_contents", {**R, "path": "none"}, "Not Found: Resource not found: Not Found"),
    (
        "create_or_update_file",
        {**R, "path": "README.md", "content": "x", "message": "m", "branch": "main", "sha": "f" * 40},
        "Conflict: README.md does not match",
    ),
    ("push_files", {**R, "branch": "gone", "files": [], "message": "m"}, "Not Found"),
    ("create_issue", {**R, "title": "t", "assignees": ["eve"]}, "Validation Failed"),
    ("create_branch", {**R, "branch": "draft", "from_branch": "main"}, "Validation Error: Reference already exists"),
    ("create_pull_request", {**R, "title": "t", "head": "spare", "base": "main"}, "No commits between main and spare"),
    ("fork_repository", {"owner": "bob", "repo": "gone"}, "Not Found"),
    ("list_commits", {**R, "sha": "gone"}, "Not Found"),
    ("list_issues", {"owner": "ada", "repo": "gone"}, "Not Found"),
    ("update_issue", {**R, "issue_number": 99, "state": "closed"}, "Not Found"),
    ("add_issue_comment", {**R, "issue_number": 1, "body": ""}, "Validation Failed"),
    ("search_code", {"q": "repo:ada/site"}, "Validation Failed"),
    ("search_issues", {"q": " "}, "Validation Failed"),
    ("search_users", {"q": " "}, "Validation Failed"),
    ("get_issue", {**R, "issue_number": 99}, "Not Found"),
    ("get_pull_request", {**R, "pull_number": 1}, "Not Found"),
    ("list_pull_requests", {"owner": "eve", "repo": "site"}, "Not Found"),
    ("create_pull_request_review", {**R, "pull_number": 3, "body": "", "event": "APPROVE"}, "Can not approve your own"),
    ("get_pull_request_files", {**R, "pull_number": 1}, "Not Found"),
    ("get_pull_request_status", {**R, "pull_number": 99}, "Not Found"),
    ("get_pull_request_comments", {**R, "pull_number": 99}, "Not Found"),
    ("get_pull_request_reviews", {**R, "pull_number": 99}, "Not Found"),
    ("update_pull_request_branch", {**R, "pull_number": 4}, "There are no new commits on the base branch."),
    ("merge_pull_request", {**R, "pull_number": 4}, "GitHub API Error: Pull Request is not mergeable"),
]


def test_every_tool_is_tried_both_ways():
    assert {tool for tool, _ in WORKS} == {tool for tool, *_ in FAILS} == set(SERVERS["github"].tools)


@pytest.mark.box
def test_every_tool_works(tmp_path):
    results = dict(zip([tool for tool, _ in WORKS], played(tmp_path, WORKS), strict=True))
    assert not [tool for tool, result in results.items() if isinstance(result, str)], results
    folder = tmp_path / "github"
    assert git(folder, "show", "spare:x/y.txt") == "y"
    assert results["get_file_contents"]["content"] == "one\n2\n"
    assert results["merge_pull_request"]["sha"] == git(folder, "rev-parse", "main")
    assert git(folder, "show", "main:docs/a.md") == "one\n2"
    assert [one["commit"]["message"] for one in results["list_commits"]] == ["Push", "Set a"]
    assert results["fork_repository"]["parent"]["full_name"] == "bob/tool"
    assert [one["body"] for one in results["get_pull_request_comments"]] == ["Yes"]
    assert results["get_pull_request_status"]["state"] == "failure"
    assert results["search_issues"]["items"][0]["closed_by"]["login"] == "ada"


@pytest.mark.box
def test_every_tool_fails_as_in_front_of_github(tmp_path):
    results = played(tmp_path, [(tool, arguments) for tool, arguments, _ in FAILS])
    for (tool, _, sentence), result in zip(FAILS, results, strict=True):
        assert isinstance(result, str) and sentence in result, (tool, result)  # noqa: PT018 - the pair says it all
    before = unpacked(seed(WORLD), tmp_path / "before")
    assert document(tmp_path / "github") == document(before), "a failure leaves nothing"


@pytest.mark.full
@pytest.mark.box
def test_a_conflict_is_reported_and_can_be_resolved(tmp_path):
    merge = ("merge_pull_request", {**R, "pull_number": 3})
    mended = {"path": "docs/a.md", "content": TWO, "message": "Mend", "branch": "rival"}
    mend = ("create_or_update_file", {**R, **mended})
    results = played(tmp_path, [("merge_pull_request", {**R, "pull_number": 2}), merge, mend, merge])
    assert "Pull Request is not mergeable" in results[1]
    assert results[3]["merged"] is True
    assert git(tmp_path / "github", "log", "-1", "--format=%s") == "Merge pull request #3 from ada/rival"


@pytest.mark.box
def test_no_other_address_is_ever_fetched():
    script = "await fetch('https://192.0.2.1/x').then(() => console.log('out'), (error) => console.log(error.message))"
    node, flag, redirect, _ = here(SERVERS["github"].command, Path("/nowhere"))
    command = [node, flag, redirect, "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "fetch failed\n"
