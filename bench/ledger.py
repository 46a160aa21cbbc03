"""Measures appending to the log and proving from it at four sizes, beside bare `hashlib` and beside `pymerkle`.

A tree of n leaves cannot be made with fewer than 2n - 1 hashes, and no proof be checked with fewer than its path has:
that is the floor, `hashlib` in a plain loop. *In memory* is `vault.ledger.tree.merkle.MerkleTree`. *On disk* is
`LogWriter`: tiles and entry bundles, each written, fsynced and renamed, and a signed head. `pymerkle` is an in-memory
tree by others; its lines say how long it takes beside ours, so above 1 ours is the faster one.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from measure import Comparison, Side, compare, interleave, timed
from report import Found, Line

from vault.ledger.signatures.note import Signer
from vault.ledger.tree import merkle
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash
from vault.ledger.write.append import LogWriter

ROUNDS = 7
SIZES = (1_000, 10_000, 100_000, 1_000_000)
ON_DISK = 100_000  # and beyond it only in memory: a million leaves are eight thousand files, each fsynced
LEAF = 400  # bytes; about what a statement has
ORIGIN = "bench.quarterturn.invalid/log"
PROOFS = 64
FEW = 3  # rounds of what takes a second or more
CPU = time.process_time  # what waits for nothing is measured by the processor's clock: others may use it, too


def bench(rounds: int = 0) -> Found:
    """Append and prove at each size."""
    lines = [line for size in SIZES for line in _at(size, rounds)]
    others = () if find_spec("pymerkle") else ("pymerkle is not installed and was left out; ./run test installs it.",)
    about = (
        f"Leaves of {LEAF} bytes; a rate counts leaves or proofs, in the processor's seconds where nothing is written."
    )
    return Found(about, lines, remarks=others)


def _at(size: int, rounds: int) -> Iterator[Line]:
    leaves = leaves_of(size)
    few = rounds or (ROUNDS if size < ON_DISK else FEW)
    rounds = rounds or ROUNDS
    what = f"{size:,} leaves"
    floor = timed(lambda: bare_root(leaves), units=size, clock=CPU)
    tree = MerkleTree(leaf_hash(leaf) for leaf in leaves)
    yield Line(f"append {what}, in memory", "2n - 1 hashes", interleave(_grown(leaves), floor, few), "leaves")
    path = compare_to_path(lambda number: inclusion_proof(tree.node, number, size), size, rounds)
    yield Line(f"prove one of {what}, in memory", "the hashes of its path", path, "proofs")
    if size <= ON_DISK:
        yield from _on_disk(leaves, few, rounds)
    if find_spec("pymerkle"):
        yield from _others(leaves, tree, few)


def _on_disk(leaves: Sequence[bytes], few: int, rounds: int) -> Iterator[Line]:
    size = len(leaves)
    floor = timed(lambda: bare_root(leaves), units=size)
    what = f"{size:,} leaves"
    yield Line(f"append {what}, on disk", "2n - 1 hashes", interleave(_written(leaves), floor, few), "leaves")
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        log = writer(Path(folder))
        log.append(leaves, 0)
        path = compare_to_path(log.prove_inclusion, size, rounds)
        yield Line(f"prove one of {what}, from tiles", "the hashes of its path", path, "proofs")
        yield Line(f"append one to {what}, on disk", "one file written and fsynced", _one_more(log, folder, rounds))


def leaves_of(size: int) -> list[bytes]:
    """Make as many leaves, no two the same."""
    return [number.to_bytes(8, "big") * (LEAF // 8) for number in range(size)]


def bare_root(leaves: Sequence[bytes]) -> bytes:
    """Hash leaves into their root (RFC 6962), and keep nothing."""
    row = [hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(row) > 1:
        pairs = [hashlib.sha256(b"\1" + row[i] + row[i + 1]).digest() for i in range(0, len(row) - 1, 2)]
        row = pairs + row[len(pairs) * 2 :]
    return row[0]


def _grown(leaves: Sequence[bytes]) -> Side:
    return timed(lambda: MerkleTree(leaf_hash(leaf) for leaf in leaves).root(len(leaves)), units=len(leaves), clock=CPU)


def _written(leaves: Sequence[bytes]) -> Side:
    def side() -> float:
        with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
            log = writer(Path(folder))
            start = time.perf_counter()
            log.append(leaves, 0)
            return (time.perf_counter() - start) / len(leaves)

    return side


def writer(folder: Path) -> LogWriter:
    """Make an empty log with a key of its own."""
    public = folder / "public"
    public.mkdir()
    (folder / "head").mkdir()
    signer = Signer(ORIGIN, Ed25519PrivateKey.generate())
    return LogWriter(public, folder / "head" / "signed", signer, ORIGIN)


def compare_to_path(prove: Callable[[int], Any], size: int, rounds: int) -> Comparison:
    """Compare proofs of leaves all over the tree with hashing as many nodes as each of them has."""
    numbers = [number * (size - 1) // PROOFS for number in range(PROOFS)]
    lengths = [len(prove(number)) for number in numbers]

    def proofs() -> None:
        for number in numbers:
            prove(number)

    def paths() -> None:
        for length in lengths:
            found = bytes(32)
            for _ in range(length):
                found = hashlib.sha256(b"\1" + found + found).digest()

    return interleave(timed(proofs, units=PROOFS, clock=CPU), timed(paths, units=PROOFS, clock=CPU), rounds)


def _one_more(log: LogWriter, folder: str, rounds: int) -> Comparison:
    """Append one leaf at a time, as a promise that must be public now needs it."""
    numbers = itertools.count(log.size)
    place = Path(folder) / "bare"

    def bare() -> None:
        with place.open("wb") as file:
            file.write(bytes(LEAF))
            file.flush()
            os.fsync(file.fileno())

    return compare(lambda: log.append([bytes(LEAF)], next(numbers)), bare, rounds)


def _others(leaves: Sequence[bytes], tree: MerkleTree, rounds: int) -> Iterator[Line]:
    from pymerkle import InmemoryTree, verify_inclusion

    size, root = len(leaves), tree.root(len(leaves))
    theirs = InmemoryTree.init_from_entries(leaves, algorithm="sha256")
    numbers = [number * (size - 1) // PROOFS for number in range(PROOFS)]
    hashes = [leaf_hash(leaves[number]) for number in numbers]

    def their_proofs() -> list[Any]:
        return [theirs.prove_inclusion(number + 1) for number in numbers]

    def our_proofs() -> list[list[bytes]]:
        return [inclusion_proof(tree.node, number, size) for number in numbers]

    proofs, paths = their_proofs(), our_proofs()

    def they_verify() -> None:
        for item, proof in zip(hashes, proofs, strict=True):
            verify_inclusion(item, root, proof)

    def we_verify() -> None:
        for number, item, path in zip(numbers, hashes, paths, strict=True):
            merkle.verify_inclusion(item, number, size, path, root)

    if size <= ON_DISK:  # theirs takes a quarter of a minute for a million
        theirs_grown = timed(lambda: InmemoryTree.init_from_entries(leaves), units=size, clock=CPU)
        grown = interleave(theirs_grown, _grown(leaves), rounds)
        yield Line(f"pymerkle: append {size:,} leaves", "ours, in memory", grown, "leaves")
    for what, they, we in (("prove", their_proofs, our_proofs), ("verify", they_verify, we_verify)):
        seen = interleave(timed(they, units=PROOFS, clock=CPU), timed(we, units=PROOFS, clock=CPU), rounds)
        yield Line(f"pymerkle: {what} one of {size:,}", "ours, in memory", seen, "proofs")
