"""Proposed mutations of a GitHub forge: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import other, wrong
from verifiers.states.forge.state import FILE, FOLDER
from verifiers.tree import FileTree

Change = Mapping[str, Any]
Arguments = Mapping[str, Any]

STRAY: Mapping[str, str | None] = {"stray-note.txt": "stray\n"}
OPPOSITE = {"open": "closed", "closed": "open"}


def _issue(key: str, change: Callable[[Arguments], Change]) -> Callable[[Arguments], Change]:
    def made(arguments: Arguments) -> Change:
        return {"repository": arguments["repository"], "issue": {"number": arguments[key], **change(arguments)}}

    return made


def _plain(operation: str, key: str) -> Callable[[Arguments], Change]:
    return lambda arguments: {"repository": arguments["repository"], operation: arguments[key]}


def _commit(message: str, files: Callable[[Arguments], Mapping[str, str | None]]) -> Callable[[Arguments], Change]:
    def made(arguments: Arguments) -> Change:
        branch = arguments["branch"].partition("~")[0]
        commit = {"branch": branch, "message": message, "files": files(arguments)}
        return {"repository": arguments["repository"], "commit": commit}

    return made


def _text(arguments: Arguments) -> str:
    return other(arguments.get("equals") or arguments.get("contains") or "")


def _another(arguments: Arguments) -> Change:
    """Add an issue of the kind that is counted; where that is not enough, delete the repository."""
    if arguments.get("at_least") or "comment" in arguments:
        return {"repository": arguments["repository"], "delete_repository": True}
    label, by = arguments.get("label"), arguments.get("by")
    issue = {
        "title": arguments.get("title") or arguments.get("title_contains") or "Another",
        "state": arguments.get("state", "open"),
        "labels": [*([label] if label else []), *arguments.get("labels", [])],
        **({"user": by} if by else {}),
        **({"body": " ".join(arguments["body_contains"])} if arguments.get("body_contains") else {}),
    }
    return {"repository": arguments["repository"], "new_issue": issue}


BROKEN: Mapping[str, Callable[[Arguments], Change]] = {
    "github.branchAt": _commit("One more", lambda _: STRAY),
    "github.branchExists": _plain("delete_branch", "branch"),
    "github.commitCount": _commit("One more", lambda _: STRAY),
    "github.fewestIssues": lambda arguments: {"repository": arguments["repository"], "delete_repository": True},
    "github.fileAbsentAtBranch": _commit("One more", lambda arguments: {arguments["path"]: "here\n"}),
    "github.fileAtBranch": _commit("One more", lambda arguments: {arguments["path"]: other(arguments["text"])}),
    "github.fileContainsAtBranch": _commit("One more", lambda arguments: {arguments["path"]: None}),
    "github.fileExistsAtBranch": _commit("One more", lambda arguments: {arguments["path"]: None}),
    "github.fileMatchesAtBranch": _commit("One more", lambda arguments: {arguments["path"]: None}),
    "github.fileSameAs": _commit("One more", lambda arguments: {arguments["path"]: None}),
    "github.forkExists": lambda arguments: {"repository": arguments["of"], "delete_forks": arguments["owner"]},
    "github.headMessage": _commit("Not this", lambda _: STRAY),
    "github.issueAssigned": _issue("issue", lambda arguments: {"assignees": [] if arguments["to"] else ["stray"]}),
    "github.issueBody": _issue("issue", lambda arguments: {"body": _text(arguments)}),
    "github.issueCommented": _plain("drop_comments", "number"),
    "github.issueCount": _another,
    "github.issueCountsFile": _commit("One more", lambda arguments: {arguments["path"]: None}),
    "github.issueHasLabel": _issue("issue", lambda _: {"labels": []}),
    "github.issueLabels": _issue("issue", lambda arguments: {"labels": [*arguments["labels"], "stray"]}),
    "github.issueMilestone": _issue("issue", lambda _: {"milestone": None}),
    "github.issueState": _issue("issue", lambda arguments: {"state": OPPOSITE[arguments["state"]]}),
    "github.issueTitle": _issue("number", lambda arguments: {"title": _text(arguments)[:256]}),
    "github.prClosed": _issue("pull", lambda _: {"state": "open"}),
    "github.prMerged": _issue("pull", lambda _: {"merged": False}),
    "github.prOpen": _issue("head", lambda _: {"state": "closed"}),
    "github.prReviewed": _plain("drop_reviews", "pull"),
    "github.repositoryExists": lambda arguments: {"repository": arguments["repository"], "delete_repository": True},
}
"""By predicate: a change that certainly makes it false, where its title or its branch is that of one thing."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each thing that the right solution made or changed."""
    old, new = _repositories(before), _repositories(after)
    for name, record in new.items():
        if name not in old:
            yield f"left-out {name}", {"repository": name, "delete_repository": True}
            continue
        for label, change in (*_issues(old[name], record), *_branches(before, after, name)):
            yield f"{label} ({name})", {"repository": name, **change}


def _repositories(tree: FileTree) -> Mapping[str, Any]:
    node = tree.get(FILE)
    repositories: Mapping[str, Any] = json.loads(node.data)["repositories"] if node else {}
    return repositories


def _issues(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    for number, issue in new["issues"].items():
        was = old["issues"].get(number)
        if was is None:
            yield from _made(int(number), issue)
        elif was != issue:
            yield from _changed(int(number), was, issue)
    untouched = [number for number, issue in new["issues"].items() if old["issues"].get(number) == issue]
    for number in untouched[:1]:
        flipped = OPPOSITE[new["issues"][number]["state"]]
        yield f"another-one-changed #{number}", {"issue": {"number": int(number), "state": flipped}}


def _made(number: int, issue: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    yield f"left-out #{number}", {"delete_issue": number}
    for mistake, title in wrong(issue["title"]):
        yield f"{mistake} in the title of #{number}", {"issue": {"number": number, "title": title}}
    for field in ("labels", "assignees"):
        if issue[field]:
            yield f"{field} left out of #{number}", {"issue": {"number": number, field: []}}
    if issue["pull"] is None:
        yield f"made twice #{number}", {"new_issue": {"title": issue["title"], "body": issue["body"]}}


def _changed(number: int, was: Mapping[str, Any], issue: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    if issue["state"] != was["state"]:
        merged = {"merged": False} if issue["pull"] and issue["pull"]["merged_at"] else {}
        yield f"state left out of #{number}", {"issue": {"number": number, "state": was["state"], **merged}}
    for field in ("title", "body", "labels", "assignees", "milestone"):
        if issue[field] != was[field]:
            yield f"{field} left out of #{number}", {"issue": {"number": number, field: was[field]}}
    if len(issue["comments"]) > len(was["comments"]):
        yield f"comment left out of #{number}", {"drop_comments": number}
    if issue["pull"] and issue["pull"]["reviews"] != was["pull"]["reviews"]:
        yield f"review left out of #{number}", {"drop_reviews": number}


def _branches(before: FileTree, after: FileTree, name: str) -> Iterator[tuple[str, Change]]:
    start = f"{FOLDER}/{name}.git/refs/heads"
    old, new = before.below(start), after.below(start)
    for branch, node in new.items():
        if node.kind != "file" or old.get(branch) == node:
            continue
        if branch in old:
            at = old[branch].data.decode("ascii", "replace").strip()
            yield f"left-out {branch}", {"branch": {"name": branch, "at": at}}
        else:
            yield f"left-out {branch}", {"delete_branch": branch}
        yield f"commit-too-many {branch}", {"commit": {"branch": branch, "message": "One more", "files": STRAY}}
