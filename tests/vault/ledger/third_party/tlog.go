// Tlog checks a log's folder with the code of Go's module sumdb (golang.org/x/mod/sumdb), and none of Quarterturn's.
//
//	tlog [-old FILE [-consistency FILE]] [-proof FILE -leaf FILE] FOLDER KEY
//
// FOLDER is a log as web servers have it (a release has one in log/), KEY the log's verifier key. The checkpoint's
// signature is verified, and root and tiles are made anew from the leaves. With -old, an older checkpoint, the tiles
// have to prove that the log extends it; -consistency names a file with a proof of that, a base64 hash a line. With
// -proof, a .tlog-proof file, its leaf's bytes are in the file that -leaf names. It ends with 1 where one of these fails.
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8 // of a tile: 256 hashes

// path gives a tile's path. Go's name the height, tile/8/L/N; C2SP's do not, tile/L/N.
func path(tile tlog.Tile) string {
	return strings.Replace(strings.Replace(tile.Path(), "tile/8/", "tile/", 1), "tile/data/", "tile/entries/", 1)
}

// tileOf names the tile of hash n, where its level has as many as count; level -1 is that of the leaves.
func tileOf(level int, n, count int64) tlog.Tile {
	tile := tlog.Tile{H: height, L: level, N: n >> height, W: 1 << height}
	if count-n < 1<<height {
		tile.W = int(count - n)
	}
	return tile
}

// folder is a tlog.TileReader.
type folder string

func (f folder) tile(tile tlog.Tile) []byte {
	return read(filepath.Join(string(f), path(tile)))
}

func (f folder) Height() int { return height }

func (f folder) SaveTiles([]tlog.Tile, [][]byte) {}

func (f folder) ReadTiles(tiles []tlog.Tile) (found [][]byte, err error) {
	for _, tile := range tiles {
		found = append(found, f.tile(tile))
	}
	return found, nil
}

// bundle reads the leaves from number n on that share a file: each after its length in two bytes.
func (f folder) bundle(n, size int64) (leaves [][]byte) {
	tile := tileOf(-1, n, size)
	data := f.tile(tile)
	for len(data) > 0 {
		end := 2
		if len(data) >= end {
			end += int(binary.BigEndian.Uint16(data))
		}
		if len(data) < end {
			fail("the file of leaf %d is cut short", n)
		}
		leaves, data = append(leaves, data[2:end]), data[end:]
	}
	if len(leaves) != tile.W {
		fail("the file of leaf %d holds %d leaves and not %d", n, len(leaves), tile.W)
	}
	return leaves
}

// checkpoint opens a signed note and reads the three lines of its text: origin, size, root.
func checkpoint(signed []byte, verifier note.Verifier) tlog.Tree {
	opened, err := note.Open(signed, note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		fail("the checkpoint is of the log %q", lines[0])
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	return tlog.Tree{N: size, Hash: hash(lines[2])}
}

func hash(text string) tlog.Hash {
	found, err := tlog.ParseHash(text)
	must(err)
	return found
}

func hashes(lines []string) (found []tlog.Hash) {
	for _, line := range lines {
		found = append(found, hash(line))
	}
	return found
}

// rebuild makes every hash anew from the leaves, compares root and tiles with them, and proves one leaf of each file
// from the tiles. Each proof is checked against the root, because the TileHashReader of version 0.7.0 lets some full
// tiles through unchecked.
func rebuild(log folder, tree tlog.Tree) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (found []tlog.Hash, err error) {
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	for n := int64(0); n < tree.N; n += 1 << height {
		for i, leaf := range log.bundle(n, tree.N) {
			hashes, err := tlog.StoredHashes(n+int64(i), leaf, reader)
			must(err)
			stored = append(stored, hashes...)
		}
	}
	root, err := tlog.TreeHash(tree.N, reader)
	must(err)
	if root != tree.Hash {
		fail("the leaves give the root %v, the checkpoint says %v", root, tree.Hash)
	}
	for level, count := 0, tree.N; count > 0; level, count = level+1, count>>height {
		for n := int64(0); n < count; n += 1 << height {
			tile := tileOf(level, n, count)
			made, err := tlog.ReadTileData(tile, reader)
			must(err)
			if !bytes.Equal(made, log.tile(tile)) {
				fail("%s is not what the leaves give", path(tile))
			}
		}
	}
	for n := tree.N - 1; n >= 0; n -= 1 << height {
		proof, err := tlog.ProveRecord(tree.N, n, tlog.TileHashReader(tree, log))
		must(err)
		must(tlog.CheckRecord(proof, tree.N, tree.Hash, n, stored[tlog.StoredHashIndex(0, n)]))
	}
	fmt.Printf("%d leaves stand under %v\n", tree.N, tree.Hash)
}

func extends(log folder, tree, old tlog.Tree, given string) {
	proof, err := tlog.ProveTree(tree.N, old.N, tlog.TileHashReader(tree, log))
	must(err)
	must(tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash))
	fmt.Printf("the log of %d leaves extends that of %d\n", tree.N, old.N)
	if given != "" {
		must(tlog.CheckTree(hashes(strings.Fields(string(read(given)))), tree.N, tree.Hash, old.N, old.Hash))
		fmt.Println("the given proof says so too")
	}
}

// included checks a .tlog-proof: a header, the index, hashes, an empty line and the checkpoint that they lead to.
func included(file, leaf string, verifier note.Verifier) {
	head, signed, _ := bytes.Cut(read(file), []byte("\n\n"))
	tree := checkpoint(signed, verifier)
	lines := strings.Split(string(head), "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	must(err)
	must(tlog.CheckRecord(hashes(lines[2:]), tree.N, tree.Hash, index, tlog.RecordHash(read(leaf))))
	fmt.Printf("the leaf is number %d of %d\n", index, tree.N)
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	must(err)
	return data
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "tlog: "+format+"\n", values...)
	os.Exit(1)
}

func main() {
	old := flag.String("old", "", "an older checkpoint")
	consistency := flag.String("consistency", "", "a consistency proof, a base64 hash a line")
	proof := flag.String("proof", "", "a .tlog-proof file")
	leaf := flag.String("leaf", "", "the leaf that it is about")
	flag.Parse()
	if flag.NArg() != 2 {
		fail("give the log's folder and its key")
	}
	log := folder(flag.Arg(0))
	verifier, err := note.NewVerifier(flag.Arg(1))
	must(err)
	tree := checkpoint(read(filepath.Join(flag.Arg(0), "checkpoint")), verifier)
	rebuild(log, tree)
	if *old != "" {
		extends(log, tree, checkpoint(read(*old), verifier), *consistency)
	}
	if *proof != "" {
		included(*proof, *leaf, verifier)
	}
}
