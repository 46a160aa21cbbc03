"""Looking into a git repository that somebody hostile may have written.

1. Git never runs on what the agent left. Only regular files that hold history (`HEAD`, `packed-refs`, `refs/**`, loose
   objects, packs with their indexes, `index`) are copied into a fresh repository on a tmpfs. Its configuration is
   ours: no hooks, no filters, no alternates, no grafts, no replacements, no submodules, no network.
2. Git runs there with an environment of our own, with caps on its processor time, its memory and its output.
3. Names of refs are looked up in one listing, and blobs are hashed again here, so a name that means two things or an
   object that is not what it is called deceives nobody.
4. What git cannot read, or only by breaking a cap, is wreckage (`Spoiled`). Git that cannot be started, or that
   runs out of wall time without having used its processor time, is our trouble (`Unreadable`).
"""

from __future__ import annotations

import errno
import hashlib
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from verifiers.errors import Spoiled, Unreadable
from verifiers.language.context import Context
from verifiers.language.quoting import quoted
from verifiers.states.files.entries import open_files
from verifiers.states.scratch import scratch_folder
from verifiers.views import Tree

WALL_SECONDS = 60
CPU_SECONDS = 5
CPU_SPARE = 5
MEMORY = 1 << 30
OUTPUT = 64 * 1024 * 1024

_HISTORY = re.compile(
    r"HEAD|packed-refs|index|objects/(?:[0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.(?:pack|idx))"
    r"|refs/(?!replace/)[^\x00-\x20~^:?*\[\\]+(?<!\.lock)"
)
_HEX = re.compile(r"[0-9a-f]{40}")
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tfsmonitor = false
\tuntrackedCache = false
\tcommitGraph = false
\tmultiPackIndex = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[protocol]
\tallow = never
[gc]
\tauto = 0
"""
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
_SIGKILL = -9  # nobody but the kernel's out-of-memory killer, or an operator, sends it


class Entry(NamedTuple):
    """One file of a commit or of the index: its mode in octal digits and its object."""

    mode: str
    object: str


@dataclass
class Repository:
    """A copied repository. Everything that was asked once is remembered."""

    name: str
    tree: Tree = field(repr=False)  # the work tree and `.git`, as the agent left them
    folder: Path = field(repr=False)
    head: bytes = field(repr=False)
    _answers: dict[tuple[str, ...], bytes] = field(default_factory=dict, repr=False)

    def git(self, *arguments: str) -> bytes:
        """Run a plumbing command and give its output.

        Raises:
            Spoiled: it failed or broke a cap.
            Unreadable: it could not run.
        """
        if arguments not in self._answers:
            code, output = _run(self.folder, arguments)
            if code == _SIGKILL:
                raise Unreadable(f"git {arguments[0]} was killed from outside; look at the machine's memory")
            if code != 0:
                raise Spoiled(f"the repository {quoted(self.name)} is broken: git {arguments[0]} ended with {code}")
            self._answers[arguments] = output
        return self._answers[arguments]

    @cached_property
    def refs(self) -> Mapping[str, str]:
        """Map each ref's full name to the object that it leads to, with annotated tags peeled."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").decode("utf-8", "replace")
        parts = [line.split(" ") for line in lines.splitlines()]
        return {name: peeled or direct for name, direct, peeled in parts}

    def branch(self, name: str) -> str | None:
        """Give the tip of a branch, or None."""
        return self.refs.get(f"refs/heads/{name}")

    def tag(self, name: str) -> str | None:
        """Give the commit of a tag, or None."""
        return self.refs.get(f"refs/tags/{name}")

    def current(self) -> str | None:
        """Name the branch that HEAD is on, or give None where it is on a commit of its own."""
        text = self.head.decode("utf-8", "replace").strip()
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else None

    def commit(self, ref: str) -> str | None:
        """Give the commit that a ref means: `HEAD`, a branch, else a tag; `~N` after it goes back N first parents."""
        base, _, back = ref.partition("~")
        at = self._named(base)
        if at is None or not back:
            return at
        history = self.git("rev-list", "--first-parent", f"--max-count={int(back) + 1}", at, "--").decode().split()
        return history[int(back)] if len(history) > int(back) else None

    def _named(self, name: str) -> str | None:
        if name == "HEAD":
            on = self.current()
            text = self.head.decode("utf-8", "replace").strip()
            return self.branch(on) if on else text if _HEX.fullmatch(text) else None
        return self.branch(name) or self.tag(name)

    def entries(self, commit: str) -> Mapping[str, Entry]:
        """Map every file of a commit to its entry."""
        listing = self.git("ls-tree", "-r", "-z", "--full-tree", commit, "--").decode("utf-8", "surrogateescape")
        return {path: Entry(head[0], head[2]) for head, path in _records(listing)}

    def index(self) -> Mapping[str, Entry]:
        """Map every file of the index to its entry.

        Raises:
            Spoiled: a merge is under way in it.
        """
        listing = self.git("ls-files", "-s", "-z").decode("utf-8", "surrogateescape")
        records = _records(listing)
        if any(head[2] != "0" for head, _ in records):
            raise Spoiled(f"the index of {quoted(self.name)} holds an unfinished merge")
        return {path: Entry(head[0], head[1]) for head, path in records}

    def blob(self, name: str) -> bytes:
        """Read a blob, and make sure that it is what its name says."""
        data = self.git("cat-file", "blob", name)
        if blob_name(data) != name:
            raise Spoiled(f"the repository {quoted(self.name)} is broken: an object is not what its name says")
        return data


def blob_name(data: bytes) -> str:
    """Give the name that git has for a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def open_repository(context: Context, name: str, namespace: str = "git") -> Repository:
    """Copy the repository at this path of a namespace's state, once an evaluation.

    Raises:
        Spoiled: there is none.
        Unreadable: there is no state, no git or no tmpfs.
    """
    return context.once((namespace, name), lambda: _copied(context, name, namespace))


def _copied(context: Context, name: str, namespace: str) -> Repository:
    tree = open_files(context, namespace).below(name)
    inner = tree.below(".git") or (Tree({}) if ".git" in tree else tree)
    head = inner.get("HEAD")
    if head is None or head.kind != "file":
        raise Spoiled(f"there is no repository at {quoted(name)}")
    folder = context.once("git scratch", lambda: context.closing.enter_context(scratch_folder()))
    home = Path(tempfile.mkdtemp(dir=folder))
    for below in ("objects/pack", "refs/heads", "refs/tags"):
        (home / below).mkdir(parents=True)
    try:
        for path, node in inner.items():
            if node.kind == "file" and _HISTORY.fullmatch(path):
                (home / path).parent.mkdir(parents=True, exist_ok=True)
                (home / path).write_bytes(node.data)
    except OSError as error:
        if error.errno in _OURS:
            raise Unreadable(f"there is no room to copy the repository into: {error.strerror}") from error
        raise Spoiled(f"the repository {quoted(name)} is broken: its files cannot all be there") from error
    (home / "config").write_text(_CONFIG, encoding="utf-8")
    return Repository(name, tree, home, head.data)


def _records(listing: str) -> list[tuple[list[str], str]]:
    """Take apart what `ls-tree -z` and `ls-files -s -z` print: words, a tab, the path."""
    return [(head.split(" "), path) for head, _, path in (line.partition("\t") for line in listing.split("\0") if line)]


def _run(repository: Path, arguments: tuple[str, ...]) -> tuple[int, bytes]:
    program = shutil.which("git")
    if program is None:
        raise Unreadable("the program git is missing: install Debian's package git")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(repository),
        "LC_ALL": "C",
        "GIT_DIR": str(repository),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
    }
    with tempfile.TemporaryFile(dir=repository) as output:
        try:
            process = subprocess.Popen(
                [program, *arguments],
                env=environment,
                cwd=repository,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise Unreadable(f"git could not be started: {error.strerror}") from error
        with process:
            _cap(process.pid)
            try:
                code = process.wait(WALL_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise Unreadable(f"git {arguments[0]} did not end within {WALL_SECONDS} s") from error
        output.seek(0)
        return code, output.read(OUTPUT)


def _cap(pid: int) -> None:
    """Limit what git may use; it may already have ended, which is as good."""
    caps = {resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_FSIZE: OUTPUT}
    for kind, cap in caps.items():
        # At the hard cap on processor time the kernel sends SIGKILL, which is what its out-of-memory killer sends too;
        # at the soft one it sends SIGXCPU, which nobody else does and git does not catch.
        spare = CPU_SPARE if kind == resource.RLIMIT_CPU else 0
        try:
            _, hard = resource.prlimit(pid, kind)
            most = cap + spare if hard == resource.RLIM_INFINITY else min(cap + spare, hard)
            resource.prlimit(pid, kind, (min(cap, most), most))
        except ProcessLookupError:
            return
