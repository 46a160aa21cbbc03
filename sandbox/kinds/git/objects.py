"""Git's own storage, in memory: loose objects, references and the index as bytes of a `FileTree`.

Seeding a repository needs neither the git program nor a file on a disk, and gives the same bytes everywhere. What is
written is what gitformat-index(5), gitrepository-layout(5) and the object format of "Git Internals" (Pro Git, chapter
10) describe: SHA-1 names, zlib-packed loose objects, index version 2 with empty stat data (git compares contents then).
Reading covers what the git server leaves behind; packed objects and packed references are refused by name.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sandbox.errors import Malformed
from verifiers.tree import DIRECTORY, FileTree, Node

CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[gc]
\tauto = 0
"""
FILE_MODE, FOLDER_MODE = 0o100644, 0o040000
_ENTRY = struct.Struct(">10I20sH")  # ctime, mtime, dev, ino, mode, uid, gid, size | name | flags
_EXTENDED = 0x4000
_HEX = re.compile(r"[0-9a-f]{40}")

Blobs = dict[str, tuple[int, str]]  # path -> mode and object name


@dataclass(frozen=True, slots=True)
class CommitObject:
    """A commit object, with its text kept apart."""

    tree: str
    parents: tuple[str, ...]
    author: str
    committer: str
    message: str = field(repr=False)

    def encode(self) -> bytes:
        """Return the object's content."""
        head = [f"tree {self.tree}", *(f"parent {parent}" for parent in self.parents)]
        return "\n".join([*head, f"author {self.author}", f"committer {self.committer}", "", self.message]).encode()

    @classmethod
    def decode(cls, data: bytes) -> CommitObject:
        """Read an object's content (headers that we never write are dropped)."""
        head, _, message = data.decode(errors="replace").partition("\n\n")
        lines = [line.partition(" ")[::2] for line in head.split("\n")]
        fields = dict(lines)
        parents = tuple(value for name, value in lines if name == "parent")
        return cls(fields["tree"], parents, fields["author"], fields["committer"], message)


class InMemoryRepository:
    """One repository that can be read and changed; `tree()` gives its files."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = dict(nodes)

    @classmethod
    def empty(cls, branch: str) -> InMemoryRepository:
        """Make what `git init` makes, without templates."""
        made = cls({})
        for folder in (".git", ".git/objects", ".git/objects/info", ".git/objects/pack", ".git/refs/tags"):
            made.folder(folder)
        made.folder(".git/refs/heads")
        made.write(".git/config", CONFIG)
        made.head = branch
        return made

    def tree(self) -> FileTree:
        """Return the repository's folder, `.git` and working tree."""
        return FileTree(self._nodes)

    # -- files ---------------------------------------------------------------------------------------------------

    def folder(self, path: str) -> None:
        """Make a folder and those that lead to it."""
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            node = self._nodes.setdefault("/".join(parts[:end]), DIRECTORY)
            if node.kind != "directory":
                raise Malformed(f"the path {path!r} leads through {'/'.join(parts[:end])!r}, which is a file")

    def write(self, path: str, data: bytes) -> None:
        """Write a file and make the folders that lead to it."""
        if (old := self._nodes.get(path)) and old.kind == "directory":
            raise Malformed(f"the path {path!r} is a folder already")
        if "/" in path:
            self.folder(path.rpartition("/")[0])
        self._nodes[path] = Node("file", data=data)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that it leaves empty."""
        if path not in self._nodes:
            raise Malformed(f"there is no file {path!r} to remove")
        del self._nodes[path]
        while "/" in path:
            path = path.rpartition("/")[0]
            if path.startswith(".git") or any(name.startswith(f"{path}/") for name in self._nodes):
                return
            self._nodes.pop(path, None)

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None."""
        node = self._nodes.get(path)
        return node.data if node and node.kind == "file" else None

    # -- objects -------------------------------------------------------------------------------------------------

    def put(self, kind: str, data: bytes) -> str:
        """Store an object and give its name."""
        encoded = f"{kind} {len(data)}".encode() + b"\0" + data
        name = hashlib.sha1(encoded, usedforsecurity=False).hexdigest()
        self.folder(f".git/objects/{name[:2]}")
        self._nodes[f".git/objects/{name[:2]}/{name[2:]}"] = Node("file", data=zlib.compress(encoded, 1), mode=0o444)
        return name

    def get(self, name: str, kind: str) -> bytes:
        """Return the content of a loose object.

        Raises:
            Malformed: it is not there as a loose object, or is of another kind.
        """
        packed = self.read(f".git/objects/{name[:2]}/{name[2:]}")
        head, _, data = zlib.decompress(packed).partition(b"\0") if packed else (b"", b"", b"")
        if head.split(b" ")[0] != kind.encode():
            raise Malformed(f"the repository has no loose {kind} {name}")
        return data

    def put_tree(self, files: Blobs) -> str:
        """Store a tree object for these files, with those of its folders."""
        entries: dict[str, tuple[int, str]] = {}
        folders: dict[str, Blobs] = {}
        for path, blob in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = blob
            else:
                entries[first] = blob
        if clash := sorted(entries.keys() & folders.keys()):
            raise Malformed(f"the path {clash[0]!r} is both a file and a folder")
        entries |= {name: (FOLDER_MODE, self.put_tree(inside)) for name, inside in folders.items()}
        # Git orders a folder as if its name ended in a slash.
        order = sorted(entries, key=lambda name: (name + "/" * (name in folders)).encode())
        return self.put("tree", b"".join(_tree_entry(name, *entries[name]) for name in order))

    def files_of(self, tree: str, prefix: str = "") -> Blobs:
        """List the files below a tree object."""
        files: Blobs = {}
        for name, mode, blob in _tree_entries(self.get(tree, "tree")):
            inside = self.files_of(blob, f"{prefix}{name}/") if mode == FOLDER_MODE else {prefix + name: (mode, blob)}
            files |= inside
        return files

    def commit(self, name: str) -> CommitObject:
        """Read a commit object."""
        return CommitObject.decode(self.get(name, "commit"))

    # -- references and index ------------------------------------------------------------------------------------

    @property
    def head(self) -> str | None:
        """The branch that is checked out, or None where HEAD is detached."""
        text = (self.read(".git/HEAD") or b"").decode(errors="replace").strip()
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else None

    @head.setter
    def head(self, branch: str) -> None:
        self.write(".git/HEAD", f"ref: refs/heads/{branch}\n".encode())

    def reference(self, name: str) -> str | None:
        """Return the object that `heads/main` or `tags/v1` names, or None."""
        data = self.read(f".git/refs/{name}")
        if data is None and f"refs/{name}\n".encode() in (self.read(".git/packed-refs") or b""):
            raise Malformed(f"the reference {name!r} is packed")
        return data.decode(errors="replace").strip() if data is not None else None

    def refer(self, name: str, to: str) -> None:
        """Make a reference, or move it."""
        self.write(f".git/refs/{name}", f"{to}\n".encode())

    def resolve(self, name: str) -> str:
        """Return the commit that a branch, a tag, `name~2` or a full object name stands for.

        Raises:
            Malformed: it stands for none.
        """
        base, _, steps = name.partition("~")
        commit = self.reference(f"heads/{base}") or self.reference(f"tags/{base}")
        commit = commit or (base if _HEX.fullmatch(base) else None)
        if commit is None or not (steps or "0").isdecimal():
            raise Malformed(f"the repository has no branch, tag or commit {name!r}")
        for _ in range(int(steps or "0")):
            parents = self.commit(commit).parents
            if not parents:
                raise Malformed(f"{name!r} leads before the repository's first commit")
            commit = parents[0]
        return commit

    @property
    def index(self) -> Blobs:
        """What is staged (empty where there is no index)."""
        data = self.read(".git/index")
        return dict(_index_entries(data)) if data else {}

    @index.setter
    def index(self, files: Blobs) -> None:
        body = b"DIRC" + struct.pack(">II", 2, len(files))
        body += b"".join(_index_entry(path, *files[path]) for path in sorted(files, key=str.encode))
        self.write(".git/index", body + hashlib.sha1(body, usedforsecurity=False).digest())


def _tree_entry(name: str, mode: int, blob: str) -> bytes:
    return f"{mode:o} {name}".encode() + b"\0" + bytes.fromhex(blob)


def _tree_entries(data: bytes) -> Iterator[tuple[str, int, str]]:
    while data:
        head, _, rest = data.partition(b"\0")
        mode, _, name = head.partition(b" ")
        yield name.decode(errors="surrogateescape"), int(mode, 8), rest[:20].hex()
        data = rest[20:]


def _index_entry(path: str, mode: int, blob: str) -> bytes:
    name = path.encode()
    entry = _ENTRY.pack(0, 0, 0, 0, 0, 0, mode, 0, 0, 0, bytes.fromhex(blob), min(len(name), 0xFFF)) + name
    return entry + b"\0" * (8 - len(entry) % 8)


def _index_entries(data: bytes) -> Iterator[tuple[str, tuple[int, str]]]:
    version, count = struct.unpack_from(">II", data, 4)
    if data[:4] != b"DIRC" or version not in {2, 3}:
        raise Malformed(f"the repository's index has version {version}, and 2 and 3 are known")
    at = 12
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        start = at + _ENTRY.size + (2 if fields[11] & _EXTENDED else 0)
        end = data.index(b"\0", start)
        yield data[start:end].decode(errors="surrogateescape"), (fields[6], fields[10].hex())
        at += (end - at + 8) // 8 * 8
