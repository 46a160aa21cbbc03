"""Tests of the log's files: the paths of tlog-tiles, entry bundles, and nodes read back out of tiles."""

import pytest

from vault.errors import Broken, Malformed
from vault.ledger.tree import tiles
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash, root_from, verify_inclusion


def test_paths_are_those_of_the_specification():
    assert tiles.tile_path(0, 1234067) == "tile/0/x001/x234/067"
    assert tiles.tile_path(1, 0, 17) == "tile/1/000.p/17"
    assert tiles.entries_path(999, 1) == "tile/entries/999.p/1"
    assert tiles.entries_path(1000) == "tile/entries/x001/000"


def test_the_tiles_of_the_specifications_example():
    found = list(tiles.tiles_of(70_000))
    assert found.count((0, 273, 112)) == 1
    assert sum(level == 0 and width == 256 for level, _, width in found) == 273
    assert [item for item in found if item[0]] == [(1, 0, 256), (1, 1, 17), (2, 0, 1)]
    assert list(tiles.tiles_of(256)) == [(0, 0, 256), (1, 0, 1)]
    assert list(tiles.tiles_of(0)) == []
    assert list(tiles.bundles_of(600, 300)) == [(1, 256), (2, 88)]


@pytest.fixture(scope="module")
def grown():
    """Return 70,000 leaves as a tree in memory, as a frontier, and as a folder of tiles."""
    hashes = [leaf_hash(b"%d" % number) for number in range(70_000)]
    frontier, files = tiles.Frontier(), {}
    for start in range(0, len(hashes), 999):
        batch = hashes[start : start + 999]
        for level, index, row in [*frontier.extend(batch), *frontier.partial_tiles()]:
            files[tiles.tile_path(level, index, len(row))] = b"".join(row)
    return MerkleTree(hashes), frontier, files


def test_a_frontier_grows_into_the_same_tree(grown):
    tree, frontier, files = grown
    assert frontier.size == 70_000
    assert frontier.root() == tree.root(70_000)
    assert tiles.Frontier.load(70_000, files.__getitem__).root() == tree.root(70_000)
    assert set(files) >= {tiles.tile_path(*tile) for tile in tiles.tiles_of(70_000)}


def test_nodes_come_out_of_tiles_and_few_tiles_are_read(grown):
    tree, _, files = grown
    read = []
    from_tiles = tiles.TileTree(70_000, lambda path: read.append(path) or files[path], keep=8)
    for index in (0, 255, 256, 65_535, 65_536, 69_999):
        verify_inclusion(tree.node(0, index), index, 70_000, inclusion_proof(from_tiles.node, index, 70_000),
                         tree.root(70_000))  # fmt: skip
    assert all(root_from(from_tiles.node, size) == tree.root(size) for size in (1, 256, 65_536, 69_999))
    assert len(read) < 40


@pytest.mark.parametrize("node", [(0, 70_000), (17, 0), (16, 1), (8, 273), (40, 0)])
def test_nodes_that_are_not_there(grown, node):
    from_tiles = tiles.TileTree(70_000, grown[2].__getitem__)
    with pytest.raises(Malformed):
        from_tiles.node(*node)


def test_entries_come_back():
    leaves = [b"", b"a", bytes(65_535)]
    data = tiles.pack_entries(leaves)
    assert tiles.unpack_entries(data, 3) == leaves
    assert data[:5] == b"\0\0\0\1a"
    for width, bad in [(2, data), (4, data), (3, data[:-1]), (3, data + b"\0"), (3, b""), (1, b"\0")]:
        with pytest.raises(Malformed):
            tiles.unpack_entries(bad, width)
    with pytest.raises(Malformed):
        tiles.pack_entries([bytes(65_536)])
    with pytest.raises(Malformed):
        tiles.split_hashes(bytes(63), 2)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(Broken, match="tile/0/000"):
        tiles.folder_reader(tmp_path)("tile/0/000")
