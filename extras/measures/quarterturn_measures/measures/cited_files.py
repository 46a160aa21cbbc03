"""Files that an answer can cite: those of a task's initial state, under every path that an agent may know. Pure.

The frozen state of a run is sealed and not in its record; the initial state of a public task is in its document. So
citations are compared with what was there before the run, which are the files that a question is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.kinds.common.state_kind import DATA

Versions = Mapping[str, Sequence[str | None]]
"""Path -> each text that the file has had; None stands for bytes, which have no lines."""
FILES, REPOSITORIES = "files", frozenset({"git", "forge"})


def cited_files(initial_state: Mapping[str, Any], kinds: Mapping[str, tuple[str, str]]) -> Versions:
    """Return the files of a task's initial state: those of folders, and those of any commit of its repositories.

    A file has the path below its folder or repository, that path with the repository's name before it, and its path in
    the world. What two repositories both have is one file with the texts of both.

    Args:
        initial_state: the state by server.
        kinds: of each known server the kind of its state, and the name of the state's folder.
    """
    versions: dict[str, list[str | None]] = {}
    for server, state in initial_state.items():
        kind, root = kinds.get(server, ("", ""))
        for paths, text in _files(kind, state):
            for path in (*paths, f"{root}/{paths[-1]}"):
                versions.setdefault(path, []).append(text)
    return versions


def normal(path: str) -> str:
    """Return a path as `cited_files` writes it."""
    return path.removeprefix(f"{DATA}/").removeprefix("./").strip("/")


def _files(kind: str, state: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield each file's paths, the whole one last, with its text."""
    if kind == FILES:
        for path, text in state.get("files", {}).items():
            yield (path,), text if isinstance(text, str) else None
    elif kind in REPOSITORIES:
        for name, repository in state.get("repositories", {}).items():
            changes = [commit.get("files", {}) for commit in repository.get("commits", ())]
            for files in (*changes, repository.get("worktree", {})):
                for path, text in files.items():
                    if text is not None:
                        yield (path, f"{name}/{path}"), text if isinstance(text, str) else None
