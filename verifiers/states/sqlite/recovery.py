"""Recovery of a SQLite file in memory: applies its write-ahead log or rollback journal, as SQLite does on opening.

The write-ahead log is applied as far as it is valid, from its beginning to its last commit (walformat). A hot rollback
journal undoes an unfinished transaction (fileformat2, chapter 3). The checksums of both are verified.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.errors import CorruptState

MAGIC = b"SQLite format 3\0"
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
VERSIONS = slice(18, 20)  # file format, write and read version: 1 is a rollback journal, 2 is a write-ahead log
LOG_VERSION = 3_007_000
A_PAGE = 10  # steps
LOCK_BYTE = 1 << 30

_LOG_HEADER, _FRAME_HEADER = 32, 24
_ALL = 0xFFFFFFFF
_LEAF, _INTERIOR = b"\x0d", b"\x05"
_SAMPLED = 200  # every so manieth byte of a page is in a journal's checksum


def recovered(data: bytes, journal: bytes, log: bytes, budget: ReadingBudget) -> bytes:
    """Return the database file as SQLite would see it.

    Args:
        data: the database file.
        journal: the rollback journal beside it, or nothing.
        log: the write-ahead log beside it, or nothing.
        budget: what it may cost.

    Raises:
        CorruptState: the log cannot belong to the file, or it costs more than the budget has.
    """
    if not data:  # SQLite removes both where there is no database
        return data
    if journal and journal[0]:
        data = _rolled_back(data, journal, budget)
    if log:
        data = _logged(data, log, budget)
    if data[VERSIONS] == b"\2\2":  # a log that was folded back in; memory knows no logs
        data = data[: VERSIONS.start] + b"\1\1" + data[VERSIONS.stop :]
    return data


def schema_size(data: bytes, budget: ReadingBudget) -> tuple[int, int]:
    """Return the number of rows in the schema table and their size in bytes; each page counts once (fileformat2).

    SQLite parses all of them before it answers anything, so it has to be known before SQLite is asked.
    """
    page, waiting, seen, rows, total = page_size_of(data), [1], set(), 0, 0
    while waiting:
        number = waiting.pop()
        if number in seen or not _is_page_size(page):
            continue
        seen.add(number)
        budget.step()
        page_data = data[(number - 1) * page : number * page]
        start = 100 if number == 1 else 0
        kind, count = page_data[start : start + 1], int.from_bytes(page_data[start + 3 : start + 5], "big")
        if kind not in {_LEAF, _INTERIOR}:
            continue
        cells = start + (8 if kind == _LEAF else 12)
        places = [
            int.from_bytes(page_data[at : at + 2], "big") for at in range(cells, min(cells + 2 * count, page - 1), 2)
        ]
        budget.step(len(places))
        if kind == _LEAF:
            rows += len(places)
            total += sum(_varint(page_data, at) for at in places)
        else:
            ends = [start + 8, *places]
            waiting += [int.from_bytes(page_data[at : at + 4], "big") for at in ends if 0 < at <= page - 4]
    return rows, total


def _varint(data: bytes, at: int) -> int:
    number = 0
    for byte in data[at : at + 9]:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last one of a number
            break
    return number


def page_size_of(data: bytes) -> int:
    """Return the page size that a file's header has (1 stands for 65536), whatever it is."""
    size = int.from_bytes(data[16:18], "big")
    return 65_536 if size == 1 else size


def _is_page_size(size: int) -> bool:
    return 512 <= size <= 65_536 and not size & (size - 1)  # noqa: PLR2004 - as the format says


def _is_sector(size: int) -> bool:
    return 32 <= size <= 65_536 and not size & (size - 1)  # noqa: PLR2004 - as SQLite has it


# --- the write-ahead log ---------------------------------------------------------------------------------------------


def _logged(data: bytes, log: bytes, budget: ReadingBudget) -> bytes:
    pages, length = _committed(log, data, budget)
    if not length:
        return data
    size = int.from_bytes(log[8:12], "big")
    budget.keep(length * size)
    merged = bytearray(data[: length * size].ljust(length * size, b"\0"))
    for number, at in pages.items():
        if number <= length:
            budget.step(A_PAGE)
            merged[(number - 1) * size : number * size] = log[at : at + size]
    return bytes(merged)


def _committed(log: bytes, data: bytes, budget: ReadingBudget) -> tuple[dict[int, int], int]:
    """Return where in the log each page's newest committed image is, and of how many pages the database then is."""
    magic, version, size = struct.unpack(">III", log[:12].ljust(12, b"\0"))
    order = {0x377F0682: "<", 0x377F0683: ">"}.get(magic)
    if order is None or len(log) < _LOG_HEADER or not _is_page_size(size):
        return {}, 0
    sums = _checksum((0, 0), log[:24], order)
    if sums != struct.unpack(">II", log[24:_LOG_HEADER]):
        return {}, 0
    if version != LOG_VERSION or size != page_size_of(data):
        raise CorruptState("the database's log is of another version or page size")
    pages: dict[int, int] = {}
    committed: dict[int, int] = {}
    length = 0
    for at in range(_LOG_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        budget.step(A_PAGE + size // A_STEP)
        number, after = struct.unpack(">II", log[at : at + 8])
        start = at + _FRAME_HEADER
        sums = _checksum(_checksum(sums, log[at : at + 8], order), log[start : start + size], order)
        if not number or log[at + 8 : at + 16] != log[16:24] or sums != struct.unpack(">II", log[at + 16 : start]):
            break
        pages[number] = start
        if after:
            committed |= pages
            pages, length = {}, after
    return committed, length


def _checksum(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _ALL
        second = (second + odd + first) & _ALL
    return first, second


# --- the rollback journal --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Header:
    records: int
    nonce: int
    pages: int
    sector: int
    size: int


def _rolled_back(data: bytes, journal: bytes, budget: ReadingBudget) -> bytes:
    first = _header(journal, 0, page_size_of(data))
    if first is None or not _is_sector(first.sector) or not _is_page_size(first.size) or len(journal) < first.sector:
        return data
    size = first.size
    budget.keep(first.pages * size)
    pages = bytearray(data[: first.pages * size].ljust(first.pages * size, b"\0"))
    done: set[int] = set()
    for number, at in _records(journal, first, budget):
        if number <= first.pages and number not in done:
            done.add(number)
            pages[(number - 1) * size : number * size] = journal[at : at + size]
    return bytes(pages)


def _records(journal: bytes, first: _Header, budget: ReadingBudget) -> Iterator[tuple[int, int]]:
    """Yield the number of each page in the journal and where its old image is, until the first that is not whole."""
    size, at, header = first.size, 0, first
    while True:
        start = at + header.sector
        count = (len(journal) - start) // (size + 8) if header.records == _ALL else header.records
        for place in range(start, start + count * (size + 8), size + 8):
            budget.step(A_PAGE)
            if place + size + 8 > len(journal):
                return
            number, checksum = (int.from_bytes(journal[at : at + 4], "big") for at in (place, place + size + 4))
            page = journal[place + 4 : place + 4 + size]
            sampled = sum(page[spot] for spot in range(size - _SAMPLED, 0, -_SAMPLED))
            if number in {0, LOCK_BYTE // size + 1} or checksum != (header.nonce + sampled) & _ALL:
                return
            yield number, place + 4
        end = start + count * (size + 8)
        at = -(-end // header.sector) * header.sector
        budget.step(A_PAGE)
        following = _header(journal, at, size)
        if following is None or at + first.sector > len(journal):
            return
        header = replace(following, sector=first.sector, size=size)  # SQLite reads these from the first alone


def _header(journal: bytes, at: int, size: int) -> _Header | None:
    """Read a header of the journal, or give None where there is none."""
    if journal[at : at + 8] != JOURNAL_MAGIC or len(journal) < at + 28:
        return None
    records, nonce, pages, sector, page = struct.unpack(">IIIII", journal[at + 8 : at + 28])
    return _Header(records, nonce, pages, sector, page or size)
