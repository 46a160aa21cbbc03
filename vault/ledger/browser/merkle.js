// The Merkle tree of RFC 6962, section 2.1, and the check of an inclusion proof (RFC 9162, section 2.1.3.2).

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** @param {Uint8Array} leaf @returns {Promise<Uint8Array>} */
const leafHash = (leaf) => sha256(joined(LEAF, leaf));

/** @param {Uint8Array} left @param {Uint8Array} right @returns {Promise<Uint8Array>} */
const nodeHash = (left, right) => sha256(joined(NODE, left, right));

/** A tree with all its nodes: `levels[l][i]` is the root of the perfect subtree over [i 2^l, (i + 1) 2^l). */
class Tree {
  /** @param {Uint8Array[][]} levels */
  constructor(levels) {
    this.levels = levels;
  }

  /** @param {Uint8Array[]} leaves their hashes @returns {Promise<Tree>} */
  static async over(leaves) {
    const levels = [leaves];
    for (let row = leaves; row.length > 1; levels.push(row)) {
      const pairs = Array.from({ length: row.length >> 1 }, (_, place) => [row[2 * place], row[2 * place + 1]]);
      row = await Promise.all(pairs.map(([left, right]) => nodeHash(left, right)));
    }
    return new Tree(levels);
  }

  /**
   * Give the root of the first `size` leaves: their perfect subtrees, joined from the smallest on.
   * @param {number} size
   * @returns {Promise<Uint8Array>}
   */
  async root(size = this.levels[0].length) {
    let found = null;
    for (let level = 0, rest = size; rest > 0; level += 1, rest >>= 1) {
      if (rest % 2 === 0) continue;
      const peak = this.levels[level][rest - 1];
      found = found === null ? peak : await nodeHash(peak, found);
    }
    return found ?? sha256(new Uint8Array());
  }
}

/**
 * Check that a leaf is in a tree.
 * @param {Uint8Array} leaf its hash
 * @param {number} index
 * @param {number} size
 * @param {Uint8Array[]} proof
 * @param {Uint8Array} root
 */
async function verifyInclusion(leaf, index, size, proof, root) {
  const what = `the inclusion proof of leaf ${index} in a tree of ${size}`;
  if (!(index >= 0 && index < size)) throw new No(`there is no leaf ${index} in a tree of ${size}`);
  if (proof.some((part) => part.length !== HASH_BYTES)) throw new No(`${what} has a hash of another length`);
  let [place, last, found] = [index, size - 1, leaf];
  for (const part of proof) {
    if (last === 0) throw new No(`${what} is too long`);
    if (place % 2 === 1 || place === last) {
      found = await nodeHash(part, found);
      while (place % 2 === 0 && place !== 0) [place, last] = [place >> 1, last >> 1];
    } else {
      found = await nodeHash(found, part);
    }
    [place, last] = [place >> 1, last >> 1];
  }
  if (last !== 0) throw new No(`${what} is too short`);
  if (!same(found, root)) throw new No(`${what} gives the root ${hex(found)} instead`);
}

/**
 * Give the root over commitments sorted by their bytes: of a cohort's, or of a set's.
 * @param {string[]} commitments in hex
 * @returns {Promise<string>}
 */
async function setRoot(commitments) {
  const leaves = await Promise.all([...commitments].sort().map((item) => leafHash(fromHex(item))));
  return hex(await (await Tree.over(leaves)).root());
}
