"""Tests of the Merkle tree of RFC 6962: known vectors, every proof of every small tree, another library's roots."""

import random

import pymerkle
import pytest

from vault.errors import Broken, Malformed
from vault.ledger.tree import merkle

# The eight leaves and roots that Certificate Transparency's own tests use.
LEAVES = [bytes.fromhex(item) for item in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
SMALL = 33


def test_known_roots():
    hashes = [merkle.leaf_hash(leaf) for leaf in LEAVES]
    assert [merkle.root(hashes[:size]).hex() for size in range(9)] == ROOTS


@pytest.fixture(scope="module")
def hashes():
    return [merkle.leaf_hash(bytes([number])) for number in range(SMALL)]


def test_every_inclusion_proof_of_every_small_tree(hashes):
    tree = merkle.MerkleTree(hashes)
    for size in range(1, SMALL + 1):
        root = tree.root(size)
        for index in range(size):
            proof = merkle.inclusion_proof(tree.node, index, size)
            merkle.verify_inclusion(hashes[index], index, size, proof, root)
            for other in range(size):
                if other != index:
                    with pytest.raises(Broken):
                        merkle.verify_inclusion(hashes[index], other, size, proof, root)


def test_every_consistency_proof_of_every_small_tree(hashes):
    tree = merkle.MerkleTree(hashes)
    for new in range(1, SMALL + 1):
        for old in range(1, new + 1):
            proof = merkle.consistency_proof(tree.node, old, new)
            merkle.verify_consistency(old, new, tree.root(old), tree.root(new), proof)
            for wrong in range(1, new):
                if wrong != old:
                    with pytest.raises(Broken):
                        merkle.verify_consistency(wrong, new, tree.root(old), tree.root(new), proof)


def mutated(proof):
    """Yield a proof with each hash changed, left out, doubled, cut, and one too many."""
    for place, item in enumerate(proof):
        yield [*proof[:place], bytes([item[0] ^ 1]) + item[1:], *proof[place + 1 :]]
        yield [*proof[:place], *proof[place + 1 :]]
        yield [*proof[:place], item, *proof[place:]]
        yield [*proof[:place], item[:-1], *proof[place + 1 :]]
        yield [*proof[:place], item + b"\0", *proof[place + 1 :]]
    yield [*proof, bytes(32)]
    yield proof[::-1] if proof[::-1] != proof else [bytes(32)] * (len(proof) + 1)


@pytest.mark.parametrize(("index", "size"), [(0, 1), (0, 2), (4, 5), (6, 7), (12, 13), (17, 33), (32, 33)])
def test_mutated_inclusion_proofs(hashes, index, size):
    tree = merkle.MerkleTree(hashes)
    for bad in mutated(merkle.inclusion_proof(tree.node, index, size)):
        with pytest.raises(Broken):
            merkle.verify_inclusion(hashes[index], index, size, bad, tree.root(size))


@pytest.mark.parametrize(("old", "new"), [(1, 1), (1, 2), (4, 5), (6, 7), (8, 13), (17, 33), (32, 33)])
def test_mutated_consistency_proofs(hashes, old, new):
    tree = merkle.MerkleTree(hashes)
    for bad in mutated(merkle.consistency_proof(tree.node, old, new)):
        with pytest.raises(Broken):
            merkle.verify_consistency(old, new, tree.root(old), tree.root(new), bad)


def test_a_consistency_proof_from_nothing_is_refused(hashes):
    tree = merkle.MerkleTree(hashes)
    with pytest.raises(Malformed):
        merkle.consistency_proof(tree.node, 0, 5)
    with pytest.raises(Broken):
        merkle.verify_consistency(0, 5, merkle.EMPTY_ROOT, tree.root(5), [])
    with pytest.raises(Broken, match="two roots"):
        merkle.verify_consistency(5, 5, tree.root(5), tree.root(6), [])


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_a_leaf_that_is_not_there(hashes, index, size):
    with pytest.raises(Broken):
        merkle.verify_inclusion(hashes[0], index, size, [], hashes[0])
    with pytest.raises(Malformed):
        merkle.inclusion_proof(merkle.MerkleTree(hashes).node, index, size)


def test_another_library_agrees_on_roots():
    oracle = pymerkle.InmemoryTree(algorithm="sha256")
    tree = merkle.MerkleTree()
    draw = random.Random(6962)
    for size in range(1, 300):
        leaf = draw.randbytes(draw.randrange(50))
        oracle.append_entry(leaf)
        tree.extend([merkle.leaf_hash(leaf)])
        assert tree.root(size) == oracle.get_root()


def test_a_sets_root_depends_on_the_commitments_and_not_on_their_order():
    commitments = [bytes([number]) * 32 for number in (9, 3, 200)]
    assert merkle.set_root(commitments) == merkle.set_root(commitments[::-1])
    assert merkle.set_root(commitments) == merkle.root([merkle.leaf_hash(c) for c in sorted(commitments)])
    with pytest.raises(Malformed, match="twice"):
        merkle.set_root([bytes(32), bytes(32)])
    with pytest.raises(Malformed):
        merkle.set_root([b"short"])
