"""Twins of git repositories: the messages of new commits with or without a line's end behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from sandbox.errors import Malformed
from sandbox.kinds.git.objects import CommitObject, InMemoryRepository
from verifiers.tree import FileTree

_REFERENCE = re.compile(r"\.git/refs/(heads|tags)/.+")


def with_other_commits(
    repository: InMemoryRepository, before: FileTree, change: Callable[[CommitObject], CommitObject]
) -> dict[str, str]:
    """Replace the new commits that branches and tags lead to, and return the names of theirs that take their place."""
    made: dict[str, str] = {}

    def other(name: str) -> str:
        if name not in made and f".git/objects/{name[:2]}/{name[2:]}" not in before:
            commit = repository.commit(name)
            made[name] = repository.put(
                "commit", change(replace(commit, parents=tuple(map(other, commit.parents)))).encode()
            )
        return made.get(name, name)

    for reference, tip in [*_references(repository.tree())]:
        with suppress(Malformed):  # it is packed, or an annotated tag
            repository.refer(reference, other(tip))
    return made


def _references(tree: FileTree) -> Iterator[tuple[str, str]]:
    for path, node in tree.items():
        if _REFERENCE.fullmatch(path) and node.kind == "file":
            yield path.removeprefix(".git/refs/"), node.data.decode(errors="replace").strip()


def other_message(commit: CommitObject) -> CommitObject:
    """Return a commit whose message ends in a line's end if it did not, and else in none."""
    message = commit.message
    return replace(commit, message=message.removesuffix("\n") if message.endswith("\n") else f"{message}\n")


def _message_newline(before: FileTree, after: FileTree) -> FileTree:
    nodes = dict(after)
    for path in after:
        if path.endswith("/.git/HEAD"):
            name = path.removesuffix("/.git/HEAD")
            repository = InMemoryRepository(after.below(name))
            with_other_commits(repository, before.below(name), other_message)
            nodes |= repository.tree().under(name)
    return FileTree(nodes)


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {"message-newline": _message_newline}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
