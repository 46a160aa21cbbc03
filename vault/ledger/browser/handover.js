// Which key signs the log's heads: one at a time, and from which size on. A `key` statement at leaf n, signed by both
// keys, hands the log over: heads over at most n leaves are the old key's, heads over more are the new key's.

/** The log's keys, in order. */
class Reigns {
  /** @param {string} first @param {[number, string][]} later leaves, and the keys that they hand the log over to */
  constructor(first, later) {
    [this.first, this.later] = [first, later];
  }

  /**
   * Read the `key` statements of a log; where there are none, the key that signed its head is the only one.
   * @param {History} history
   * @param {Checkpoint} head
   * @returns {Promise<Reigns>}
   */
  static async read(history, head) {
    const later = [];
    const keys = [];
    for (const entry of history.of("key")) {
      const { old, new: next } = await bothKeys(head.origin, entry);
      if (!keys.length) keys.push(old);
      if (old !== keys.at(-1)) {
        throw new No(`leaf ${entry.index} hands the log over from ${old}, whose key at that leaf is ${keys.at(-1)}`);
      }
      if (keys.includes(next)) {
        throw new No(`leaf ${entry.index} hands the log over to ${next}, which was its key before`);
      }
      keys.push(next);
      later.push([entry.index, next]);
    }
    return new Reigns(keys[0] ?? head.signers[0], later);
  }

  /** Give the key of heads over so many leaves. @param {number} size @returns {string} */
  of(size) {
    return this.later.findLast(([index]) => index < size)?.[1] ?? this.first;
  }

  /**
   * A head must be signed by the key of its size, and by no other of the log's.
   * @param {Checkpoint} head
   * @param {string} what
   */
  require({ size, signers }, what) {
    const wanted = this.of(size);
    const keys = [this.first, ...this.later.map(([, next]) => next)];
    if (signers.includes(wanted) && !signers.some((one) => one !== wanted && keys.includes(one))) return;
    throw new No(
      `${what} covers ${size} leaves, and the log's key at that size is ${wanted}, ` +
        `but it is signed by ${signers.join(", ")}`,
    );
  }
}

/** Give both keys of a statement that both signed. @param {string} origin @param {Entry} entry */
async function bothKeys(origin, { index, name, digest: stated, says }) {
  const keys = { old: await parseKey(says.old), new: await parseKey(says.new) };
  if ([keys.old.name, keys.new.name, name].some((one) => one !== origin)) {
    throw new No(`leaf ${index} hands over the log ${keys.new.name}, and this log is ${origin}`);
  }
  if (hex(await sha256(keys.new.key)) !== stated) {
    throw new No(`leaf ${index} has not the digest of the new key that it names`);
  }
  if (says.size !== index) {
    throw new No(`leaf ${index} hands the log over at leaf ${says.size}, which is not where it stands`);
  }
  const text = utf8(`quarterturn/log-key/v1\n${says.old}\n${says.new}\n${says.size}\n`);
  for (const [word, key] of Object.entries(keys)) {
    const signature = fromBase64(says.signatures[word], `the ${word} key's signature at leaf ${index}`);
    if (!(await accepts(key, text, signature))) {
      throw new No(`leaf ${index} hands the log over to ${says.new}, and the ${word} key did not sign that`);
    }
  }
  return says;
}
