"""Integrity check of a log folder: re-hashes every file and lists what is wrong.

Needs no signing key and no database, so anybody can run it on a copy. It reads every entry bundle once, rebuilds every
tile and the root with two hashes a leaf, and compares: hash tiles (older partial ones too), the checkpoint, and every
kept checkpoint with the root at its size. Files beyond the head are left by a crash before signing: they
were never promised and are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from vault.errors import Broken, Malformed
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Verifier, take_apart
from vault.ledger.tree.merkle import leaf_hash, root_from
from vault.ledger.tree.tiles import (
    HEAD,
    HEIGHT,
    KEPT,
    WIDTH,
    Frontier,
    TileTree,
    bundles_of,
    entries_path,
    folder_reader,
    split_hashes,
    tile_path,
    unpack_entries,
)

_LEAVES = re.compile(r"tile/0/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([0-9]{1,3}))?")
_PARTIAL = re.compile(r"tile/(entries|[0-9]{1,2})/((?:x[0-9]{3}/)*[0-9]{3})\.p/([0-9]{1,3})")


def fsck(folder: Path, verifiers: Sequence[Verifier]) -> tuple[Checkpoint, list[str]]:
    """Check a log folder against its own signed checkpoint.

    Returns:
        The checkpoint, and one sentence a problem.

    Raises:
        Broken, Malformed: there is no checkpoint that a given key signed; nothing can be compared with.
    """
    head, _ = open_checkpoint(folder_reader(folder)(HEAD), verifiers)
    problems = [*_rehash(folder, head), *_kept(folder, head, verifiers), *_older(folder, head.size)]
    return head, problems


def rebuilt(folder: Path) -> tuple[int, bytes]:
    """Return the number of leaves in the level-0 tiles and the root over them; no signature is checked.

    Raises:
        Broken, Malformed: a tile is missing or has the wrong length.
    """
    read = folder_reader(folder)
    if (folder / HEAD).is_file():
        size = Checkpoint.parse(take_apart(read(HEAD))[0]).size
    else:
        size = max(_ends(folder), default=0)
    frontier = Frontier()
    for index, width in bundles_of(size):
        path = tile_path(0, index, width)
        for _ in frontier.extend(split_hashes(read(path), width, path)):
            pass
    return size, frontier.root()


def _ends(folder: Path) -> Iterator[int]:
    for path in (folder / "tile" / "0").rglob("*"):
        if match := _LEAVES.fullmatch(path.relative_to(folder).as_posix()):
            index = int(match[1].replace("x", "").replace("/", ""))
            yield index * WIDTH + int(match[2] or WIDTH) if path.is_file() else 0


def _rehash(folder: Path, head: Checkpoint) -> Iterator[str]:
    frontier = Frontier()
    for index, width in bundles_of(head.size):
        path = entries_path(index, width)
        try:
            leaves = unpack_entries(folder_reader(folder)(path), width, path)
        except (Broken, Malformed) as error:
            yield str(error)
            return
        for tile in frontier.extend([leaf_hash(leaf) for leaf in leaves]):
            yield from _compare(folder, *tile)
    for tile in frontier.partial_tiles():
        yield from _compare(folder, *tile)
    if frontier.root() != head.root:
        yield f"the entries give the root {frontier.root().hex()}, the checkpoint says {head.root.hex()}"


def _compare(folder: Path, level: int, index: int, hashes: Sequence[bytes]) -> Iterator[str]:
    path = tile_path(level, index, len(hashes))
    try:
        stored = split_hashes(folder_reader(folder)(path), len(hashes), path)
    except (Broken, Malformed) as error:
        yield str(error)
        return
    if wrong := [place for place, (a, b) in enumerate(zip(stored, hashes, strict=True)) if a != b]:
        yield f"{path} disagrees with the entries, first at hash {wrong[0]}: {stored[wrong[0]].hex()}"


def _kept(folder: Path, head: Checkpoint, verifiers: Sequence[Verifier]) -> Iterator[str]:
    tree = TileTree(head.size, folder_reader(folder))
    for path in sorted((folder / KEPT).glob("*"), key=lambda item: (len(item.name), item.name)):
        name = f"{KEPT}/{path.name}"
        try:
            checkpoint, _ = open_checkpoint(path.read_bytes(), verifiers)
            if str(checkpoint.size) != path.name or checkpoint.origin != head.origin:
                yield f"{name} is a checkpoint of {checkpoint.origin} at size {checkpoint.size}"
            elif checkpoint.size <= head.size and root_from(tree.node, checkpoint.size) != checkpoint.root:
                yield f"{name} has the root {checkpoint.root.hex()}: a second root at size {checkpoint.size}"
        except (Broken, Malformed, OSError) as error:
            yield f"{name}: {error}"


def _older(folder: Path, size: int) -> Iterator[str]:
    """Compare the partial tiles of older sizes with the tiles that stand now."""
    for path in sorted((folder / "tile").rglob("*.p/*")):
        relative = path.relative_to(folder).as_posix()
        match = _PARTIAL.fullmatch(relative)
        if match is None:
            yield f"{relative!r} is no file of a log"
            continue
        level, index, width = match[1], int(match[2].replace("x", "").replace("/", "")), int(match[3])
        count = size if level == "entries" else size >> HEIGHT * int(level)
        if (standing := min(WIDTH, count - index * WIDTH)) > width:
            full_path = entries_path(index, standing) if level == "entries" else tile_path(int(level), index, standing)
            if not (folder / full_path).is_file() or not (folder / full_path).read_bytes().startswith(
                path.read_bytes()
            ):
                yield f"{relative} is not the beginning of {full_path}"
