"""Applies a mutation to a forge: one thing of a final state is undone, moved or added."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.forge.backend.storage import clock, records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.files import document, lay_out, place
from sandbox.kinds.forge.schema import MUTATIONS
from sandbox.kinds.git.history import FIRST_DAY, STEP, add_commit, tip_of
from sandbox.kinds.git.objects import InMemoryRepository
from verifiers.tree import FileTree

WHAT = "the github change"


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy with one thing changed.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not there.
    """
    check(MUTATIONS, change, WHAT)
    data, name = document(tree), change["repository"]
    if name not in data["repositories"]:
        raise Malformed(f"{WHAT} names the repository {name!r}, which is not in the final state")
    ((operation, argument),) = ((key, value) for key, value in change.items() if key != "repository")
    trees = {other: tree.below(place(other)) for other in data["repositories"]}
    if operation in _DELETED:
        for deleted in _DELETED[operation](data, name, argument):
            del data["repositories"][deleted], trees[deleted]
    elif operation in _BRANCHES:
        git = InMemoryRepository(trees[name].under(".git"))
        _BRANCHES[operation](git, argument)
        trees[name] = git.tree().below(".git")
    else:
        _RECORDS[operation](data, data["repositories"][name], argument)
    return lay_out(data, trees)


# -- branches --------------------------------------------------------------------------------------------------------


def _delete_branch(git: InMemoryRepository, name: str) -> None:
    tip_of(git, name, WHAT)
    git.remove(f".git/refs/heads/{name}")


def _branch(git: InMemoryRepository, branch: Mapping[str, str]) -> None:
    git.refer(f"heads/{branch['name']}", git.resolve(branch["at"]))


def _commit(git: InMemoryRepository, change: Mapping[str, Any]) -> None:
    start = tip_of(git, change["branch"], WHAT)
    author, _, stamp = git.commit(start).author.partition("> ")
    seconds = re.match(r"\d+", stamp)
    when = int(seconds.group()) + STEP if seconds else FIRST_DAY
    who = f"{author}> {when} +0000"
    add_commit(git, change["branch"], start, change["files"], message=change["message"], who=who)


# -- records ---------------------------------------------------------------------------------------------------------


def _issue(repository: Record, which: int | str) -> Record:
    """Return an issue or a pull request by its number, its title, or the branch that it comes from."""
    for issue in repository["issues"].values():
        branch = issue["pull"]["head"]["branch"] if issue["pull"] else None
        if which in {issue["number"], issue["title"], branch, f"{_owner(issue)}:{branch}"}:
            record: Record = issue
            return record
    raise Malformed(f"{WHAT} names {which!r}, which is not in the final state")


def _owner(issue: Record) -> str:
    return str(issue["pull"]["head"]["repository"]).partition("/")[0] if issue["pull"] else ""


def _pull(repository: Record, which: int | str) -> Record:
    pull: Record | None = _issue(repository, which)["pull"]
    if pull is None:
        raise Malformed(f"{WHAT} needs a pull request, and {which!r} is an issue")
    return pull


def _change_issue(data: Record, repository: Record, change: Mapping[str, Any]) -> None:
    issue, now = _issue(repository, change["number"]), clock.written(data["clock"])
    issue |= {key: change[key] for key in ("title", "body", "assignees", "milestone") if key in change}
    if "labels" in change:
        issue["labels"] = records.labelled(data, repository, change["labels"])
    if change.get("state") == "closed":
        records.close(issue, data["viewer"], now)
    elif change.get("state") == "open":
        issue |= {"state": "open", "closed_at": None, "closed_by": None, "state_reason": None}
    if {"base", "draft", "merged"} & change.keys():
        _change_pull(_pull(repository, change["number"]), change, data["viewer"], now)


def _change_pull(pull: Record, change: Mapping[str, Any], viewer: str, now: str) -> None:
    pull["draft"] = change.get("draft", pull["draft"])
    pull["base"]["branch"] = change.get("base", pull["base"]["branch"])
    if "merged" in change:
        merged = change["merged"]
        pull |= {"merged_at": now if merged else None, "merged_by": viewer if merged else None}
        pull |= {"merge_commit": pull["head"]["sha"] if merged else None, "merge_method": "merge" if merged else None}


def _new_issue(data: Record, repository: Record, known: Mapping[str, Any]) -> None:
    number, now = records.next_number(repository), clock.written(data["clock"])
    labels = records.labelled(data, repository, known.get("labels", []))
    issue = records.new_issue(data, number, known.get("user", data["viewer"]), now, {**known, "labels": labels})
    if known.get("state") == "closed":
        records.close(issue, data["viewer"], now)
    repository["issues"][str(number)] = issue


def _delete_issue(_data: Record, repository: Record, which: int | str) -> None:
    del repository["issues"][str(_issue(repository, which)["number"])]


def _comment(data: Record, repository: Record, comment: Mapping[str, Any]) -> None:
    by, now = comment.get("user", data["viewer"]), clock.written(data["clock"])
    _issue(repository, comment["number"])["comments"].append(records.new_comment(data, by, now, comment["body"]))


def _review(data: Record, repository: Record, review: Mapping[str, Any]) -> None:
    pull = _pull(repository, review["number"])
    known = {"state": review["state"], "body": review.get("body"), "commit": pull["head"]["sha"]}
    by = review.get("user", data["viewer"])
    pull["reviews"].append(records.new_review(data, by, clock.written(data["clock"]), known))


def _drop(items: list[Record], what: str) -> None:
    if not items:
        raise Malformed(f"{WHAT} takes away {what}, and there are none")
    items.clear()


def _drop_comments(_data: Record, repository: Record, which: int | str) -> None:
    _drop(_issue(repository, which)["comments"], "comments")


def _drop_reviews(_data: Record, repository: Record, which: int | str) -> None:
    _drop(_pull(repository, which)["reviews"], "reviews")


def _itself(_data: Record, name: str, _argument: object) -> list[str]:
    return [name]


def _forks(data: Record, name: str, owner: str) -> list[str]:
    every = data["repositories"].items()
    forks = [other for other, record in every if record["parent"] == name and other.startswith(f"{owner}/")]
    if not forks:
        raise Malformed(f"{WHAT} takes away the forks of {owner!r}, and there are none")
    return forks


_DELETED: Mapping[str, Callable[[Record, str, Any], list[str]]] = {
    "delete_repository": _itself,
    "delete_forks": _forks,
}
_BRANCHES: Mapping[str, Callable[[InMemoryRepository, Any], None]] = {
    "delete_branch": _delete_branch,
    "branch": _branch,
    "commit": _commit,
}
_RECORDS: Mapping[str, Callable[[Record, Record, Any], None]] = {
    "issue": _change_issue,
    "new_issue": _new_issue,
    "delete_issue": _delete_issue,
    "comment": _comment,
    "drop_comments": _drop_comments,
    "review": _review,
    "drop_reviews": _drop_reviews,
}
