"""Shared parts of the `github` predicates: argument schemas, and lookups in a forge and its git repositories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import ProbeResult
from verifiers.quoting import quoted
from verifiers.states.forge.state import FOLDER, Record, open_forge
from verifiers.states.git.history import GitRepository, repository_in

REPOSITORY: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}$(?!\n)",
    "description": "`owner/name`",
}
BRANCH: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$",
    "description": "branch",
}
REF: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}(~[0-9]{1,3})?$",
    "description": "branch, with `~N` for its Nth first parent",
}
WHICH: Mapping[str, Any] = {"type": ["integer", "string"], "minimum": 1, "minLength": 1}
ISSUE_OF: Mapping[str, Any] = {**WHICH, "description": "number or title"}
PULL_OF: Mapping[str, Any] = {**WHICH, "description": "number or branch that it comes from"}
STATES: Mapping[str, Any] = {"enum": ["open", "closed"], "type": "string"}
PART: Mapping[str, Any] = {"type": "string", "minLength": 1}
REVIEWS: Mapping[str, Any] = {"enum": ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"], "type": "string"}
METHODS: Mapping[str, Any] = {"enum": ["merge", "squash", "rebase"], "type": "string"}

SITE = {"repository": "acme/site"}


def some(every: Sequence[Record], holds: Callable[[Record], bool], render: Callable[[Record], str]) -> ProbeResult:
    """Say whether any of these parts matches, and list them."""
    observation = "; ".join(f"#{record['number']} is {render(record)}" for record in every[:4])
    return ProbeResult(any(map(holds, every)), observation)


def lower(values: Sequence[str]) -> set[str]:
    """Return texts in lower case."""
    return {value.lower() for value in values}


def state_of(record: Record) -> str:
    """Say whether a pull request is open, closed or merged."""
    return "merged" if record["pull"]["merged_at"] else str(record["state"])


def git_of(context: Context, repository: str) -> GitRepository:
    """Open a repository of the forge.

    Raises:
        TargetMissing: there is none.
        CorruptState: its git repository is missing.
    """
    name = open_forge(context).name(repository)
    return context.once(
        ("github", name), lambda: repository_in(context.state("github"), f"{FOLDER}/{name}.git", context.budget)
    )


def tip_of(repo: GitRepository, branch: str) -> str:
    """Return the commit at the tip of a branch.

    Raises:
        TargetMissing: there is no such branch.
    """
    commit = repo.commit(branch)
    if commit is None:
        raise TargetMissing(f"there is no branch {quoted(branch)}")
    return commit


def has(repo: GitRepository, branch: str, commit: str | None) -> bool:
    """Say whether a branch's history contains a commit.

    Raises:
        TargetMissing: the branch is gone.
        CorruptState: the commit is.
    """
    if commit is None:
        raise CorruptState("a pull request is merged, and no commit came of it")
    return repo.history(commit) <= repo.history(tip_of(repo, branch))
