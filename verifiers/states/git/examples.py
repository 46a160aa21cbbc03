"""Example repositories for the catalogue, as exact bytes: loose objects written without git, with fixed dates."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence

from verifiers.tree import JudgeInput, tree_of

WHO = "Example <example@quarterturn.invalid>"

DATE = 1_700_000_000

Commit = tuple[str, str, Mapping[str, str]]

"""A branch, a message, and every file of the commit."""


def repository(
    commits: Sequence[Commit],
    *,
    on: str = "main",
    tags: Mapping[str, str] | None = None,
    staged: Mapping[str, str] | None = None,
    worktree: Mapping[str, str] | None = None,
) -> JudgeInput:
    """Return the views of a world with one repository, `site`.

    Args:
        commits: in their order; a branch that is new starts from the commit before.
        on: the branch that is checked out.
        tags: tag to branch.
        staged: what the index holds beside the files of that branch.
        worktree: the files of the work tree where they are not those of the index.
    """
    made: dict[str, bytes] = {}
    branches: dict[str, str] = {}
    held: dict[str, Mapping[str, str]] = {}
    last = ""
    for number, (branch, message, content) in enumerate(commits):
        parent = branches.get(branch, last)
        when = f"{WHO} {DATE + number} +0000"
        text = f"tree {_tree(made, content)}\n" + (f"parent {parent}\n" if parent else "")
        text += f"author {when}\ncommitter {when}\n\n{message}\n"
        last = branches[branch] = _object(made, "commit", text.encode())
        held[branch] = content
    index = {**held[on], **(staged or {})}
    made[".git/HEAD"] = f"ref: refs/heads/{on}\n".encode()
    made[".git/index"] = _index({path: _object(made, "blob", text.encode()) for path, text in index.items()})
    made |= {f".git/refs/heads/{name}": f"{at}\n".encode() for name, at in branches.items()}
    made |= {f".git/refs/tags/{name}": f"{branches[at]}\n".encode() for name, at in (tags or {}).items()}
    made |= {path: text.encode() for path, text in (index if worktree is None else worktree).items()}
    return JudgeInput({"git": tree_of(made).under("site")})


def _object(made: dict[str, bytes], kind: str, data: bytes) -> str:
    """Add a loose object and give its name (Git's gitformat-loose and Documentation/technical/hash-function)."""
    encoded = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.sha1(encoded, usedforsecurity=False).hexdigest()
    made[f".git/objects/{name[:2]}/{name[2:]}"] = zlib.compress(encoded)
    return name


def _tree(made: dict[str, bytes], content: Mapping[str, str]) -> str:
    folders: dict[str, dict[str, str]] = {}
    entries: dict[str, bytes] = {}
    for path, text in content.items():
        head, _, rest = path.partition("/")
        if rest:
            folders.setdefault(head, {})[rest] = text
        else:
            entries[head] = f"100644 {head}\0".encode() + bytes.fromhex(_object(made, "blob", text.encode()))
    for name, inside in folders.items():  # a folder sorts as if its name ended in a slash
        entries[name + "/"] = f"40000 {name}\0".encode() + bytes.fromhex(_tree(made, inside))
    return _object(made, "tree", b"".join(entries[name] for name in sorted(entries)))


def _index(entries: Mapping[str, str]) -> bytes:
    """Write an index of version 2 (gitformat-index) whose recorded times and sizes are all zero."""
    body = b"DIRC" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big")
    for path in sorted(entries):
        name = path.encode()
        entry = bytes(24) + (0o100644).to_bytes(4, "big") + bytes(12) + bytes.fromhex(entries[path])
        entry += len(name).to_bytes(2, "big") + name
        body += entry + bytes(8 - len(entry) % 8)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
