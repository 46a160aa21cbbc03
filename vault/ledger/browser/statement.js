// Statements: the leaves of the log, each an in-toto Statement of one kind, in canonical bytes.

const urnOf = (kind) => TABLES.urn.replace("{}", kind);

/**
 * @typedef {object} Entry a statement in the log
 * @property {number} index its place, in `where` with words
 * @property {string} kind
 * @property {string} name its subject's
 * @property {string} digest its subject's, in hex
 * @property {any} says its predicate
 * @property {(path: string) => string} at gives the place of a part of the predicate
 */

/**
 * Read a leaf.
 * @param {Uint8Array} leaf
 * @param {number} index
 * @returns {Entry}
 */
function parseLeaf(leaf, index) {
  const what = `leaf ${index}`;
  const document = parseCanonical(leaf, what);
  try {
    const kinds = Object.keys(TABLES.statements).map(urnOf).join();
    const envelope = { _type: `=${TABLES.type}`, subject: ["object"], predicateType: `=${kinds}`, predicate: "object" };
    requireForm(envelope, document, "$");
    const kind = document.predicateType.split(":")[2];
    const [name, algorithm, predicate] = TABLES.statements[kind];
    requireForm({ ...envelope, subject: [{ name, digest: { [algorithm]: "hash" } }], predicate }, document, "$");
    requireForm("=1", String(document.subject.length), "the number of items of $.subject");
    const [subject] = document.subject;
    const at = (path) => `${what}: $.predicate.${path}`;
    const { name: id, digest } = subject;
    return { index, where: what, kind, name: id, digest: digest[algorithm], says: document.predicate, at };
  } catch (error) {
    throw error instanceof No ? reworded(error, `${what} is no statement: ${error.message}`, what) : error;
  }
}
