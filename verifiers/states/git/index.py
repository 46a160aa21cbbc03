"""Reader of the index of a git repository (gitformat-index, versions 2 to 4)."""

from __future__ import annotations

from typing import NamedTuple

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState

AN_ENTRY = 10  # steps
MAX_PATH = 4096  # bytes
_HEAD, _FIXED = 12, 62
_HASH = 20
_EXTENDED, _STAGE, _LENGTH, _SKIP = 0x4000, 0x3000, 0xFFF, 0x4000
_SPARSE = b"sdir"
FOLDER = "040000"
"""Mode of an entry that stands for all files of a folder that is not checked out."""


class IndexEntries(NamedTuple):
    """Entries as `[path, mode in octal digits, name of the object]`, and the paths that are not checked out.

    A path with the mode `FOLDER` ends in a slash.
    """

    entries: list[list[str]]
    skipped: list[str]


class UnfinishedMerge(CorruptState):
    """The index has an unfinished merge."""


def index_of(data: bytes, budget: ReadingBudget) -> IndexEntries:
    """Read an index.

    Raises:
        UnfinishedMerge: an entry is one side of a conflict.
        CorruptState: it is no index that git would read, or costs more than the budget has.
    """
    try:
        return _entries(data, budget)
    except (IndexError, ValueError):
        raise CorruptState("the index is not written as one") from None


def _entries(data: bytes, budget: ReadingBudget) -> IndexEntries:
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:_HEAD], "big")
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError
    made, at, before, is_unfinished = IndexEntries([], []), _HEAD, b"", False
    for _ in range(count):
        budget.step(AN_ENTRY)
        flags = int.from_bytes(data[at + 60 : at + _FIXED], "big")
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        if start >= len(data) or (flags & _EXTENDED and version == 2):  # noqa: PLR2004 - the first with such flags is 3
            raise ValueError
        if version == 4:  # noqa: PLR2004 - which leaves out what a path shares with the one before
            cut, start = _offset(data, start)
            end = data.index(b"\0", start, start + MAX_PATH)
            path, after = before[: len(before) - cut] + data[start:end], end + 1
            if cut > len(before):
                raise ValueError
        else:
            end = data.index(b"\0", start, start + MAX_PATH)
            path, after = data[start:end], at + (end - at + 8) // 8 * 8
        if not path or len(path) > MAX_PATH or (flags & _LENGTH) not in {len(path), _LENGTH}:
            raise ValueError
        is_unfinished = is_unfinished or bool(flags & _STAGE)
        mode = int.from_bytes(data[at + 24 : at + 28], "big")
        budget.keep(len(path))
        made.entries.append([path.decode("utf-8", "surrogateescape"), f"{mode:06o}", data[at + 40 : at + 60].hex()])
        if flags & _EXTENDED and int.from_bytes(data[at + _FIXED : at + _FIXED + 2], "big") & _SKIP:
            made.skipped.append(made.entries[-1][0])
        before, at = path, after
    _check_extensions(data, at, budget)
    if is_unfinished:
        raise UnfinishedMerge("it holds an unfinished merge")
    return made


def _check_extensions(data: bytes, at: int, budget: ReadingBudget) -> None:
    """Walk the extensions after the entries; one whose name does not begin with a capital may not be ignored."""
    while at < len(data) - _HASH:
        budget.step()
        if not b"A" <= data[at : at + 1] <= b"Z" and data[at : at + 4] != _SPARSE:
            raise ValueError
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    if at > len(data) - _HASH:
        raise ValueError


def _offset(data: bytes, at: int) -> tuple[int, int]:
    byte, at = data[at], at + 1
    number = byte & 0x7F
    while byte & 0x80:
        byte, at = data[at], at + 1
        number = (number + 1) << 7 | byte & 0x7F
        if number > MAX_PATH:
            raise ValueError
    return number, at
