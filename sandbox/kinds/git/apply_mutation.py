"""Applies a mutation to git repositories: branches, tags, commits, index and working tree are changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.git.history import FIRST_DAY, STEP, add_commit, ended, tip_of
from sandbox.kinds.git.objects import CommitObject, InMemoryRepository
from sandbox.kinds.git.schema import MUTATIONS
from sandbox.kinds.git.seed import check_out, edit, stage
from verifiers.tree import FileTree


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy with one thing changed.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not there.
    """
    check(MUTATIONS, change, "the git change")
    name = change["repository"]
    repository = InMemoryRepository(tree.below(name))
    if repository.read(".git/HEAD") is None:
        raise Malformed(f"the git change names the repository {name!r}, which is not in the final state")
    ((operation, argument),) = ((key, value) for key, value in change.items() if key != "repository")
    _CHANGES[operation](repository, argument)
    others = {path: node for path, node in tree.items() if not path.startswith(f"{name}/")}
    return FileTree({**others, **repository.tree().under(name)})


def _delete(kind: str) -> Callable[[InMemoryRepository, str], None]:
    def delete(repository: InMemoryRepository, name: str) -> None:
        if repository.reference(f"{kind}/{name}") is None:
            raise Malformed(f"the git change deletes {kind}/{name}, which does not exist")
        repository.remove(f".git/refs/{kind}/{name}")

    return delete


def _move_branch(repository: InMemoryRepository, ends: Mapping[str, str]) -> None:
    repository.refer(f"heads/{ends['branch']}", repository.resolve(ends["to"]))


def _reword(repository: InMemoryRepository, change: Mapping[str, str]) -> None:
    old = repository.commit(tip_of(repository, change["branch"], "the git change"))
    new = CommitObject(old.tree, old.parents, old.author, old.committer, ended(change["message"]))
    repository.refer(f"heads/{change['branch']}", repository.put("commit", new.encode()))


def _commit(repository: InMemoryRepository, change: Mapping[str, Any]) -> None:
    branch = change["branch"]
    start = tip_of(repository, branch, "the git change")
    who = repository.commit(start).committer
    author, _, stamp = who.partition("> ")
    seconds = re.match(r"\d+", stamp)
    later = int(seconds.group()) + STEP if seconds else FIRST_DAY
    who = f"{author}> {later} +0000"
    add_commit(repository, branch, start, change["files"], message=change["message"], who=who)
    if repository.head == branch:
        edit(repository, change["files"])
        stage(repository, change["files"])


def _tag(repository: InMemoryRepository, tag: Mapping[str, str]) -> None:
    repository.refer(f"tags/{tag['name']}", repository.resolve(tag["to"]))


def _switch(repository: InMemoryRepository, branch: str) -> None:
    tip_of(repository, branch, "the git change")
    check_out(repository, branch)


def _unstage(repository: InMemoryRepository, paths: list[str]) -> None:
    tip = repository.reference(f"heads/{repository.head}") if repository.head else None
    committed = repository.files_of(repository.commit(tip).tree) if tip else {}
    index = repository.index
    for path in paths:
        index.pop(path, None)
        if path in committed:
            index[path] = committed[path]
    repository.index = index


def _stage_files(repository: InMemoryRepository, files: Mapping[str, str | None]) -> None:
    edit(repository, files)
    stage(repository, files)


_CHANGES: Mapping[str, Callable[[InMemoryRepository, Any], None]] = {
    "delete_branch": _delete("heads"),
    "move_branch": _move_branch,
    "reword": _reword,
    "commit": _commit,
    "delete_tag": _delete("tags"),
    "tag": _tag,
    "checkout": _switch,
    "unstage": _unstage,
    "stage": _stage_files,
    "worktree": edit,
}
