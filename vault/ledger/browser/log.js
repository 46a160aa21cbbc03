// The log, read whole: a signed checkpoint, the leaves below it, and that they give the root that was signed.

const WIDTH = 256;
const HEIGHT = 8;
const MAX_LEAF = 0xffff;

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
    if (!(end <= data.length)) throw new No(`${what} is cut short in entry ${leaves.length} of ${width}`);
    leaves.push(data.subarray(at + 2, end));
    at = end;
  }
  if (at !== data.length) throw new No(`${what} goes on after its ${width} entries`);
  return leaves;
}

/** @typedef {{head: Checkpoint, leaves: Uint8Array[], hashes: Uint8Array[], tree: Tree}} Log */

/**
 * Read every leaf below a checkpoint and rebuild its root.
 * @param {Checkpoint} head
 * @param {Read} read
 * @returns {Promise<Log>}
 */
async function readLog(head, read) {
  const leaves = [];
  for (const [index, width] of tilesOver(head.size)) {
    const path = entriesPath(index, width);
    leaves.push(...unpackEntries(await read(path), width, `log/${path}`));
  }
  const hashes = await Promise.all(leaves.map(leafHash));
  const tree = await Tree.over(hashes);
  const log = { head, leaves, hashes, tree };
  await requireRoot(log, head.size, hex(head.root), "the signed checkpoint");
  return log;
}

/** @param {Log} log @param {number} size @param {string} stated in hex @param {string} who */
async function requireRoot(log, size, stated, who) {
  if (size > log.head.size) throw new No(`${who} speaks of size ${size}, the log has ${log.head.size}`);
  const found = hex(await log.tree.root(size));
  if (found !== stated) throw new No(`${who} states the root ${stated} at size ${size}, the leaves give ${found}`);
}

/**
 * Compare every hash tile with the hashes that the leaves give.
 * @param {Log} log
 * @param {Read} read
 */
async function requireTiles(log, read) {
  for (const [level, index, width] of hashTiles(log.head.size)) {
    const path = tilePath(level, index, width);
    const data = await read(path);
    if (data.length !== width * HASH_BYTES)
      throw new No(`log/${path} has not the ${width * HASH_BYTES} bytes of its hashes`);
    const hashes = log.tree.levels[level * HEIGHT].slice(index * WIDTH, index * WIDTH + width);
    const odd = hashes.findIndex(
      (one, place) => !same(one, data.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES)),
    );
    if (odd >= 0) throw new No(`hash ${odd} of log/${path} is not what the leaves give`);
  }
}
