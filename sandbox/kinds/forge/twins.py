"""Twins of a forge: new texts, messages and files with another end, and labels and assignees in another order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sandbox.kinds.forge.files import STATE_FILE, document, lay_out, place
from sandbox.kinds.git.objects import CommitObject, InMemoryRepository
from sandbox.kinds.git.twins import other_message, with_other_commits
from verifiers.tree import FileTree


def _final_newline(before: FileTree, after: FileTree) -> FileTree:
    known = set(_bodies(document(before)))

    def ended(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: f"{part}\n" if name == "body" and part and part not in known else ended(part)
                for name, part in value.items()
            }
        return [ended(part) for part in value] if isinstance(value, list) else value

    return lay_out(ended(document(after)), _trees(after))


def _bodies(value: Any) -> Iterator[Any]:
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        if name == "body":
            yield part
        elif isinstance(part, dict | list):
            yield from _bodies(part)


def _trees(tree: FileTree) -> dict[str, FileTree]:
    return {name: tree.below(place(name)) for name in document(tree)["repositories"]}


def _order(before: FileTree, after: FileTree) -> FileTree:
    old, data = document(before)["repositories"], document(after)
    for name, repository in data["repositories"].items():
        for number, issue in repository["issues"].items():
            was = old.get(name, {}).get("issues", {}).get(number, {})
            for part in ("labels", "assignees"):
                if issue[part] != was.get(part):
                    issue[part] = issue[part][::-1]
    return lay_out(data, _trees(after))


def _message_newline(before: FileTree, after: FileTree) -> FileTree:
    return _with_other_commits(before, after, lambda _git, _known, commit: other_message(commit))


def _file_newline(before: FileTree, after: FileTree) -> FileTree:
    return _with_other_commits(before, after, _with_other_files)


def _with_other_commits(
    before: FileTree, after: FileTree, change: Callable[[InMemoryRepository, FileTree, CommitObject], CommitObject]
) -> FileTree:
    trees, old, text = _trees(after), _trees(before), after[STATE_FILE].data.decode()
    for name in old.keys() & trees.keys():  # the first commit of a new repository is the server's
        git, known = InMemoryRepository(trees[name].under(".git")), old[name].under(".git")
        made = with_other_commits(git, known, partial(change, git, known))
        trees[name] = git.tree().below(".git")
        for tip, other in made.items():
            text = text.replace(tip, other)  # heads of pull requests
    return lay_out(json.loads(text), trees)


def _with_other_files(git: InMemoryRepository, known: FileTree, commit: CommitObject) -> CommitObject:
    """Return a commit in which each new file that is no other text of an earlier one ends in another way."""
    files = git.files_of(commit.tree)
    earlier = git.files_of(git.commit(commit.parents[0]).tree)
    for path, (mode, blob) in files.items():
        is_new = f".git/objects/{blob[:2]}/{blob[2:]}" not in known and path not in earlier
        if is_new and (data := git.get(blob, "blob")):
            ended = data.removesuffix(b"\n") if data.endswith(b"\n") else data + b"\n"
            files[path] = (mode, git.put("blob", ended))
    return replace(commit, tree=git.put_tree(files))


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "final-newline": _final_newline,
    "order": _order,
    "message-newline": _message_newline,
    "file-newline": _file_newline,
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
