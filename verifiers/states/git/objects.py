"""Reader of git objects from loose files and packs, in memory and within a budget.

A loose object is one zlib stream (gitformat-loose); a pack is a sequence of zlib streams, some of which are deltas
against another object (gitformat-pack). Every object is hashed here, so an object that does not match its name counts
as absent. A pack's index is not read: its content follows from the pack.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.tree import Node

MAX_OBJECT = 32 << 20
MAX_CHAIN = 4096
"""Deltas on deltas; git itself makes chains of 50, and of 4095 at the most."""
AN_OBJECT, AN_INSTRUCTION = 40, 4  # steps
CHUNK, AT_ONCE = 4096, 65_536

_PACK = re.compile(r"objects/pack/pack-[0-9a-f]{40}\.pack")
_HEADER = re.compile(rb"(commit|tree|blob|tag) (0|[1-9][0-9]{0,9})\0")
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET_DELTA, _NAMED_DELTA = 6, 7


class GitObject(NamedTuple):
    """A git object: its kind (`commit`, `tree`, `blob` or `tag`) and its content."""

    kind: str
    data: bytes


class _Delta(NamedTuple):
    """A delta: the offset or the name of its base object, and the changes."""

    base: int | str
    data: bytes


class _Broken(Exception):
    """These bytes are not a valid object; internal to this module."""


class ObjectStore:
    """The objects of a repository by name; loose ones are read on demand, packs at the first name that is not loose.

    Args:
        files: the repository's files (`.git`), by path.
        budget: what reading may cost.
    """

    def __init__(self, files: Mapping[str, Node], budget: ReadingBudget) -> None:
        self._files, self._budget = files, budget
        self._packs = [path for path, node in files.items() if _PACK.fullmatch(path) and node.kind == "file"]
        self._packed: dict[str, GitObject] | None = None
        self._read: dict[str, GitObject | None] = {}

    def get(self, name: str) -> GitObject | None:
        """Return an object, or None where no object matches this name.

        Raises:
            CorruptState: it costs more than the budget has.
        """
        if name not in self._read:
            self._read[name] = self._loose(name) or self._in_packs().get(name)
        return self._read[name]

    def _loose(self, name: str) -> GitObject | None:
        node = self._files.get(f"objects/{name[:2]}/{name[2:]}")
        if node is None or node.kind != "file":
            return None
        self._budget.step(AN_OBJECT)
        try:
            data, end = inflated(node.data, 0, MAX_OBJECT, self._budget)
        except _Broken:
            return None
        header = _HEADER.match(data)
        if header is None or end != len(node.data) or int(header[2]) != len(data) - header.end():
            return None
        if hashlib.sha1(data, usedforsecurity=False).hexdigest() != name:
            return None
        return GitObject(header[1].decode(), data[header.end() :])

    def _in_packs(self) -> dict[str, GitObject]:
        if self._packed is None:
            self._packed = {}
            for path in self._packs:
                index = self._files.get(path.removesuffix(".pack") + ".idx")
                if index is not None and index.kind == "file":  # git looks at no pack without one
                    self._unpack(self._files[path].data, self._packed)
        return self._packed

    def _unpack(self, data: bytes, objects: dict[str, GitObject]) -> None:
        """Add the objects of a pack, as far as they can be read."""
        complete: dict[int, GitObject] = {}
        deltas: dict[int, _Delta] = {}
        for at, entry in self._entries(data):
            if isinstance(entry, _Delta):
                deltas[at] = entry
            else:
                complete[at] = entry
                objects.setdefault(self._name(entry), entry)
        waiting: dict[int | str, list[int]] = {}
        for at, delta in deltas.items():
            waiting.setdefault(delta.base, []).append(at)
        ready: list[tuple[int, GitObject, int]] = [(at, git_object, 0) for at, git_object in complete.items()]
        ready += [(-1, git_object, 0) for name, git_object in objects.items() if name in waiting]
        while ready:
            at, base, depth = ready.pop()
            names: tuple[int | str, ...] = (at, self._name(base)) if waiting else ()
            for place in [place for name in names for place in waiting.pop(name, ())]:
                self._budget.step(AN_OBJECT)
                if depth >= MAX_CHAIN:
                    raise CorruptState(f"a pack has more than {MAX_CHAIN} changes of changes")
                try:
                    made = GitObject(base.kind, applied(base.data, deltas[place].data, self._budget))
                except _Broken:
                    continue
                objects.setdefault(self._name(made), made)
                ready.append((place, made, depth + 1))

    def _name(self, git_object: GitObject) -> str:
        self._budget.step(1 + len(git_object.data) // 256)
        return name_of(git_object)

    def _entries(self, data: bytes) -> Iterator[tuple[int, GitObject | _Delta]]:
        """Yield the offset and the content of each entry, until the end or the first that cannot be read."""
        if data[:4] != b"PACK" or int.from_bytes(data[4:8], "big") not in {2, 3}:
            return
        at = 12
        for _ in range(int.from_bytes(data[8:12], "big")):
            self._budget.step(AN_OBJECT)
            start = at
            try:
                kind, size, at = _entry_header(data, at)
                base: int | str = ""
                if kind == _OFFSET_DELTA:
                    back, at = _offset(data, at)
                    base = start - back
                elif kind == _NAMED_DELTA:
                    base, at = data[at : at + 20].hex(), at + 20
                elif kind not in _KINDS:
                    return
                content, at = inflated(data, at, size, self._budget)
            except (_Broken, IndexError):
                return
            if len(content) != size:
                return
            yield start, _Delta(base, content) if kind not in _KINDS else GitObject(_KINDS[kind], content)


def name_of(git_object: GitObject) -> str:
    """Return the name that git has for an object."""
    header = f"{git_object.kind} {len(git_object.data)}\0".encode()
    return hashlib.sha1(header + git_object.data, usedforsecurity=False).hexdigest()


def inflated(data: bytes, at: int, most: int, budget: ReadingBudget) -> tuple[bytes, int]:
    """Unpack a zlib stream that begins at an offset, and give the offset behind it.

    It is fed in small pieces, because zlib copies what it does not use, and stopped where it has given more than `most`
    bytes.
    """
    stream, parts, size, is_full = zlib.decompressobj(), [], 0, False
    try:
        while not stream.eof:
            piece = stream.unconsumed_tail or data[at : at + CHUNK]
            if not piece and not is_full:
                raise _Broken
            at += 0 if stream.unconsumed_tail else len(piece)
            out = stream.decompress(piece, AT_ONCE)
            is_full = len(out) == AT_ONCE
            size += len(out)
            budget.keep(len(out))
            budget.step(1 + len(out) // 256)
            if size > min(most + 64, MAX_OBJECT):
                raise _Broken
            parts.append(out)
    except zlib.error:
        raise _Broken from None
    return b"".join(parts), at - len(stream.unused_data)


def applied(base: bytes, delta: bytes, budget: ReadingBudget) -> bytes:
    """Apply the changes of a delta to an object (gitformat-pack, "Deltified representation")."""
    try:
        size, at = _size(delta, 0)
        wanted, at = _size(delta, at)
        if size != len(base) or wanted > MAX_OBJECT:
            raise _Broken
        budget.keep(wanted)
        budget.step(len(delta) // A_STEP + wanted // (8 * A_STEP))
        parts, made = [], 0
        while at < len(delta):
            budget.step(AN_INSTRUCTION)
            part, at = _instruction(base, delta, at)
            made += len(part)
            if made > wanted:
                raise _Broken
            parts.append(part)
    except IndexError:
        raise _Broken from None
    if made != wanted:
        raise _Broken
    return b"".join(parts)


def _instruction(base: bytes, delta: bytes, at: int) -> tuple[bytes, int]:
    """Follow one delta instruction: copy a part of the base object, or insert literal bytes."""
    order, at = delta[at], at + 1
    if not order & 0x80:
        if not order or at + order > len(delta):
            raise _Broken
        return delta[at : at + order], at + order
    numbers = []
    for bit in range(7):
        if order >> bit & 1:
            numbers.append(delta[at])
            at += 1
        else:
            numbers.append(0)
    start = int.from_bytes(bytes(numbers[:4]), "little")
    length = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
    if start + length > len(base):
        raise _Broken
    return base[start : start + length], at


def _entry_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the kind of an entry, its size when it is unpacked, and the offset behind both."""
    byte, at = data[at], at + 1
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        byte, at = data[at], at + 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if size > MAX_OBJECT:
            raise _Broken
    return kind, size, at


def _offset(data: bytes, at: int) -> tuple[int, int]:
    byte, at = data[at], at + 1
    back = byte & 0x7F
    while byte & 0x80:
        byte, at = data[at], at + 1
        back = (back + 1) << 7 | byte & 0x7F
        if back > len(data):
            raise _Broken
    return back, at


def _size(data: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        byte, at = data[at], at + 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at
        if shift > 63:  # noqa: PLR2004 - no size has more bits
            raise _Broken
