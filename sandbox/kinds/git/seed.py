"""Seed of the git server: repositories with history, an index and a working tree, from a state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.git.history import changed, commit_step, tip_of
from sandbox.kinds.git.objects import InMemoryRepository
from verifiers.tree import DIRECTORY, FileTree, Node


def seed(state: Mapping[str, Any]) -> FileTree:
    """Build the repositories.

    Raises:
        Malformed: a commit starts at an unknown branch, deletes what is not there, or the like; the message says where.
    """
    nodes: dict[str, Node] = {}
    for name, part in state.get("repositories", {}).items():
        nodes |= {name: DIRECTORY, **_built(part, f"the git state's repository {name!r}").under(name)}
    return FileTree(nodes)


def _built(part: Mapping[str, Any], what: str) -> FileTree:
    commits = part.get("commits", [])
    branch = part.get("checkout", commits[0]["branch"] if commits else "main")
    repository = InMemoryRepository.empty(branch)
    for number, step in enumerate(commits):
        commit_step(repository, step, number, f"{what}, commit {number}")
    for kind, names in (("heads", part.get("branches", {})), ("tags", part.get("tags", {}))):
        for name, start in names.items():
            repository.refer(f"{kind}/{name}", tip_of(repository, start, f"{what}, {name!r}"))
    if commits:
        tip_of(repository, branch, f"{what}, checkout")
        check_out(repository, branch)
    changes = part.get("worktree", {})
    if unknown := sorted(set(part.get("staged", ())) - set(changes)):
        raise Malformed(f"{what} stages {unknown[0]!r}, which its worktree does not change")
    edit(repository, changes)
    stage(repository, {path: changes[path] for path in part.get("staged", ())})
    return repository.tree()


def edit(repository: InMemoryRepository, files: Mapping[str, str | None]) -> None:
    """Write files of the working tree; None removes one."""
    for path, text in files.items():
        if text is None:
            repository.remove(path)
        else:
            repository.write(path, encoded(text, f"the file {path!r}"))


def stage(repository: InMemoryRepository, files: Mapping[str, str | None]) -> None:
    """Put files into the index; None removes one."""
    repository.index = changed(repository, repository.index, files)


def check_out(repository: InMemoryRepository, branch: str) -> None:
    """Make index and working tree those of a branch; files that git does not know stay."""
    blobs = repository.files_of(repository.commit(repository.resolve(branch)).tree)
    for path in repository.index:
        if path not in blobs and repository.read(path) is not None:
            repository.remove(path)
    for path, (_, blob) in blobs.items():
        repository.write(path, repository.get(blob, "blob"))
    repository.index = blobs
    repository.head = branch
