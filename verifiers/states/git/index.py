"""Reader of the index of a git repository (gitformat-index, versions 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState

AN_ENTRY = 10  # steps
MAX_PATH = 4096  # bytes
_HEAD, _FIXED = 12, 62
_HASH = 20
_EXTENDED, _STAGE, _LENGTH, _SKIP = 0x4000, 0x3000, 0xFFF, 0x4000
_SPARSE, _LINK = b"sdir", b"link"
FOLDER = "040000"
"""Mode of an entry that stands for all files of a folder that is not checked out."""


class IndexEntries(NamedTuple):
    """Entries as `[path, mode in octal digits, name of the object]`, and the paths that are not checked out.

    A path with the mode `FOLDER` ends in a slash.
    """

    entries: list[list[str]]
    skipped: list[str]


class _Entry(NamedTuple):
    path: bytes
    stage: int
    mode: int
    object_name: str
    is_skipped: bool


class UnfinishedMerge(CorruptState):
    """The index has an unfinished merge."""


def index_of(data: bytes, budget: ReadingBudget, shared: Callable[[str], bytes | None]) -> IndexEntries:
    """Read an index.

    Args:
        data: its bytes.
        budget: what reading may cost.
        shared: gives the shared index of this name, of which a split index has only the changes.

    Raises:
        UnfinishedMerge: an entry is one side of a conflict.
        CorruptState: it is no index that git would read, or costs more than the budget has.
    """
    try:
        entries, extensions = _entries(data, budget)
        if _LINK in extensions:
            entries = _join_split(entries, extensions[_LINK], budget, shared)
    except (IndexError, ValueError):
        raise CorruptState("the index is not written as one") from None
    if any(not entry.path for entry in entries):
        raise CorruptState("the index is not written as one")
    if any(entry.stage for entry in entries):
        raise UnfinishedMerge("it holds an unfinished merge")
    paths = [entry.path.decode("utf-8", "surrogateescape") for entry in entries]
    return IndexEntries(
        [[path, f"{entry.mode:06o}", entry.object_name] for path, entry in zip(paths, entries, strict=True)],
        [path for path, entry in zip(paths, entries, strict=True) if entry.is_skipped],
    )


def _entries(data: bytes, budget: ReadingBudget) -> tuple[list[_Entry], dict[bytes, bytes]]:
    """Read the entries and the extensions; a changed entry of a split index has no path."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:_HEAD], "big")
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError
    made, at, before = [], _HEAD, b""
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
        if len(path) > MAX_PATH or (flags & _LENGTH) not in {len(path), _LENGTH}:
            raise ValueError
        budget.keep(len(path))
        more = int.from_bytes(data[at + _FIXED : at + _FIXED + 2], "big") if flags & _EXTENDED else 0
        mode, name = int.from_bytes(data[at + 24 : at + 28], "big"), data[at + 40 : at + 60].hex()
        made.append(_Entry(path, flags & _STAGE, mode, name, bool(more & _SKIP)))
        before, at = path, after
    return made, _extensions(data, at, budget)


def _extensions(data: bytes, at: int, budget: ReadingBudget) -> dict[bytes, bytes]:
    """Read the extensions; one whose name does not begin with a capital may not be ignored, if it is not known here."""
    made = {}
    while at < len(data) - _HASH:
        budget.step()
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "big")
        if not b"A" <= name[:1] <= b"Z" and name not in {_SPARSE, _LINK}:
            raise ValueError
        made[name] = data[at + 8 : at + 8 + size]
        at += 8 + size
    if at > len(data) - _HASH:
        raise ValueError
    return made


def _join_split(
    changed: list[_Entry], link: bytes, budget: ReadingBudget, shared: Callable[[str], bytes | None]
) -> list[_Entry]:
    """Put a split index together (gitformat-index, "Split index"): the shared one, without what is deleted or replaced.

    Raises:
        CorruptState: the shared index is not there, or is another one.
        ValueError, IndexError: it is not written as a split index.
    """
    name = link[:_HASH].hex()
    if not int(name, 16):
        return changed
    if (data := shared(name)) is None or data[-_HASH:].hex() != name:
        raise CorruptState("the shared index, of which it has the changes, is missing or another one")
    entries, _ = _entries(data, budget)
    deleted, at = _bitmap(link, _HASH, len(entries), budget) if len(link) > _HASH else ([], 0)
    replaced, _ = _bitmap(link, at, len(entries), budget) if len(link) > _HASH else ([], 0)
    kept: dict[int, _Entry] = dict(enumerate(entries))
    for place, entry in zip(replaced, changed, strict=False):
        if entry.path:
            raise ValueError
        kept[place] = entry._replace(path=entries[place].path)
    for place in deleted:
        kept.pop(place, None)
    return sorted([*kept.values(), *changed[len(replaced) :]])


def _bitmap(data: bytes, at: int, size: int, budget: ReadingBudget) -> tuple[list[int], int]:
    """Read a compressed bitmap (EWAH): the places of its bits that are set, all below `size`, and the offset behind it.

    A marker has a bit, how many words are full of it, and how many words follow as they are.
    """
    places: list[int] = []
    bit, words = 0, int.from_bytes(data[at + 4 : at + 8], "big")
    end = at + 8 + 8 * words
    at += 8
    while at < end:
        marker, at = int.from_bytes(data[at : at + 8], "big"), at + 8
        run = (marker >> 1 & 0xFFFFFFFF) * 64
        if bit + run > size + 64 or end + 4 > len(data):
            raise ValueError
        budget.step(1 + run // 64)
        places += range(bit, bit + run) if marker & 1 else ()
        bit += run
        for _ in range(marker >> 33):
            if at >= end:
                raise ValueError
            budget.step(4)
            word, at = int.from_bytes(data[at : at + 8], "big"), at + 8
            places += [bit + place for place in range(64) if word >> place & 1]
            bit += 64
    if any(place >= size for place in places):
        raise ValueError
    return places, end + 4


def _offset(data: bytes, at: int) -> tuple[int, int]:
    byte, at = data[at], at + 1
    number = byte & 0x7F
    while byte & 0x80:
        byte, at = data[at], at + 1
        number = (number + 1) << 7 | byte & 0x7F
        if number > MAX_PATH:
            raise ValueError
    return number, at
