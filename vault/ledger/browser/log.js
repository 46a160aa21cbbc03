// The log, read whole: a signed checkpoint, the leaves below it, and that they give the root that was signed.

const WIDTH = 256;
const HEIGHT = 8;
const MAX_LEAVES = 2 ** 31 - 1; // far more than a browser could read

/** @typedef {(path: string) => Promise<Uint8Array>} Read reads a file of the log's folder, or throws No */

const numbered = (index, width) => {
  const groups = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return groups.join("/") + (width === WIDTH ? "" : `.p/${width}`);
};

/** @param {number} level @param {number} index @param {number} width @returns {string} */
const tilePath = (level, index, width) => `tile/${level}/${numbered(index, width)}`;

/** @param {number} index @param {number} width @returns {string} */
const entriesPath = (index, width) => `tile/entries/${numbered(index, width)}`;

/** List the tiles over `count` items as [index, width]. @param {number} count @returns {[number, number][]} */
const tilesOver = (count) =>
  Array.from({ length: Math.ceil(count / WIDTH) }, (_, index) => [index, Math.min(WIDTH, count - index * WIDTH)]);

/** List a tree's hash tiles as [level, index, width]. @param {number} size @returns {[number, number, number][]} */
function hashTiles(size) {
  const found = [];
  for (let level = 0, count = size; count > 0; level += 1, count >>= HEIGHT) {
    found.push(...tilesOver(count).map(([index, width]) => [level, index, width]));
  }
  return found;
}

/** @param {Uint8Array} data @param {number} width @param {string} what @returns {Uint8Array[]} */
function unpackEntries(data, width, what) {
  const leaves = [];
  let at = 0;
  while (leaves.length < width) {
    const end = at + 2 + (data[at] << 8) + data[at + 1];
    if (!(end <= data.length))
      throw new No(`${what} is cut short in entry ${leaves.length} of ${width}`, { where: what });
    leaves.push(data.subarray(at + 2, end));
    at = end;
  }
  if (at !== data.length) throw new No(`${what} goes on after its ${width} entries`, { where: what });
  return leaves;
}

/** @typedef {{head: Checkpoint, leaves: Uint8Array[], tree: Tree}} Log */

/**
 * Read every leaf below a checkpoint, and check that they give its root, and on the way the tiles.
 * @param {Checkpoint} head
 * @param {Read} read
 * @param {(tree: Tree, level: number, index: number, width: number) => Promise<void>} checkTile
 * @returns {Promise<Log>}
 */
async function readLog(head, read, checkTile = async () => {}) {
  const [{ size }, leaves, tree] = [head, [], new Tree()];
  if (size > MAX_LEAVES) throw new No(`a log of ${size} leaves is larger than a browser can read`);
  for (const [index, width] of tilesOver(size)) {
    const path = entriesPath(index, width);
    const bundle = unpackEntries(await read(path), width, `log/${path}`);
    leaves.push(...bundle);
    await tree.extend(await Promise.all(bundle.map(leafHash)));
    let full = leaves.length;
    for (let level = 0; full % WIDTH === 0; level += 1) {
      full /= WIDTH;
      await checkTile(tree, level, full - 1, WIDTH);
    }
  }
  for (const [level, index, width] of hashTiles(size)) if (width < WIDTH) await checkTile(tree, level, index, width);
  agree("log.root", `the root of the ${size} leaves`, head.root, await tree.root());
  return { head, leaves, tree };
}

/** Replay the statements of a log; the key that signed its head is its first, unless it was handed over. */
async function replay({ head, leaves }, where) {
  const state = new LogState(head.origin);
  for (const leaf of leaves) await state.take(leaf);
  if (!state.keys.length) state.keys.push([0, head.signers[0]]);
  state.requireKey(head, where);
  return state;
}

/** Compare a hash tile with the hashes that the leaves give. @param {Read} read @param {Tree} tree */
async function requireTile(read, tree, level, index, width) {
  const path = tilePath(level, index, width);
  const [data, hashes] = [await read(path), tree.levels[level * HEIGHT].slice(index * WIDTH, index * WIDTH + width)];
  if (same(data, joined(...hashes))) return;
  const rows = Array.from({ length: Math.ceil(data.length / HASH_BYTES) }, (_, place) =>
    data.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  );
  const odd = hashes.findIndex((hash, place) => !rows[place] || !same(hash, rows[place]));
  const place = odd < 0 ? width : odd;
  throw disagreement("log.tiles", `log/${path}: hash ${place}`, hashes[place], rows[place]);
}
