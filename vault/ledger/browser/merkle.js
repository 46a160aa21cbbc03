// The Merkle tree of RFC 6962, section 2.1, and the check of an inclusion proof (RFC 9162, section 2.1.3.2).

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** @param {Uint8Array} leaf @returns {Promise<Uint8Array>} */
const leafHash = (leaf) => sha256(joined(LEAF, leaf));

/** @param {Uint8Array} left @param {Uint8Array} right @returns {Promise<Uint8Array>} */
const nodeHash = (left, right) => sha256(joined(NODE, left, right));

/** A tree with all its nodes: `levels[l][i]` is the root of the perfect subtree over [i 2^l, (i + 1) 2^l). */
class Tree {
  levels = [[]];

  /** @param {Uint8Array[]} leaves their hashes @returns {Promise<Tree>} */
  static async over(leaves) {
    const tree = new Tree();
    await tree.extend(leaves);
    return tree;
  }

  /** Append leaf hashes. @param {Uint8Array[]} hashes */
  async extend(hashes) {
    for (let [fresh, level] = [hashes, 0]; fresh.length; level += 1) {
      const row = (this.levels[level] ??= []);
      for (const hash of fresh) row.push(hash);
      const pairs = [];
      for (let at = 2 * (this.levels[level + 1]?.length ?? 0); at + 1 < row.length; at += 2)
        pairs.push(nodeHash(row[at], row[at + 1]));
      fresh = await Promise.all(pairs);
    }
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
  const bits = (number) => (number ? number.toString(2) : ""); // numbers are larger than the 32 bits of operators
  const inner = bits(BigInt(index) ^ BigInt(size - 1)).length; // below it the paths of this leaf and of the last differ
  const wanted = inner + bits(BigInt(index) >> BigInt(inner)).replaceAll("0", "").length;
  const what = `the inclusion proof of leaf ${index} of ${size}`;
  if (proof.some((part) => part.length !== HASH_BYTES)) throw new No(`a hash in ${what} has not ${HASH_BYTES} bytes`);
  if (!(index >= 0 && index < size) || proof.length !== wanted)
    throw new No(`${what} has ${wanted} hashes, not ${proof.length}, and there are leaves 0 to ${size - 1}`);
  let computed = leaf;
  for (const [level, part] of proof.entries()) {
    const isLeft = level < inner && ((BigInt(index) >> BigInt(level)) & 1n) === 0n;
    computed = await (isLeft ? nodeHash(computed, part) : nodeHash(part, computed));
  }
  if (!same(computed, root))
    throw new No(`${what} gives the root ${hex(computed)}, so the leaf is not in the tree`);
}

/**
 * Say whether a proof shows that a tree is the beginning of a larger one (RFC 9162, section 2.1.4.2).
 * @param {number} size1
 * @param {number} size2
 * @param {Uint8Array} root1
 * @param {Uint8Array} root2
 * @param {Uint8Array[]} proof
 * @returns {Promise<boolean>}
 */
async function isConsistent(size1, size2, root1, root2, proof) {
  if (proof.some((part) => part.length !== HASH_BYTES)) return false;
  let [rest, last] = [BigInt(size1) - 1n, BigInt(size2) - 1n];
  const [first, ...siblings] = (BigInt(size1) & rest) === 0n ? [root1, ...proof] : proof;
  if (!first) return false;
  for (; rest & 1n; rest >>= 1n) last >>= 1n;
  let [one, two] = [first, first];
  for (const sibling of siblings) {
    if (!last) return false; // it goes on after the root
    if (rest & 1n || rest === last) {
      [one, two] = await Promise.all([nodeHash(sibling, one), nodeHash(sibling, two)]);
      for (; rest && !(rest & 1n); rest >>= 1n) last >>= 1n;
    } else {
      two = await nodeHash(two, sibling);
    }
    [rest, last] = [rest >> 1n, last >> 1n];
  }
  return !last && same(one, root1) && same(two, root2);
}

/**
 * Give the root over commitments sorted by their bytes: of a cohort's, or of a set's.
 * @param {string[]} commitments in hex
 * @returns {Promise<string>}
 */
async function setRoot(commitments) {
  if (new Set(commitments).size !== commitments.length)
    throw new No("the same commitment stands twice in one set");
  const leaves = await Promise.all([...commitments].sort().map((item) => leafHash(fromHex(item))));
  return hex(await (await Tree.over(leaves)).root());
}
