"""Parses the tar stream as which a frozen state leaves its world, with caps on entries and bytes."""

from __future__ import annotations

import posixpath
import stat
import tarfile
from typing import BinaryIO

from verifiers.errors import Malformed
from verifiers.views import MAX_BYTES, MAX_ENTRIES, OTHER, Node, Tree


def tree_from_tar(stream: BinaryIO, *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES) -> Tree:
    """Parse a tar stream.

    Raises:
        Malformed: the stream is no tar, holds a path that leaves the tree, or is larger than the caps.
    """
    nodes: dict[str, Node] = {}
    total = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for count, info in enumerate(tar):
                path = _inside(info.name)
                total += info.size if info.isreg() else 0
                if total > max_bytes or count >= max_entries:
                    raise Malformed(f"the state holds more than {max_bytes} bytes or {max_entries} entries")
                if path and info.islnk():  # a second name of a file that came before
                    nodes[path] = nodes.get(_inside(info.linkname), OTHER)
                elif path:
                    nodes[path] = _node(tar, info)
    except (tarfile.TarError, EOFError, UnicodeError, ValueError, OverflowError) as error:
        raise Malformed(f"the state is not a readable tar stream: {error}") from error
    return Tree(nodes)


def _inside(name: str) -> str:
    path = posixpath.normpath(name.lstrip("/") or ".")
    if path == ".." or path.startswith("../"):
        raise Malformed("the state holds a path that leads out of it")
    return "" if path == "." else path


def _node(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Node:
    mode = stat.S_IMODE(info.mode)
    if info.isdir():
        return Node("directory", mode=mode)
    if info.issym():
        return Node("symlink", target=info.linkname, mode=mode)
    if info.isreg() and (file := tar.extractfile(info)):
        return Node("file", data=file.read(), mode=mode)
    return Node("other", mode=mode)
