"""Proposed mutations of git repositories: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verifiers.tree import FileTree

Change = Mapping[str, Any]

STRAY: Change = {"stray-note.txt": "stray\n"}


def _change(arguments: Mapping[str, Any], **change: Any) -> Change:
    return {"repository": arguments["repository"], **change}


def _committed(branch: str) -> Callable[[Mapping[str, Any]], Change]:
    def change(arguments: Mapping[str, Any]) -> Change:
        commit = {"branch": arguments[branch].partition("~")[0], "message": "One more", "files": STRAY}
        return _change(arguments, commit=commit)

    return change


def _file(text: Callable[[Mapping[str, Any]], str | None]) -> Callable[[Mapping[str, Any]], Change]:
    def change(arguments: Mapping[str, Any]) -> Change:
        commit = {
            "branch": arguments["ref"].partition("~")[0],
            "message": "One more",
            "files": {arguments["path"]: text(arguments)},
        }
        return _change(arguments, commit=commit)

    return change


def _reworded(arguments: Mapping[str, Any]) -> Change:
    return _change(arguments, reword={"branch": arguments["branch"], "message": "Not this"})


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "git.branchAt": _committed("branch"),
    "git.branchExists": lambda arguments: _change(arguments, delete_branch=arguments["branch"]),
    "git.commitChanges": _committed("ref"),
    "git.commitCount": _committed("branch"),
    "git.currentBranch": lambda arguments: _change(arguments, delete_branch=arguments["branch"]),
    "git.fileAbsentAtRef": _file(lambda _: "here\n"),
    "git.fileAtRef": _file(lambda arguments: f"not this {arguments['text']}"),
    "git.headMessage": _reworded,
    "git.isAncestor": lambda arguments: _change(arguments, delete_branch=arguments["ancestor"]),
    "git.stagedPaths": lambda arguments: _change(arguments, stage=STRAY),
    "git.tagExists": lambda arguments: _change(arguments, delete_tag=arguments["tag"]),
    "git.worktreeClean": lambda arguments: _change(arguments, stage=STRAY),
}
"""By predicate: a change that certainly makes it false, where its ref is a branch or a tag by its own name."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each branch and tag that the right solution made or moved."""
    old, new = _references(before), _references(after)
    for (repository, kind, name), commit in sorted(new.items()):
        if commit == old.get((repository, kind, name)):
            continue
        place = f"{repository} {name}"
        if kind == "tags":
            yield f"left-out {place}", {"repository": repository, "delete_tag": name}
            continue
        if (repository, kind, name) not in old:
            yield f"left-out {place}", {"repository": repository, "delete_branch": name}
        else:
            was = old[repository, kind, name]
            yield f"left-out {place}", {"repository": repository, "move_branch": {"branch": name, "to": was}}
        commit_too_many = {"branch": name, "message": "One more", "files": STRAY}
        yield f"commit-too-many {place}", {"repository": repository, "commit": commit_too_many}
        yield f"wrong-message {place}", {"repository": repository, "reword": {"branch": name, "message": "WIP"}}
    for (repository, kind, name), commit in sorted(new.items()):
        if kind == "heads" and commit == old.get((repository, kind, name)):
            stray = {"branch": name, "message": "One more", "files": STRAY}
            yield f"other-branch-touched {repository} {name}", {"repository": repository, "commit": stray}
            return


def _references(tree: FileTree) -> dict[tuple[str, str, str], str]:
    """Return where each loose branch and tag points: what a solution made or moved is never packed."""
    out = {}
    for path, node in tree.items():
        repository, inside, rest = path.partition("/.git/refs/")
        kind, _, name = rest.partition("/")
        if inside and node.kind == "file" and kind in {"heads", "tags"}:
            out[repository, kind, name] = node.data.decode("ascii", "replace").strip()
    return out
