"""Reader of hostile git repositories, in memory and without running git.

1. Only what holds history is read: `HEAD`, `packed-refs`, `refs/**`, loose objects, packs, `shallow`, and `index`
   with the shared one of a split index. Hooks, grafts and replacements are ignored, and nothing is run. Of the
   configuration two lines count: what has objects of SHA-256 names, or a reftable, is not read and says so. So does a
   work tree of another repository, and one that lacks objects that it borrows (alternates).
2. Every object is hashed, so an object that does not match its name counts as absent. Objects are read as far as a ref
   reaches them; unreachable objects are not read.
3. A missing or broken part corrupts only the queries that need it, except for refs: where a ref leads to nothing, or
   two refs cannot both be files, all refs count as corrupted.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.git.index import FOLDER, index_of
from verifiers.states.git.objects import GitObject, ObjectStore
from verifiers.tree import FileTree, Node

MAX_REF, MAX_CONFIG = 4096, 64 << 10  # bytes
DEEPEST_REF = 5  # refs that lead to refs, as in git
DEEPEST_TAG = 50  # tags of tags
MAX_REPOSITORIES = 1000
A_REF, AN_ENTRY = 5, 10  # steps
GITLINK = "160000"

_REF = re.compile(r"refs/(?!replace/)[^\x00-\x20~^:?*\[\\\x7f]+(?<!\.lock)(?<![/.])")
_BAD_REF = re.compile(r"\.\.|//|@\{|/\.|\.lock/")
_HEX = re.compile(r"[0-9a-f]{40}")
_NOT_READ = {
    re.compile(pattern, re.IGNORECASE | re.MULTILINE): sentence
    for pattern, sentence in (
        (rb"^\s*objectformat\s*=\s*\"?sha256", "its objects are named by SHA-256, and only SHA-1 is read"),
        (rb"^\s*refstorage\s*=\s*\"?reftable", "its refs are kept as a reftable, and only files are read"),
    )
}
_WORKTREE = re.compile(rb"gitdir:[^\n]*/worktrees/")
_HEAD = re.compile(r"ref:\s*refs/|[0-9a-fA-F]{40}")
_COMMIT = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*+)")
_TAG = re.compile(rb"object ([0-9a-f]{40})\ntype (?:commit|tree|blob|tag)\n")


def read_repositories(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every repository of a namespace: `{"repositories": {path: repository}}`, as in `history`.

    Raises:
        CorruptState: they cost more than the budget has.
    """
    blobs: list[bytes] = []
    paths = sorted(tree)
    repositories: dict[str, Any] = {}
    for place in _places(paths):
        budget.step(A_REF)
        if len(repositories) >= MAX_REPOSITORIES:
            raise CorruptState(f"there are more than {MAX_REPOSITORIES} repositories")
        if (made := read_repository(below(tree, paths, place), budget, blobs)) is not None:
            repositories[place] = made
    for path in paths:
        if path.endswith("/.git") and tree[path].kind == "file" and _WORKTREE.match(tree[path].data[:MAX_REF]):
            budget.step(A_REF)
            repositories[path.removesuffix("/.git")] = {"spoiled": "it is a work tree of another repository"}
    return NormalState({"repositories": repositories}, tuple(blobs))


def read_repository(tree: Mapping[str, Node], budget: ReadingBudget, blobs: list[bytes]) -> dict[str, Any] | None:
    """Read one repository, from its work tree on or bare; what its files hold is added to `blobs`.

    Gives None where there is no HEAD.

    Raises:
        CorruptState: it costs more than the budget has.
    """
    budget.step(3 * len(tree))
    inner = {path.removeprefix(".git/"): node for path, node in tree.items() if path.startswith(".git/")}
    files = inner or ({} if ".git" in tree else dict(tree))
    head = files.get("HEAD")
    if head is None or head.kind != "file":
        return None
    text = head.data[:MAX_REF].decode("utf-8", "replace")
    if _HEAD.match(text) is None:
        return {"spoiled": "HEAD is none"}
    config = (_content(files, "config") or b"")[:MAX_CONFIG]
    for pattern, sentence in _NOT_READ.items():
        if pattern.search(config):
            return {"spoiled": sentence}
    store = ObjectStore(files, budget)
    made: dict[str, Any] = {"head": text.strip()}
    try:
        made["refs"] = _refs(files, store, budget)
        tips = list(made["refs"].values())
    except _BrokenRefs as error:
        borrows = (_content(files, "objects/info/alternates") or b"").strip()
        lacks = "; it borrows objects of another repository (alternates), which is not read" if borrows else ""
        made["refs"], tips = {"spoiled": f"{error}{lacks}"}, []
    if _HEX.fullmatch(made["head"]):
        tips.append(made["head"])
    shallow = set((_content(files, "shallow") or b"").decode("ascii", "replace").split())
    budget.step(len(shallow))
    made |= _history(tips, shallow, store, budget, blobs)
    work = _worktree(tree, budget) if inner or ".git" in tree else ()  # a bare repository has none
    return made | {"index": _index(files, store, budget), "files": list(work)}


class _BrokenRefs(Exception):
    """The refs are corrupt."""


def _places(paths: list[str]) -> Iterator[str]:
    """List the paths that may be repositories: with a `.git` in them, or with a HEAD of their own."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name == "HEAD" and folder:
            parts = folder.split("/")
            if parts[-1] == ".git" and parts[:-1]:
                yield "/".join(parts[:-1])
            elif ".git" not in parts and not _has(paths, f"{folder}/.git"):
                yield folder


def _has(paths: list[str], path: str) -> bool:
    at = bisect_left(paths, path)
    return at < len(paths) and (paths[at] == path or paths[at].startswith(f"{path}/"))


def below(tree: FileTree, paths: list[str], place: str) -> dict[str, Node]:
    """Return the entries below a path; in sorted order they are contiguous."""
    start, end = bisect_left(paths, f"{place}/"), bisect_left(paths, f"{place}0")  # 0 comes right behind the slash
    return {path[len(place) + 1 :]: tree[path] for path in paths[start:end]}


def _refs(files: Mapping[str, Node], store: ObjectStore, budget: ReadingBudget) -> dict[str, str]:
    """Map each ref's full name to the object that it leads to, with annotated tags peeled, as `git for-each-ref` does.

    A ref that is not written as one, or leads to no other, is left out.
    """
    written = _packed_refs(files.get("packed-refs"), budget)
    loose = {path: node for path, node in files.items() if node.kind == "file" and path.startswith("refs/")}
    for path, node in loose.items():
        budget.step(A_REF)
        if any(parent in loose for parent in _parents(path)):
            raise _BrokenRefs("its files cannot all be there")
        if _REF.fullmatch(path) and not _BAD_REF.search(path):
            written[path] = node.data[:MAX_REF].decode("utf-8", "replace").strip()
    refs = {}
    for name in sorted(written):
        at = _resolved(name, written)
        if at is not None and at != "0" * 40:
            refs[name] = _peeled(at, store, budget)
    return refs


def _packed_refs(node: Node | None, budget: ReadingBudget) -> dict[str, str]:
    if node is None or node.kind != "file":
        return {}
    refs = {}
    for line in node.data.decode("utf-8", "surrogateescape").split("\n"):
        budget.step(A_REF)
        at, space, name = line.partition(" ")
        if not line or line.startswith(("#", "^")):
            continue
        if not space or not _HEX.fullmatch(at):
            raise _BrokenRefs("its packed refs are not written as such")
        if _REF.fullmatch(name) and not _BAD_REF.search(name):
            refs[name] = at
    return refs


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(2, len(parts)))


def _resolved(name: str, written: Mapping[str, str]) -> str | None:
    """Follow a ref to the name of an object."""
    for _ in range(DEEPEST_REF):
        text = written.get(name)
        if text is None or _HEX.fullmatch(text):
            return text
        if not text.startswith("ref:"):
            return text[:40] if _HEX.match(text) and text[40].isspace() else None
        name = text.removeprefix("ref:").strip()
    return None


def _peeled(name: str, store: ObjectStore, budget: ReadingBudget) -> str:
    for _ in range(DEEPEST_TAG):
        budget.step(A_REF)
        git_object = store.get(name)
        if git_object is None:
            raise _BrokenRefs("a ref leads to an object that is missing or broken")
        if git_object.kind != "tag":
            return name
        tag = _TAG.match(git_object.data)
        if tag is None:
            raise _BrokenRefs("a tag is not written as one")
        name = tag[1].decode()
    raise _BrokenRefs("a tag leads to too many others")


def _history(
    tips: list[str], shallow: set[str], store: ObjectStore, budget: ReadingBudget, blobs: list[bytes]
) -> dict[str, Any]:
    """Read everything reachable from some commits; missing or broken objects are left out.

    The parents of those where a shallow clone ends are none, as for git.
    """
    made: dict[str, Any] = {"commits": {}, "trees": {}, "blobs": {}}
    waiting, seen = list(tips), set()
    while waiting:
        name = waiting.pop()
        budget.step()
        if name in seen:
            continue
        seen.add(name)
        git_object = store.get(name)
        if git_object is None:
            continue
        if git_object.kind == "commit":
            waiting += _keep_commit(name, git_object, made, budget, is_last=name in shallow)
        elif git_object.kind == "tree":
            waiting += _keep_tree(name, git_object, made, budget)
        elif git_object.kind == "blob":
            made["blobs"][name] = len(blobs)
            blobs.append(git_object.data)
    return made


def _keep_commit(
    name: str, git_object: GitObject, made: dict[str, Any], budget: ReadingBudget, *, is_last: bool
) -> list[str]:
    head = _COMMIT.match(git_object.data)
    if head is None:
        return []
    parents = [] if is_last else [line[7:].decode() for line in head[2].splitlines()]
    budget.step(len(parents))
    budget.parse(len(git_object.data))
    message = git_object.data.partition(b"\n\n")[2].decode("utf-8", "replace")
    made["commits"][name] = [head[1].decode(), parents, message]
    return [head[1].decode(), *parents]


def _keep_tree(name: str, git_object: GitObject, made: dict[str, Any], budget: ReadingBudget) -> list[str]:
    """Keep a tree object as `[mode, name, object]` of each entry; one that is not written as a tree is left out."""
    entries = _tree_entries(git_object.data, budget)
    if entries is None:
        return []
    budget.keep(len(git_object.data))
    made["trees"][name] = entries
    return [object_name for mode, _, object_name in entries if mode != GITLINK]


def _tree_entries(data: bytes, budget: ReadingBudget) -> list[list[str]] | None:
    entries, at = [], 0
    while at < len(data):
        budget.step(AN_ENTRY)
        space = data.find(b" ", at, at + 8)
        end = data.find(b"\0", space + 1)
        mode = data[at:space]
        if space < 0 or end < 0 or end == space + 1 or end + 21 > len(data) or not re.fullmatch(b"[0-7]{1,7}", mode):
            return None
        path = data[space + 1 : end].decode("utf-8", "surrogateescape")
        entries.append([_canonical(int(mode, 8)), path, data[end + 1 : end + 21].hex()])
        at = end + 21
    return entries


def _canonical(mode: int) -> str:
    """Normalize a tree entry's mode as git does: a file's (two kinds), a link's, a folder's, or a repository's."""
    match mode >> 12:
        case 0o10:
            return "100755" if mode & 0o100 else "100644"
        case 0o12:
            return "120000"
        case 0o04:
            return "040000"
    return GITLINK


def _index(files: Mapping[str, Node], store: ObjectStore, budget: ReadingBudget) -> dict[str, Any]:
    node = files.get("index")
    if node is None or node.kind != "file":
        return {"entries": []}
    try:
        entries, skipped = index_of(node.data, budget, lambda name: _content(files, f"sharedindex.{name}"))
        entries = [file for entry in entries for file in _files_of(entry, skipped, store, budget)]
    except BudgetSpent:
        raise
    except CorruptState as error:
        return {"spoiled": str(error)}
    return {"entries": entries, **({"skipped": skipped} if skipped else {})}


def _content(files: Mapping[str, Node], path: str) -> bytes | None:
    node = files.get(path)
    return None if node is None or node.kind != "file" else node.data


def _files_of(entry: list[str], skipped: list[str], store: ObjectStore, budget: ReadingBudget) -> Iterator[list[str]]:
    """Yield the files that an entry of the index stands for; those of a folder are not checked out.

    Raises:
        CorruptState: a folder of it is missing or broken.
    """
    path, mode, name = entry
    if mode != FOLDER:
        yield entry
        return
    git_object = store.get(name)
    inside = None if git_object is None else _tree_entries(git_object.data, budget)
    if inside is None:
        raise CorruptState("a folder that it leaves out is missing or broken")
    for inner_mode, part, inner in inside:
        made = [f"{path}{part}{'/' if inner_mode == FOLDER else ''}", inner_mode, inner]
        budget.keep(len(made[0]))
        skipped.append(made[0])
        yield from _files_of(made, skipped, store, budget)


def _worktree(tree: Mapping[str, Node], budget: ReadingBudget) -> Iterator[list[str]]:
    """Hash the files outside `.git` as git would, without any filter; what is in a folder of its own `.git` too."""
    for path, node in tree.items():
        if path == ".git" or path.startswith(".git/"):
            continue
        budget.step(1 + len(node.data) // 256)
        if node.kind == "file":
            yield [path, "100755" if node.mode & 0o100 else "100644", blob_name(node.data)]
        elif node.kind == "symlink":
            yield [path, "120000", blob_name(node.target.encode("utf-8", "surrogateescape"))]
        elif node.kind == "other":
            yield [path, "other", ""]


def blob_name(data: bytes) -> str:
    """Return the name that git has for a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
