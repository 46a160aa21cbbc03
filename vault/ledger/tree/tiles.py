"""Merkle tree tiles as static files, C2SP tlog-tiles (https://c2sp.org/tlog-tiles).

    tile/<L>/<N>[.p/<W>]          up to 256 hashes: the roots of perfect subtrees over 256^L leaves
    tile/entries/<N>[.p/<W>]      up to 256 leaves, each after its length in two bytes, big-endian

`Frontier` is the right edge of a growing tree: two hashes a leaf make its tiles. `TileTree` reads
nodes out of tiles. Ledger files are written by `vault.files.write_atomically` alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from vault.errors import Broken, Malformed, Unavailable, reason_and_step
from vault.ledger.tree.merkle import HASH_BYTES, level_up, peaks_of, root, root_over

HEAD = "checkpoint"
KEPT = "checkpoints"  # every checkpoint that was ever published, by its size: ours, not C2SP's
WIDTH = 256
HEIGHT = 8
MAX_LEAF = 0xFFFF
LENGTH_BYTES = 2
_GROUP = 1000

Read = Callable[[str], bytes]


def tile_path(level: int, index: int, width: int = WIDTH) -> str:
    """Return a hash tile's path below the log's folder."""
    return f"tile/{level}/{_numbered(index, width)}"


def entries_path(index: int, width: int = WIDTH) -> str:
    """Return an entry bundle's path below the log's folder."""
    return f"tile/entries/{_numbered(index, width)}"


def tiles_of(size: int) -> Iterator[tuple[int, int, int]]:
    """List the hash tiles of a tree of `size` leaves as `(level, index, width)`."""
    level = 0
    while count := size >> HEIGHT * level:
        yield from ((level, index, width) for index, width in bundles_of(count))
        level += 1


def bundles_of(size: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """List the entry bundles that hold the leaves `[first, size)` as `(index, width)`."""
    for index in range(first // WIDTH, -(-size // WIDTH)):
        yield index, min(WIDTH, size - index * WIDTH)


def pack_entries(leaves: Iterable[bytes]) -> bytes:
    """Write an entry bundle.

    Raises:
        Malformed: a leaf is longer than 65,535 bytes.
    """
    parts: list[bytes] = []
    for leaf in leaves:
        if len(leaf) > MAX_LEAF:
            raise Malformed(f"a leaf has at most {MAX_LEAF} bytes, this one {len(leaf)}")
        parts += [len(leaf).to_bytes(LENGTH_BYTES, "big"), leaf]
    return b"".join(parts)


def unpack_entries(data: bytes, width: int, what: str = "the entry bundle") -> list[bytes]:
    """Read an entry bundle of exactly `width` leaves.

    Raises:
        Malformed: it is cut short, or something follows.
    """
    leaves: list[bytes] = []
    at = 0
    for number in range(width):
        start = at + LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        if at > len(data) or start > len(data):
            where = f"{what}: entry {number}"
            raise Malformed(f"{what} is cut short in entry {number} of {width}", where=where)
        leaves.append(data[start:at])
    if at != len(data):
        raise Malformed(f"{what} goes on after its {width} entries", where=f"{what}: byte {at}")
    return leaves


def split_hashes(data: bytes, width: int, what: str = "the tile") -> list[bytes]:
    """Read a hash tile of exactly `width` hashes.

    Raises:
        Malformed: it has another length.
    """
    if len(data) != width * HASH_BYTES:
        raise Malformed(
            f"{what} has {len(data)} bytes; {width} hashes have {width * HASH_BYTES}",
            where=f"{what}: number of bytes",
            expected=width * HASH_BYTES,
            found=len(data),
        )
    return [data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES)]


class Frontier:
    """The right edge of a tree: at each tile level the hashes of the tile that is not full yet."""

    def __init__(self) -> None:
        self._edge: list[list[bytes]] = []
        self._full: list[int] = []

    @classmethod
    def load(cls, size: int, read: Read) -> Frontier:
        """Read the right edge of a tree of `size` leaves from its partial tiles."""
        frontier = cls()
        level = 0
        while count := size >> HEIGHT * level:
            index, width = divmod(count, WIDTH)
            path = tile_path(level, index, width)
            frontier._edge.append(split_hashes(read(path), width, path) if width else [])
            frontier._full.append(index)
            level += 1
        return frontier

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self._full[0] * WIDTH + len(self._edge[0]) if self._edge else 0

    def extend(self, hashes: Sequence[bytes], level: int = 0) -> Iterator[tuple[int, int, list[bytes]]]:
        """Append leaf hashes; gives each tile that became full as `(level, index, hashes)`."""
        if level == len(self._edge):
            self._edge.append([])
            self._full.append(0)
        for digest in hashes:
            row = self._edge[level]
            row.append(digest)
            if len(row) == WIDTH:
                yield level, self._full[level], row
                self._edge[level] = []
                self._full[level] += 1
                yield from self.extend([root(row)], level + 1)

    def partial_tiles(self) -> Iterator[tuple[int, int, list[bytes]]]:
        """Yield the tiles that are not full, as `(level, index, hashes)`."""
        for level, hashes in enumerate(self._edge):
            if hashes:
                yield level, self._full[level], hashes

    def root(self) -> bytes:
        """Return the root of the whole tree."""
        return root_over(peak for hashes in self._edge for peak in peaks_of(hashes))


class TileTree:
    """The nodes of a tree of `size` leaves, read from tiles that the caller can fetch.

    Tiles are not trusted: the caller compares a root made from the nodes with a signed one.
    """

    def __init__(self, size: int, read: Read, keep: int = 4096) -> None:
        self.size = size
        self._read = read
        self._keep = keep
        self._seen: OrderedDict[tuple[int, int], list[list[bytes]]] = OrderedDict()

    def node(self, level: int, index: int) -> bytes:
        """Return the root of the perfect subtree over the leaves `[index * 2^level, (index + 1) * 2^level)`.

        Raises:
            Malformed: a tile has the wrong length, or the tree has no such node.
        """
        tile_level, inner = divmod(level, HEIGHT)
        tile, place = divmod(index, WIDTH >> inner)
        try:
            return self._rows(tile_level, tile)[inner][place]
        except IndexError:
            raise Malformed(f"a tree of {self.size} leaves has no node {level}/{index}") from None

    def _rows(self, level: int, index: int) -> list[list[bytes]]:
        key = level, index
        if key in self._seen:
            self._seen.move_to_end(key)
            return self._seen[key]
        width = min(WIDTH, (self.size >> HEIGHT * level) - index * WIDTH)
        if width <= 0:
            raise Malformed(f"a tree of {self.size} leaves has no tile {level}/{index}")
        path = tile_path(level, index, width)
        self._seen[key] = _rows(split_hashes(self._read(path), width, path))
        if len(self._seen) > self._keep:
            self._seen.popitem(last=False)
        return self._seen[key]


def folder_reader(folder: Path) -> Read:
    """Read a log's files from a folder.

    Its reader raises:
        Broken: a file is missing.
        Unavailable: the disk or its permissions do not let us read it, which says nothing about the log.
    """

    def read(path: str) -> bytes:
        try:
            return (folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise Broken(f"the log's file {path} cannot be read: {error.strerror}", where=path) from error
        except OSError as error:
            raise Unavailable(f"the log's file {folder / path} cannot be read: {reason_and_step(error)}") from error

    return read


def _numbered(index: int, width: int) -> str:
    path = f"{index % _GROUP:03d}" + ("" if width == WIDTH else f".p/{width}")
    while index := index // _GROUP:
        path = f"x{index % _GROUP:03d}/{path}"
    return path


def _rows(hashes: list[bytes]) -> list[list[bytes]]:
    """Return the complete inner levels of a tile, its hashes first."""
    rows = [hashes]
    while len(rows[-1]) > 1:
        rows.append(level_up(rows[-1]))
    return rows
