"""Checks of the files in a commit, shared by the `git` and `github` predicates."""

from __future__ import annotations

from verifiers.errors import TargetMissing
from verifiers.predicates.registry import ProbeResult
from verifiers.predicates.values import difference
from verifiers.quoting import listed, quoted
from verifiers.states.git.history import GitRepository

BYTES = 128  # of a file for a step


def content(repo: GitRepository, commit: str, path: str, *, at: str) -> bytes:
    """Return the content of a regular file of a commit.

    Args:
        at: how the evidence names the commit.

    Raises:
        TargetMissing: the commit has no regular file there.
    """
    entry = repo.entries(commit).get(path)
    if entry is None or not entry.mode.startswith("100"):
        raise TargetMissing(f"{quoted(at)} has no file {quoted(path)}")
    data = repo.blob(entry.object)
    repo.budget.step(1 + len(data) // BYTES)
    return data


def holds_text(repo: GitRepository, commit: str, path: str, text: str, *, trim: bool, at: str) -> ProbeResult:
    """Compare a regular file of a commit with a text; with `trim` without white space at the ends of both.

    Args:
        at: how the evidence names the commit.

    Raises:
        TargetMissing: the commit has no regular file there.
    """
    data, expected = content(repo, commit, path, at=at), text.encode()
    if trim:
        data, expected = data.strip(), expected.strip()
    return ProbeResult(data == expected, f"at {quoted(at)}, {quoted(path)} {difference(data, expected)}")


def holds_nothing(repo: GitRepository, commit: str, path: str, *, at: str) -> ProbeResult:
    """Say whether a commit has neither a file nor a folder at a path."""
    paths = [other for other in repo.entries(commit) if other == path or other.startswith(path + "/")]
    return ProbeResult(not paths, f"{quoted(at)} has at this path: {listed(paths)}")
