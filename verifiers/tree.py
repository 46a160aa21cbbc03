"""Frozen state as an immutable in-memory file tree, and the views that predicates read.

A state is copied out of a world as one tar stream after everything in it was stopped (`verifiers.formats.archive`
parses it). Here it is an immutable mapping; symbolic links stay links and are never followed, so nothing that an agent
wrote can point at the machine that reads it.
"""

from __future__ import annotations

import io
import posixpath
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from verifiers.errors import Malformed

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]
MAX_ENTRIES = 10_000
MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Node:
    """A file tree entry: its kind, its permission bits, and its bytes or link target."""

    kind: Kind
    data: bytes = field(default=b"", repr=False)
    target: str = field(default="", repr=False)
    mode: int = 0o644


DIRECTORY = Node("directory", mode=0o755)
OTHER = Node("other")


class FileTree(Mapping[str, Node]):
    """An immutable mapping from relative POSIX paths (`a/b.txt`) to nodes; the root itself has no entry."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = MappingProxyType(dict(sorted(nodes.items())))

    def __getitem__(self, path: str) -> Node:
        return self._nodes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        return f"Tree({len(self._nodes)} entries)"

    def below(self, prefix: str) -> FileTree:
        """Return the sub-tree under `prefix`, with paths relative to it (empty if there is none)."""
        start = prefix.strip("/") + "/"
        return FileTree({path[len(start) :]: node for path, node in self.items() if path.startswith(start)})

    def under(self, prefix: str) -> FileTree:
        """Return the same tree moved below `prefix`, with the parent folders added."""
        start = prefix.strip("/")
        parts = start.split("/")
        folders = {"/".join(parts[: i + 1]): DIRECTORY for i in range(len(parts))}
        return FileTree(folders | {f"{start}/{path}": node for path, node in self.items()})

    def children(self, folder: str) -> list[str]:
        """List the names directly inside `folder` (`""` is the root), sorted."""
        start = folder.strip("/") + "/" if folder.strip("/") else ""
        names = {path[len(start) :].split("/")[0] for path in self if path.startswith(start) and path != start}
        return sorted(names - {""})

    def to_tar(self) -> bytes:
        """Write the tree as an uncompressed tar, with fixed owners and times."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for path, node in self.items():
                info = tarfile.TarInfo(path)
                info.mode = node.mode
                if node.kind == "directory":
                    info.type = tarfile.DIRTYPE
                elif node.kind == "symlink":
                    info.type, info.linkname = tarfile.SYMTYPE, node.target
                info.size = len(node.data) if node.kind == "file" else 0
                tar.addfile(info, io.BytesIO(node.data) if node.kind == "file" else None)
        return out.getvalue()

    @classmethod
    def from_directory(cls, root: Path, *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES) -> FileTree:
        """Read a directory without following any link.

        Raises:
            Malformed: the directory is missing or larger than the caps.
        """
        if root.is_symlink() or not root.is_dir():
            raise Malformed(f"the state {root} is not a directory")
        nodes: dict[str, Node] = {}
        total = 0
        for path in sorted(root.rglob("*")):
            status = path.lstat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
            if total > max_bytes or len(nodes) >= max_entries:
                raise Malformed(f"the state {root} holds more than {max_bytes} bytes or {max_entries} entries")
            nodes[path.relative_to(root).as_posix()] = _from_disk(path, status.st_mode)
        return cls(nodes)


def _from_disk(path: Path, mode: int) -> Node:
    bits = stat.S_IMODE(mode)
    if stat.S_ISDIR(mode):
        return Node("directory", mode=bits)
    if stat.S_ISLNK(mode):
        return Node("symlink", target=str(path.readlink()), mode=bits)
    if stat.S_ISREG(mode):
        return Node("file", data=path.read_bytes(), mode=bits)
    return Node("other", mode=bits)


def tree_of(content: Mapping[str, str | bytes]) -> FileTree:
    """Build a tree from files, adding the folders that lead to them."""
    nodes: dict[str, Node] = {}
    for path, data in content.items():
        folder = path
        while folder := posixpath.dirname(folder):
            nodes[folder] = DIRECTORY
        nodes[path] = Node("file", data.encode() if isinstance(data, str) else data)
    return FileTree(nodes)


@dataclass(frozen=True)
class JudgeInput:
    """Input of a judgement: the final states and the answer.

    Attributes:
        states: one tree a namespace (`filesystem`, `git`, `sqlite`), as its server left it. A namespace that is
            missing could not be read for a reason of ours, and every probe of it is *unknown*.
        answer: the text that the agent gave at the end, or None where it gave none.
        replies: what a language model replied of each claim about the answer, by the claim's id; None where none was
            asked (`verifiers.answer.claims`).
        baseline: the states as the agent found them, with which the frame compares; None where nobody gave them. They
            also tell a broken probe from a state that breaks it.
    """

    states: Mapping[str, FileTree] = field(default_factory=dict, repr=False)
    answer: str | None = field(default=None, repr=False)
    replies: Mapping[str, str | None] | None = field(default=None, repr=False)
    baseline: Mapping[str, FileTree] | None = field(default=None, repr=False)
