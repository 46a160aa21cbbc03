"""Normal form of git repositories, and lookups in their refs, commits, files, index and work tree.

Normal form of a namespace: `{"repositories": {path: repository}}`, where a repository is `{"spoiled": sentence}` or

    {"head": text, "refs": {full name: object} or {"spoiled": sentence},
     "commits": {name: [tree, [parent], message]}, "trees": {name: [[mode, name, object]]}, "blobs": {name: blob},
     "index": {"entries": [[path, mode, object]], "skipped": [path]} or {"spoiled": sentence},
     "files": [[path, mode, object]]}

with every commit, tree and file that a ref or HEAD leads to, but for what is missing or broken. What a sparse checkout
leaves out of the work tree is `skipped`, which is not there where nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.predicates.context import Context
from verifiers.quoting import quoted

A_COMMIT, AN_ENTRY = 2, 8  # steps; a folder may be in a tree any number of times, and counts each time
MAX_HISTORIES = 20
"""That are remembered; each may hold every commit."""
FOLDER, SUBMODULE = "040000", "160000"

_HEX = re.compile(r"[0-9a-f]{40}")


class GitEntry(NamedTuple):
    """One file of a commit, of the index or of the work tree: its mode in octal digits and its object."""

    mode: str
    object: str


@dataclass
class GitRepository:
    """A git repository, with cached lookups."""

    name: str
    document: Mapping[str, Any] = field(repr=False)
    blobs: tuple[bytes, ...] = field(repr=False)
    budget: ReadingBudget = field(repr=False)
    _entries: dict[str, Mapping[str, GitEntry]] = field(default_factory=dict, repr=False)
    _histories: dict[str, set[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def refs(self) -> Mapping[str, str]:
        """Map each ref's full name to the object that it leads to, with annotated tags peeled.

        Raises:
            CorruptState: the refs are corrupt.
        """
        refs: Mapping[str, str] = self.document["refs"]
        if "spoiled" in refs:
            self._broken(refs["spoiled"])
        self.budget.step(len(refs))
        return refs

    def branch(self, name: str) -> str | None:
        """Return the tip of a branch, or None."""
        return self.refs.get(f"refs/heads/{name}")

    def tag(self, name: str) -> str | None:
        """Return the commit of a tag, or None."""
        return self.refs.get(f"refs/tags/{name}")

    def current(self) -> str | None:
        """Name the branch that HEAD is on, or give None where it is on a commit of its own."""
        text = str(self.document["head"])
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else None

    def commit(self, ref: str) -> str | None:
        """Return the commit that a ref means: `HEAD`, a branch, else a tag; `~N` after it goes back N first parents."""
        base, _, back = ref.partition("~")
        at = self._named(base)
        for _ in range(int(back) if at is not None and back else 0):
            if at is None:
                return None
            parents = self._commit(at)[1]
            at = parents[0] if parents else None
        return at

    def _named(self, name: str) -> str | None:
        if name == "HEAD":
            on = self.current()
            text = str(self.document["head"])
            return self.branch(on) if on else text if _HEX.fullmatch(text) else None
        return self.branch(name) or self.tag(name)

    def _commit(self, name: str) -> tuple[str, list[str], str]:
        commit = self.document["commits"].get(name)
        if commit is None:
            self._broken("a commit is missing or broken")
        tree, parents, message = commit
        return tree, parents, message

    def message(self, commit: str) -> str:
        """Return a commit's message as it stands."""
        return self._commit(commit)[2]

    def parents(self, commit: str) -> list[str]:
        """Name a commit's parents."""
        return self._commit(commit)[1]

    def history(self, commit: str) -> set[str]:
        """Name every commit that can be reached from one, itself included.

        Raises:
            CorruptState: one of them is missing or broken.
        """
        if commit in self._histories:
            self.budget.step(1 + len(self._histories[commit]) // A_COMMIT)
            return self._histories[commit]
        reached, waiting = {commit}, [commit]
        while waiting:
            parents = self._commit(waiting.pop())[1]
            self.budget.step(A_COMMIT + len(parents))
            for parent in parents:
                if parent not in reached:
                    reached.add(parent)
                    waiting.append(parent)
        if len(self._histories) < MAX_HISTORIES:
            self._histories[commit] = reached
        return reached

    def entries(self, commit: str) -> Mapping[str, GitEntry]:
        """Map every file of a commit to its entry.

        Raises:
            CorruptState: a folder of it is missing or broken, or there are more entries than the budget has steps for.
        """
        if commit not in self._entries:
            self._entries[commit] = self._walked(self._commit(commit)[0])
        self.budget.step(len(self._entries[commit]))
        return self._entries[commit]

    def _walked(self, tree: str) -> Mapping[str, GitEntry]:
        by_path: dict[str, GitEntry] = {}
        waiting = [("", tree)]
        while waiting:
            folder, name = waiting.pop()
            entries = self.document["trees"].get(name)
            if entries is None:
                self._broken("a folder of a commit is missing or broken")
            self.budget.step(AN_ENTRY * (1 + len(entries)) + len(folder) * len(entries) // 64)
            for mode, part, object_name in entries:
                if mode == FOLDER:
                    waiting.append((f"{folder}{part}/", object_name))
                else:
                    by_path[folder + part] = GitEntry(mode, object_name)
        return dict(sorted(by_path.items()))

    @cached_property
    def index(self) -> Mapping[str, GitEntry]:
        """Map every file of the index to its entry.

        Raises:
            CorruptState: a merge is under way in it, or it is none.
        """
        index = self.document["index"]
        if "spoiled" in index:
            raise CorruptState(f"the index of {quoted(self.name)}: {index['spoiled']}")
        return self._made(index["entries"])

    def checked_out(self) -> Mapping[str, GitEntry]:
        """Map every file of the index that should be in the work tree to its entry; submodules are repositories.

        Raises:
            CorruptState: as `index` does.
        """
        index, skipped = self.index, set(self.document["index"].get("skipped", ()))
        return {path: entry for path, entry in index.items() if path not in skipped and entry.mode != SUBMODULE}

    def submodules(self) -> tuple[str, ...]:
        """Name the folders of the submodules, each with a slash behind it."""
        return tuple(f"{path}/" for path, entry in self.index.items() if entry.mode == SUBMODULE)

    def files(self) -> Mapping[str, GitEntry]:
        """Map every file of the work tree to its entry, as it would be in the index."""
        return self._made(self.document["files"])

    def _made(self, entries: list[tuple[str, str, str]]) -> Mapping[str, GitEntry]:
        self.budget.step(AN_ENTRY * len(entries))
        return {path: GitEntry(mode, object_name) for path, mode, object_name in entries}

    def blob(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            CorruptState: it is missing, or not what its name says.
        """
        blob: int | None = self.document["blobs"].get(name)
        if blob is None:
            self._broken("an object is missing, or is not what its name says")
        return self.blobs[blob]

    def _broken(self, why: str) -> NoReturn:
        raise CorruptState(f"the repository {quoted(self.name)} is broken: {why}")


def open_repository(context: Context, name: str) -> GitRepository:
    """Return the repository at this path of the git server's state, built once for each evaluation.

    Raises:
        CorruptState: there is none, or nobody can read it.
        StateUnavailable: there is no state.
    """
    return context.once(("git", name), lambda: repository_in(context.state("git"), name, context.budget))


def repository_in(state: NormalState, name: str, budget: ReadingBudget) -> GitRepository:
    """Return one of the repositories in a normal form.

    Raises:
        CorruptState: there is none, or nobody can read it.
    """
    document = state.document["repositories"].get(name)
    if document is None:
        raise CorruptState(f"there is no repository at {quoted(name)}")
    if "spoiled" in document:
        raise CorruptState(f"the repository {quoted(name)} is broken: {document['spoiled']}")
    return GitRepository(name, document, state.blobs, budget)
