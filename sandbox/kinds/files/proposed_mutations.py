"""Proposed mutations of files and folders: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import other, wrong
from verifiers.tree import FileTree

Change = Mapping[str, Any]

STRAY = "stray-note.txt"


def _overwritten(arguments: Mapping[str, Any]) -> Change:
    return {"write": {"path": arguments["path"], "text": other(str(arguments.get("text", "")))}}


def _removed(arguments: Mapping[str, Any]) -> Change:
    return {"remove": arguments["path"]}


def _crowded(arguments: Mapping[str, Any]) -> Change:
    return {"write": {"path": posixpath.join(arguments["path"], STRAY).removeprefix("./"), "text": "stray\n"}}


def _miscounted(arguments: Mapping[str, Any]) -> Change:
    """Remove the folder whose entries are counted; into the root, put one more of them."""
    if arguments["path"] != ".":
        return _removed(arguments)
    name = str(arguments.get("glob", STRAY)).replace("*", "stray").replace("?", "x")
    return {"mkdir": name} if arguments.get("kind") == "directory" else {"write": {"path": name, "text": "stray\n"}}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "filesystem.directoryExists": _removed,
    "filesystem.directoryHasOnly": _crowded,
    "filesystem.entryCount": _miscounted,
    "filesystem.fileContains": lambda arguments: {"write": {"path": arguments["path"], "text": ""}},
    "filesystem.fileExists": _removed,
    "filesystem.fileJoins": _removed,
    "filesystem.fileJsonEquals": lambda arguments: {"write": {"path": arguments["path"], "text": "not JSON"}},
    "filesystem.fileLineCount": _removed,
    "filesystem.fileCsvRows": _removed,
    "filesystem.fileLines": _overwritten,
    "filesystem.fileLinesDiffer": _removed,
    "filesystem.fileMatches": _removed,
    "filesystem.fileNumber": _removed,
    "filesystem.fileNumberLines": _removed,
    "filesystem.fileSameAs": _removed,
    "filesystem.fileSha256": _overwritten,
    "filesystem.fileSize": _removed,
    "filesystem.fileTextEquals": _overwritten,
    "filesystem.sameLength": lambda arguments: {"remove": arguments["paths"][0]},
    "filesystem.pathAbsent": lambda arguments: {"write": {"path": arguments["path"], "text": "here\n"}},
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each file that the right solution made, changed or removed."""
    old, new = _texts(before), _texts(after)
    for path in sorted(new.keys() - old.keys()):
        yield f"left-out {path}", {"remove": path}
        yield f"wrong-place {path}", {"move": {"from": path, "to": _elsewhere(path, new)}}
    for path in sorted(new.keys() & old.keys()):
        if new[path] != old[path]:
            yield f"left-out {path}", {"write": {"path": path, "text": old[path]}}
    for path in sorted(old.keys() - new.keys()):
        yield f"left-out {path}", {"write": {"path": path, "text": old[path]}}
    for path in sorted(new):
        if new[path] != old.get(path):
            yield from ((f"{name} {path}", {"write": {"path": path, "text": text}}) for name, text in wrong(new[path]))
    unchanged = sorted(path for path in new if new[path] == old.get(path))
    if unchanged:
        yield f"other-file-lost {unchanged[0]}", {"remove": unchanged[0]}


def _elsewhere(path: str, taken: Mapping[str, str]) -> str:
    stem, dot, suffix = path.rpartition(".")
    moved = f"{stem}-copy{dot}{suffix}" if dot and "/" not in suffix else f"{path}-copy"
    return moved if moved not in taken else f"{path}-elsewhere"


def _texts(tree: FileTree) -> dict[str, str]:
    """Return the text files; what is no text is nothing that an agent writes."""
    out: dict[str, str] = {}
    for path, node in tree.items():
        if node.kind == "file":
            try:
                out[path] = node.data.decode()
            except UnicodeDecodeError:
                continue
    return out
