"""Git history from a state document: commits that list what they change, one after the other, an hour apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.git.objects import FILE_MODE, Blobs, CommitObject, InMemoryRepository

AUTHOR, MAIL = "Quarterturn", "tasks@quarterturn.invalid"
FIRST_DAY, STEP = 1_704_099_600, 3600  # 2024-01-01T09:00:00Z, an hour


def commit_step(repository: InMemoryRepository, step: Mapping[str, Any], number: int, what: str) -> None:
    """Put the commit of a state's list, the one of this number, on its branch.

    Raises:
        Malformed: it contradicts what came before it; `what` names it.
    """
    tip = repository.reference(f"heads/{step['branch']}")
    if "from" in step and tip is not None:
        raise Malformed(f"{what} says from, but the branch {step['branch']!r} exists already")
    start = tip_of(repository, step["from"], what) if "from" in step else tip
    if start is None and number:
        raise Malformed(f"{what} starts the branch {step['branch']!r} and must say from which branch")
    who = f"{step.get('author', f'{AUTHOR} <{MAIL}>')} {FIRST_DAY + number * STEP} +0000"
    encoded(step["message"] + who, what)
    add_commit(repository, step["branch"], start, step.get("files", {}), message=step["message"], who=who)


def tip_of(repository: InMemoryRepository, branch: str, what: str) -> str:
    """Return the commit of a branch.

    Raises:
        Malformed: there is no such branch.
    """
    tip = repository.reference(f"heads/{branch}")
    if tip is None:
        raise Malformed(f"{what} names the branch {branch!r}, which no commit has made")
    return tip


def add_commit(
    repository: InMemoryRepository,
    branch: str,
    start: str | None,
    files: Mapping[str, str | None],
    *,
    message: str,
    who: str,
) -> None:
    """Put one commit on a branch, as if from a clean checkout of `start`."""
    blobs = repository.files_of(repository.commit(start).tree) if start else {}
    blobs = changed(repository, blobs, files)
    commit = CommitObject(repository.put_tree(blobs), (start,) if start else (), who, who, ended(message))
    repository.refer(f"heads/{branch}", repository.put("commit", commit.encode()))


def ended(message: str) -> str:
    """End a message with a line's end, as git does."""
    return message if message.endswith("\n") else f"{message}\n"


def changed(repository: InMemoryRepository, blobs: Blobs, files: Mapping[str, str | None]) -> Blobs:
    """Return the files with some written, and those taken away that are null.

    Raises:
        Malformed: one is to be taken away that is not there.
    """
    out = dict(blobs)
    for path, text in files.items():
        if text is not None:
            out[path] = (out.get(path, (FILE_MODE, ""))[0], repository.put("blob", encoded(text, f"the file {path!r}")))
        elif out.pop(path, None) is None:
            raise Malformed(f"the file {path!r} is deleted where it does not exist")
    return out
