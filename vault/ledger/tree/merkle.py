"""The Merkle tree of RFC 6962, section 2.1 (the same hashes as RFC 9162): roots, and strict proofs.

Proofs are made from *nodes*: a function `(level, index) -> hash` that gives the root of the perfect
subtree over the leaves `[index * 2^level, (index + 1) * 2^level)`, in memory or in tiles. A proof has
exactly the length that its sizes ask for, of hashes of exactly 32 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

from vault.errors import Broken, Malformed

HASH_BYTES = 32
EMPTY_ROOT = sha256().digest()

Nodes = Callable[[int, int], bytes]


def leaf_hash(leaf: bytes) -> bytes:
    """Hash a leaf's bytes (RFC 6962, section 2.1: 0x00 before a leaf)."""
    return sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees into their parent (0x01 before a pair)."""
    return sha256(b"\1" + left + right).digest()


def level_up(hashes: Sequence[bytes]) -> list[bytes]:
    """Hash neighbours in pairs; an odd one at the end is left out."""
    pairs = zip(hashes[::2], hashes[1::2], strict=False)
    return [sha256(b"\1" + left + right).digest() for left, right in pairs]


def root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes; over none, the hash of nothing."""
    return root_over(peaks_of(hashes))


def root_over(peaks: Iterable[bytes]) -> bytes:
    """Return the root over the roots of perfect subtrees, the smallest (right-most) first."""
    tree: bytes | None = None
    for peak in peaks:
        tree = node_hash(peak, tree) if tree else peak
    return tree or EMPTY_ROOT


def add_peak(peaks: list[bytes], leaf: bytes, size: int) -> None:
    """Append a leaf hash, the `size`th, to the roots of a tree's perfect subtrees, the largest first."""
    while not size & 1:
        leaf, size = node_hash(peaks.pop(), leaf), size >> 1
    peaks.append(leaf)


def peaks_of(hashes: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the roots of the perfect subtrees over leaf hashes, the smallest (right-most) first."""
    row = list(hashes)
    while row:
        if len(row) % 2:
            yield row[-1]
        row = level_up(row)


class MerkleTree:
    """A tree in memory that keeps every node, so that roots and proofs at any size are logarithmic."""

    def __init__(self, hashes: Iterable[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        self.extend(hashes)

    def __len__(self) -> int:
        return len(self._levels[0])

    def extend(self, hashes: Iterable[bytes]) -> None:
        """Append leaf hashes."""
        fresh = list(hashes)
        if any(len(item) != HASH_BYTES for item in fresh):
            raise Malformed(f"a leaf hash has exactly {HASH_BYTES} bytes")
        level = 0
        while fresh:
            if level == len(self._levels):
                self._levels.append([])
            row = self._levels[level]
            row += fresh
            level += 1
            done = len(self._levels[level]) if level < len(self._levels) else 0
            fresh = level_up(row[2 * done :])

    def node(self, level: int, index: int) -> bytes:
        """Return the root of a perfect subtree."""
        return self._levels[level][index]

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves."""
        return root_from(self.node, _within(size, len(self)))


def root_from(nodes: Nodes, size: int) -> bytes:
    """Return the root of the first `size` leaves."""
    return _join(nodes, 0, size) if size else EMPTY_ROOT


def inclusion_proof(nodes: Nodes, index: int, size: int) -> list[bytes]:
    """Prove that the leaf at `index` is in the tree of `size` leaves (RFC 6962, section 2.1.1).

    Raises:
        Malformed: there is no such leaf.
    """
    if not 0 <= index < size:
        raise Malformed(f"there is no leaf {index} in a tree of {size}")
    start, end = 0, size
    proof: list[bytes] = []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_join(nodes, middle, end))
            end = middle
        else:
            proof.append(_join(nodes, start, middle))
            start = middle
    return proof[::-1]


def consistency_proof(nodes: Nodes, size1: int, size2: int) -> list[bytes]:
    """Prove that the tree of `size1` leaves is the beginning of the tree of `size2` (RFC 6962, section 2.1.2).

    Raises:
        Malformed: `size1` is 0 (nothing to prove) or beyond `size2`.
    """
    if not 1 <= size1 <= size2:
        raise Malformed(f"a consistency proof needs 1 <= old size <= new size, not {size1} and {size2}")
    start, end, known = 0, size2, True
    proof: list[bytes] = []
    while size1 != end:
        middle = start + _split(end - start)
        if size1 <= middle:
            proof.append(_join(nodes, middle, end))
            end = middle
        else:
            proof.append(_join(nodes, start, middle))
            start, known = middle, False
    return ([] if known else [_join(nodes, start, end)]) + proof[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> None:
    """Check an inclusion proof for a leaf *hash* (RFC 9162, section 2.1.3.2).

    Raises:
        Broken: the proof does not lead from the leaf to the root, or it is malformed.
    """
    _require_hashes([leaf, expected, *proof])
    inner = (index ^ (size - 1)).bit_length()
    length = inner + (index >> inner).bit_count()
    if not 0 <= index < size or len(proof) != length:
        where, count = f"the inclusion proof of leaf {index} of {size}", len(proof)
        what = f"{where} has {length} hashes, not {count}, and there are leaves 0 to {size - 1}"
        where = f"{where}: the number of hashes"
        raise Broken(what, where=where, expected=length, found=count)
    computed, place = leaf, index
    for sibling in proof[:inner]:  # below it the paths of this leaf and of the last one differ
        pair = sibling + computed if place & 1 else computed + sibling
        computed, place = sha256(b"\1" + pair).digest(), place >> 1
    for sibling in proof[inner:]:
        computed = sha256(b"\1" + sibling + computed).digest()
    if computed != expected:
        where = f"the inclusion proof of leaf {index} of {size}"
        what = f"{where} gives the root {computed.hex()}, so the leaf is not in the tree"
        raise Broken(what, where=where, expected=expected, found=computed)


def verify_consistency(size1: int, size2: int, root1: bytes, root2: bytes, proof: Sequence[bytes]) -> None:
    """Check a consistency proof (RFC 9162, section 2.1.4.2).

    Raises:
        Broken: the older tree is not the beginning of the newer one, or the proof is malformed.
    """
    _require_hashes([root1, root2, *proof])
    what = f"the consistency proof from {size1} to {size2}"
    if not 1 <= size1 <= size2:
        sizes = f"1 to {size2}"
        raise Broken(f"{what} has no such trees", where="the old size", expected=sizes, found=size1)
    if size1 == size2:
        if proof or root1 != root2:
            heads = {"root": root1, "proof": []}, {"root": root2, "proof": [*proof]}
            two = f"two roots at one size {size1}: {root1.hex()} and {root2.hex()}"
            raise Broken(two, where=what, expected=heads[0], found=heads[1])
        return
    rest, last = size1 - 1, size2 - 1
    hashes = [root1, *proof] if size1 & rest == 0 else [*proof]
    while rest & 1:
        rest, last = rest >> 1, last >> 1
    old = new = hashes[0] if hashes else b""
    for sibling in hashes[1:]:
        if not last:  # it goes on after the root
            old = b""
        elif rest & 1 or rest == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while rest and not rest & 1:
                rest, last = rest >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        rest, last = rest >> 1, last >> 1
    if last or (old, new) != (root1, root2):
        message = f"{what} does not lead to the two roots"
        raise Broken(message, where=what, expected=[root1, root2], found=[*proof])


def set_root(commitments: Iterable[bytes]) -> bytes:
    """Return the root over commitments, sorted by their bytes: of a cohort, or of all live tasks.

    Raises:
        Malformed: two commitments are the same, or one has not 32 bytes.
    """
    ordered = sorted(commitments)
    if any(len(item) != HASH_BYTES for item in ordered):
        raise Malformed(f"a commitment has exactly {HASH_BYTES} bytes")
    if len(set(ordered)) != len(ordered):
        raise Malformed("the same commitment stands twice in one set")
    return root([leaf_hash(item) for item in ordered])


def _split(width: int) -> int:
    """Return the largest power of two smaller than `width` (width > 1)."""
    return 1 << (width - 1).bit_length() - 1


def _cover(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cover `[start, end)` with perfect subtrees; `start` is aligned to the largest of them."""
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


def _join(nodes: Nodes, start: int, end: int) -> bytes:
    """Hash the subtree over `[start, end)`, where `start` is aligned as RFC 6962 splits."""
    parts = [nodes(level, index) for level, index in _cover(start, end)]
    subtree = parts.pop()
    while parts:
        subtree = node_hash(parts.pop(), subtree)
    return subtree


def _require_hashes(hashes: Iterable[bytes]) -> None:
    if wrong := set(map(len, hashes)) - {HASH_BYTES}:
        what, where = f"a hash in a proof has exactly {HASH_BYTES} bytes", "the size of a hash"
        raise Broken(what, where=where, expected=HASH_BYTES, found=min(wrong))


def _within(size: int, have: int) -> int:
    if not 0 <= size <= have:
        raise Malformed(f"the tree has {have} leaves, not {size}")
    return size
