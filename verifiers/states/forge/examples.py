"""Example forge, written out by hand, for the catalogue's examples of `github` predicates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from verifiers.states.forge.state import FILE, FOLDER, SCHEMA
from verifiers.states.git.examples import Commit, repository
from verifiers.tree import FileTree, JudgeInput, Node

START: Commit = ("main", "Start", {"index.html": "<p>hi</p>\n"})
SIDE: Commit = ("draft", "Add a footer", {"index.html": "<p>hi</p>\n", "footer.html": "bye\n"})
MERGE: Commit = ("main", "Add a footer (#2)", {"index.html": "<p>hi</p>\n", "footer.html": "bye\n"})
ISSUE: Mapping[str, Any] = {"number": 1}
PULL: Mapping[str, Any] = {"number": 2}
REVIEW: Mapping[str, Any] = {"user": "ada", "state": "APPROVED", "body": "Good."}

USER: Mapping[str, Any] = {
    "type": "User",
    "members": [],
    "email": "bob@example.org",
    "name": "Bob",
    "bio": None,
    "company": None,
    "location": None,
}


def forge(
    change: Mapping[str, Any] | None = None,
    *,
    merged: bool = False,
    name: str = "acme/site",
    fork: str | None = None,
    branches: Sequence[str] = ("main", "draft"),
    extra: Mapping[str, str] | None = None,
) -> JudgeInput:
    """Return the views of a world with one repository, an issue (1) and a pull request (2) from `draft` to `main`.

    Args:
        change: what is otherwise in the issue or pull request of its `number`.
        merged: whether the pull request was merged.
        name: the repository's.
        fork: the name of a fork of it, if there is one.
        branches: those of its two that are there.
        extra: other files of its last commit.
    """
    last: Commit = (*MERGE[:2], {**MERGE[2], **(extra or {})})
    commits = [START, SIDE, *([last] if merged else [])]
    git = repository(commits).states["git"].below("site/.git")
    heads = {branch: git[f"refs/heads/{branch}"].data.decode().strip() for branch in ("main", "draft")}
    files = {path: node for path, node in git.items() if _is_kept(path, branches)}
    first = _issue(1, "Menu", None)
    second = _issue(2, "A footer", _pull(heads, merged=merged))
    for issue in (first, second):
        if change and change["number"] == issue["number"]:
            inner = {"reviews": change["reviews"]} if "reviews" in change else {}
            issue |= {key: value for key, value in change.items() if key != "reviews"}
            issue["pull"] = {**issue["pull"], **inner} if issue["pull"] else None
    if merged:
        second["state"] = "closed"
    repositories = {name: repository_record({"1": first, "2": second})}
    if fork is not None:
        repositories[fork] = {**repository_record({}), "parent": name}
    kept_too = {"schema": SCHEMA, "viewer": "ada", "clock": 1_719_824_400, "last_id": 1000}
    data = {**kept_too, "users": {"bob": USER}, "repositories": repositories}
    state = Node("file", json.dumps(data).encode())
    return JudgeInput({"github": FileTree({**FileTree(files).under(f"{FOLDER}/{name}.git"), FILE: state})})


def _is_kept(path: str, branches: Sequence[str]) -> bool:
    return not path.startswith("refs/heads/") or path.removeprefix("refs/heads/") in branches


def _issue(number: int, title: str, pull: dict[str, Any] | None) -> dict[str, Any]:
    empty: dict[str, Any] = {"labels": [], "assignees": [], "comments": [], "milestone": None, "state_reason": None}
    return {"number": number, "title": title, "body": None, "user": "bob", "state": "open", "pull": pull, **empty}


def _pull(heads: Mapping[str, str], *, merged: bool) -> dict[str, Any]:
    return {
        "head": {"repository": "acme/site", "branch": "draft", "sha": heads["draft"]},
        "base": {"branch": "main", "sha": heads["main"]},
        "draft": False,
        "merged_at": "2024-07-01T09:00:00Z" if merged else None,
        "merge_commit": heads["main"] if merged else None,
        "merge_method": "squash" if merged else None,
        "maintainer_can_modify": False,
        "requested_reviewers": ["cy"],
        "reviews": [],
        "review_comments": [],
    }


def repository_record(issues: Mapping[str, Any]) -> dict[str, Any]:
    """Return a repository with these issues as the emulator writes it."""
    return {
        "description": "The site",
        "private": False,
        "default_branch": "main",
        "parent": None,
        "homepage": None,
        "archived": False,
        "topics": ["web"],
        "language": None,
        "stars": 3,
        "collaborators": ["bob"],
        "labels": {"bug": {"color": "d73a4a", "description": None}},
        "statuses": {"0" * 40: [{"context": "ci", "state": "success", "description": None, "target_url": None}]},
        "milestones": {"1": {"title": "v1", "description": None, "state": "open", "due_on": None}},
        "issues": issues,
    }
