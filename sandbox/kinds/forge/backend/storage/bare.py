"""Bare repository, accessed through git's plumbing. No hook, no configuration but ours, no network.

A name from outside never reaches git as an option or a revision expression: a branch is asked for by its full ref, an
object by its hexadecimal name.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HEX = re.compile(r"[0-9a-f]{40}")
SHORT_HEX = re.compile(r"[0-9a-f]{4,40}")
FOLDER_MODE = "040000"
SETTINGS = {"safe.directory": "*", "gc.auto": "0", "fetch.unpackLimit": "1000000", "core.quotePath": "false"}
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(SETTINGS.values())},
}


class GitFailed(Exception):
    """Git ended with a status that the caller did not expect."""


class GitIdentity(NamedTuple):
    """Who, and when in seconds since 1970."""

    name: str
    email: str
    date: int

    def line(self) -> str:
        """Write it as git does."""
        return f"{self.name} <{self.email}> {self.date} +0000"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, read."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: GitIdentity
    committer: GitIdentity
    message: str = field(repr=False)


class TreeEntry(NamedTuple):
    """One entry of a tree."""

    mode: str
    kind: str
    sha: str
    size: int
    path: str


class Bare:
    """One bare repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, branch: str) -> Bare:
        """Make an empty repository."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = cls(folder)
        made.git("init", "--quiet", "--bare", "--template=", f"--initial-branch={branch}", str(folder))
        return made

    def git(self, *words: str, data: bytes = b"", fine: Iterable[int] = (0,), index: str = "") -> bytes:
        """Run a command and give its output, `b""` where it ended with another status that is fine.

        Raises:
            GitFailed: it ended with a status that is not in `fine`.
        """
        environment = ENVIRONMENT | {"GIT_DIR": str(self.folder)} | ({"GIT_INDEX_FILE": index} if index else {})
        done = subprocess.run(["git", *words], input=data, env=environment, capture_output=True, check=False)
        if done.returncode not in fine:
            raise GitFailed(f"git {words[0]} ended with {done.returncode}")
        return b"" if done.returncode else done.stdout

    def text(self, *words: str, data: bytes = b"", fine: Iterable[int] = (0,)) -> str:
        """Run a command and give its output as text without white space around it."""
        return self.git(*words, data=data, fine=fine).decode("utf-8", "replace").strip()

    # -- refs ----------------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """Map each branch to its tip."""
        lines = self.text("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").splitlines()
        return {name.removeprefix("refs/heads/"): sha for name, sha in (line.split(" ") for line in lines)}

    def reference(self, name: str) -> str | None:
        """Return the object of a full ref (`refs/heads/main`), or None."""
        if not self.is_valid(name):
            return None
        return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", name, fine=(0, 1, 128)) or None

    def branch(self, name: str) -> str | None:
        """Return the tip of a branch, or None."""
        return self.reference(f"refs/heads/{name}")

    def is_valid(self, name: str) -> bool:
        """Say whether a full ref may have this name (git-check-ref-format(1))."""
        if "\0" in name or not name.startswith("refs/"):
            return False
        try:
            self.git("check-ref-format", name)
        except GitFailed:
            return False
        return True

    def move(self, name: str, sha: str) -> None:
        """Make a full ref, or move it."""
        self.git("update-ref", "--", name, sha)

    def resolve(self, name: str) -> str | None:
        """Return the commit that a branch, a tag, a full ref or a commit's abbreviated name stands for, or None."""
        full = [name] if name.startswith("refs/") else [f"refs/heads/{name}", f"refs/tags/{name}"]
        for candidate in full:
            if (sha := self.reference(candidate)) and (peeled := self._peeled(sha)):
                return peeled
        return self._peeled(name) if SHORT_HEX.fullmatch(name) else None

    def _peeled(self, sha: str) -> str | None:
        return self.text("rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}", fine=(0, 1, 128)) or None

    def kind(self, sha: str) -> str | None:
        """Return the kind of an object by its whole name, or None where there is none."""
        return (self.text("cat-file", "-t", sha, fine=(0, 128)) or None) if HEX.fullmatch(sha) else None

    # -- reading -------------------------------------------------------------------------------------------------

    def history(self, *words: str) -> list[str]:
        """Return the names of commits, newest first (`words` go to git-rev-list(1))."""
        return self.text("rev-list", "--topo-order", *words, "--").split()

    def commits(self, names: Sequence[str]) -> list[Commit]:
        """Read commits."""
        return [_parsed(sha, data) for sha, data in self._objects(names)]

    def commit(self, sha: str) -> Commit:
        """Read one commit."""
        return self.commits([sha])[0]

    def blobs(self, names: Sequence[str]) -> Iterator[bytes]:
        """Read blobs."""
        return (data for _, data in self._objects(names))

    def blob(self, sha: str) -> bytes:
        """Read one blob."""
        return next(self.blobs([sha]))

    def _objects(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        output = self.git("cat-file", "--batch", data="".join(f"{name}\n" for name in names).encode()) if names else b""
        at = 0
        while at < len(output):
            end = output.index(b"\n", at)
            head = output[at:end].decode().split(" ")
            size = int(head[2])
            yield head[0], output[end + 1 : end + 1 + size]
            at = end + size + 2

    def entries(self, tree: str, *, deep: bool = False) -> list[TreeEntry]:
        """List a tree: its own entries, or all files below it."""
        words = ("-r",) if deep else ()
        return _entries(self.git("ls-tree", "-l", "-z", "--full-tree", *words, tree))

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """Return what is at a path, or None."""
        entries = _entries(self.git("ls-tree", "-l", "-z", "--full-tree", commit, "--", path))
        return entries[0] if entries and entries[0].path == path else None

    # -- writing -------------------------------------------------------------------------------------------------

    def put_blob(self, data: bytes) -> str:
        """Store a blob and give its name."""
        return self.text("hash-object", "-w", "--stdin", data=data)

    def put_tree(self, base: str | None, changes: Mapping[str, tuple[str, str] | None]) -> str:
        """Store the tree that is `base` with these paths changed to (mode, object), or taken away.

        Raises:
            GitFailed: the paths cannot be in one tree.
        """
        index = str(self.folder / "forge-index")
        try:
            self.git("read-tree", base or "--empty", index=index)
            lines = "".join(_index_line(path, change) for path, change in changes.items())
            self.git("update-index", "-z", "--replace", "--index-info", data=lines.encode(), index=index)
            return self.git("write-tree", index=index).decode().strip()
        finally:
            Path(index).unlink(missing_ok=True)

    def put_commit(
        self, tree: str, parents: Sequence[str], message: str, author: GitIdentity, committer: GitIdentity
    ) -> str:
        """Store a commit and give its name."""
        head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        head += [f"author {author.line()}", f"committer {committer.line()}", "", message]
        return self.text("hash-object", "-w", "-t", "commit", "--stdin", data="\n".join(head).encode())

    def fetch(self, other: Bare, sha: str) -> None:
        """Take a commit, with all that it needs, from another repository."""
        if self.kind(sha) is None:
            wants = ("-c", "uploadpack.allowAnySHA1InWant=true")
            self.git(*wants, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(other.folder), sha)


def _index_line(path: str, change: tuple[str, str] | None) -> str:
    mode, sha = change or ("0", "0" * 40)
    return f"{mode} {sha}\t{path}\0"


def _entries(listing: bytes) -> list[TreeEntry]:
    out = []
    for record in listing.decode("utf-8", "replace").split("\0")[:-1]:
        head, _, path = record.partition("\t")
        mode, kind, sha, size = head.split()
        out.append(TreeEntry(mode, kind, sha, 0 if size == "-" else int(size), path))
    return out


def _parsed(sha: str, data: bytes) -> Commit:
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    lines = [line.partition(" ")[::2] for line in head.split("\n")]
    fields = dict(lines)
    parents = tuple(value for name, value in lines if name == "parent")
    people = (_person(fields["author"]), _person(fields["committer"]))
    return Commit(sha, fields["tree"], parents, *people, message.removesuffix("\n"))


def _person(line: str) -> GitIdentity:
    name, _, rest = line.partition(" <")
    email, _, stamp = rest.rpartition("> ")
    return GitIdentity(name, email, int(stamp.split(" ")[0]))
