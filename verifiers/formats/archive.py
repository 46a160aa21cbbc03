"""Parser of the tar stream of a frozen state, with caps on entries, bytes and nested headers.

Input that tarfile would parse in more than linear time is capped before tarfile sees it: long names and extended
headers, which it reads recursively and parses in quadratic time. Sparse files are refused; no world of ours writes one.
"""

from __future__ import annotations

import posixpath
import stat
import tarfile
from typing import Any, BinaryIO, NoReturn, Self

from verifiers.errors import Malformed
from verifiers.tree import MAX_BYTES, MAX_ENTRIES, OTHER, FileTree, Node

MAX_EXTENSION = 8192
"""Bytes of a long name, or of an extended header."""
MAX_ROW = 4
"""Such headers before an entry."""
MAX_HEADERS = 22_000
MAX_SQUARES = 500_000_000
"""Of the sizes of extended headers, summed up."""
_EXTENDED = {
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}


class _Archive(tarfile.TarFile):
    """A tar file whose nested headers are counted."""

    headers = row = squares = 0


class _Entry(tarfile.TarInfo):
    """A tar entry whose header is checked before its announced content is read."""

    def _proc_member(self, tar: _Archive) -> Self:
        tar.headers += 1
        if self.size < 0 or self.type == tarfile.GNUTYPE_SPARSE or tar.headers > MAX_HEADERS:
            raise Malformed("the state's tar has a sparse file, a file of a negative size, or too many headers")
        if self.type in _EXTENDED:
            tar.row, tar.squares = tar.row + 1, tar.squares + self.size * self.size
            if tar.row > MAX_ROW or self.size > MAX_EXTENSION or tar.squares > MAX_SQUARES:
                raise Malformed("the state's tar has names or extended headers that are too long")
        else:
            tar.row = 0
        made: Self = super()._proc_member(tar)  # type: ignore[misc]
        return made

    def _is_sparse(self, *_: Any) -> NoReturn:
        raise Malformed("the state's tar has a sparse file")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _is_sparse


def tree_from_tar(stream: BinaryIO, *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES) -> FileTree:
    """Parse a tar stream.

    Raises:
        Malformed: the stream is no tar, holds a path that leaves the tree, or is larger than the caps.
    """
    nodes: dict[str, Node] = {}
    total = 0
    try:
        with _Archive.open(fileobj=stream, mode="r:", tarinfo=_Entry) as tar:
            for count, info in enumerate(tar):
                path = _inside(info.name)
                if info.size < 0:
                    raise Malformed("the state holds a file of a negative size")
                total += info.size if info.isreg() else 0
                if total > max_bytes or count >= max_entries:
                    raise Malformed(f"the state holds more than {max_bytes} bytes or {max_entries} entries")
                if path and info.islnk():  # a second name of a file that came before
                    nodes[path] = nodes.get(_inside(info.linkname), OTHER)
                elif path:
                    nodes[path] = _node(stream, info)
    except (tarfile.TarError, EOFError, LookupError, ValueError, OverflowError, RecursionError) as error:
        raise Malformed(f"the state is not a readable tar stream: {error}") from error
    return FileTree(nodes)


def _inside(name: str) -> str:
    path = posixpath.normpath(name.lstrip("/") or ".")
    if path == ".." or path.startswith("../"):
        raise Malformed("the state holds a path that leads out of it")
    return "" if path == "." else path


def _node(stream: BinaryIO, info: tarfile.TarInfo) -> Node:
    mode = stat.S_IMODE(info.mode)
    if info.isdir():
        return Node("directory", mode=mode)
    if info.issym():
        return Node("symlink", target=info.linkname, mode=mode)
    if info.isreg():
        stream.seek(info.offset_data)  # tarfile looks itself whether all of it is there
        return Node("file", data=stream.read(info.size), mode=mode)
    return Node("other", mode=mode)
