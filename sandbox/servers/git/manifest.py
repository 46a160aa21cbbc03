"""Manifest of the git MCP server: repositories with history, below one folder.

State: `{"repositories": {"site": {"commits": [{"branch": "main", "message": "…", "files": {"a.txt": "text", "old":
null}, "from": "main"}, …], "branches": {"spare": "main"}, "tags": {"v1": "main"}, "checkout": "main", "worktree":
{"a.txt": "edited"}, "staged": ["a.txt"]}}}`. A commit lists what it changes (null deletes); `from` names the branch
that a new one starts at; `worktree` is what was edited after the last commit and `staged` which of it is in the index.
Commits are dated an hour apart from a fixed day on, in the order of the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.servers.common.check import check, encoded
from sandbox.servers.common.recorded import load
from sandbox.servers.common.server import DATA, PROGRAMS, Server
from sandbox.servers.git.history import AUTHOR, FIRST_DAY, MAIL, STEP, add_commit, changed, commit_step, ended, tip_of
from sandbox.servers.git.objects import CommitObject, InMemoryRepository
from sandbox.servers.git.schema import MUTATIONS, STATE
from verifiers.tree import DIRECTORY, FileTree, Node

ROOT = "repos"


def seed(state: Mapping[str, Any]) -> FileTree:
    """Build the repositories.

    Raises:
        Malformed: a commit starts at an unknown branch, deletes what is not there, or the like; the message says where.
    """
    nodes: dict[str, Node] = {}
    for name, part in state.get("repositories", {}).items():
        nodes |= {name: DIRECTORY, **_built(part, f"the git state's repository {name!r}").under(name)}
    return FileTree(nodes)


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Give a copy with one thing changed.

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


# -- seeding ---------------------------------------------------------------------------------------------------------


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
        _check_out(repository, branch)
    changes = part.get("worktree", {})
    if unknown := sorted(set(part.get("staged", ())) - set(changes)):
        raise Malformed(f"{what} stages {unknown[0]!r}, which its worktree does not change")
    _edit(repository, changes)
    _stage(repository, {path: changes[path] for path in part.get("staged", ())})
    return repository.tree()


def _edit(repository: InMemoryRepository, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        if text is None:
            repository.remove(path)
        else:
            repository.write(path, encoded(text, f"the file {path!r}"))


def _stage(repository: InMemoryRepository, files: Mapping[str, str | None]) -> None:
    repository.index = changed(repository, repository.index, files)


def _check_out(repository: InMemoryRepository, branch: str) -> None:
    """Make index and working tree those of a branch; files that git does not know stay."""
    blobs = repository.files_of(repository.commit(repository.resolve(branch)).tree)
    for path in repository.index:
        if path not in blobs and repository.read(path) is not None:
            repository.remove(path)
    for path, (_, blob) in blobs.items():
        repository.write(path, repository.get(blob, "blob"))
    repository.index = blobs
    repository.head = branch


# -- spoiling --------------------------------------------------------------------------------------------------------


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
        _edit(repository, change["files"])
        _stage(repository, change["files"])


def _tag(repository: InMemoryRepository, tag: Mapping[str, str]) -> None:
    repository.refer(f"tags/{tag['name']}", repository.resolve(tag["to"]))


def _switch(repository: InMemoryRepository, branch: str) -> None:
    tip_of(repository, branch, "the git change")
    _check_out(repository, branch)


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
    _edit(repository, files)
    _stage(repository, files)


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
    "worktree": _edit,
}

# The package's own way of confining it, for the folder of all repositories where its option takes one repository. The
# filesystem server writes elsewhere, so no call can give git a configuration of the agent's making.
_START = f"""
import asyncio
from pathlib import Path
from mcp_server_git.server import create_server
asyncio.run(create_server(Path("{DATA}/{ROOT}")).run_stdio_async())
"""

_RECORDED = load("git")
GIT = Server(
    name="git",
    package=_RECORDED.package,
    version=_RECORDED.version,
    root=ROOT,
    command=(f"{PROGRAMS}/python/git/bin/python", "-I", "-c", _START),
    environment={
        "HOME": "/tmp",  # noqa: S108 (inside a world, its own tmpfs)
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_COUNT": "5",
        "GIT_CONFIG_KEY_0": "safe.directory",  # the folders may belong to another uid than the server's
        "GIT_CONFIG_VALUE_0": "*",
        "GIT_CONFIG_KEY_1": "gc.auto",
        "GIT_CONFIG_VALUE_1": "0",
        "GIT_CONFIG_KEY_2": "core.fsmonitor",  # these three would run a program that a repository names
        "GIT_CONFIG_VALUE_2": "false",
        "GIT_CONFIG_KEY_3": "core.hooksPath",
        "GIT_CONFIG_VALUE_3": "/dev/null",
        "GIT_CONFIG_KEY_4": "protocol.allow",
        "GIT_CONFIG_VALUE_4": "never",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": MAIL,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": MAIL,
    },
    tools=_RECORDED.tools,
    state_schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    on_demand=True,
)
