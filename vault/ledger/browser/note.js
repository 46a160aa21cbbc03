// Signed notes (C2SP signed-note v1.0.0) and the checkpoints in them (C2SP tlog-checkpoint v1.0.0), Ed25519 only.
// A signature by a given key must verify, or the whole note fails; signatures by other keys prove nothing here.
// Browsers differ in which Ed25519 keys they take, so the rule of `strict_ed25519.py` is checked before they are asked.

const ED25519 = 1;
const ID_BYTES = 4;
const MAX_SIZE = 2n ** 53n - 1n; // leaves
const EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const MAX_SIGNATURES = 100;
const MAX_NOTE = 1 << 20;
const DASH = "\u2014 ";
const FIELD = 2n ** 255n - 19n;
const ORDER_8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
const SMALL_ORDER = [1n, FIELD - 1n, 0n, ORDER_8, FIELD - ORDER_8]; // y of the points of order 1, 2, 4, 8 and 8

/**
 * @typedef {{name: string, id: string, key: Uint8Array, vkey: string}} Verifier a public key: its name, its id in hex,
 *   its 32 bytes, and the key as text
 * @typedef {object} Checkpoint
 * @property {string} origin
 * @property {number} size
 * @property {Uint8Array} root
 * @property {string} by the key that signed it, in short
 * @property {string[]} signers the given keys of its name that signed it
 * @property {string[]} ignored who else did
 */

/**
 * Read a verifier key NAME+ID+KEY.
 * @param {string} text
 * @returns {Promise<Verifier>}
 */
async function parseKey(text) {
  const [, name, id, encoded] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(stripped(text)) ?? [];
  if (encoded === undefined) throw new No("a log's key reads NAME+ID+KEY; this one does not");
  requireName(name);
  const data = fromBase64(encoded, "the log's key");
  if (data[0] !== ED25519) throw new No(`the key of ${name} is not of type Ed25519`);
  const why = faultOf(data.subarray(1));
  if (why) throw new No(`the public key of ${name} ${why}`);
  const found = hex((await sha256(joined(utf8(`${name}\n`), data))).subarray(0, ID_BYTES));
  if (found !== id) throw new No(`the key of ${name} says id ${id.slice(0, 16)}, it has id ${found}`);
  return { name, id, key: data.subarray(1), vkey: `${name}+${id}+${encoded}` };
}

/** Strip what may stand around a key; `trim` and Python's `strip` take more, and not the same. @param {string} text */
const stripped = (text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");

/** Read keys, one a line. @param {string} text @returns {Promise<Verifier[]>} */
const parseKeys = (text) => Promise.all(stripped(text).split("\n").map(parseKey));

/**
 * Open a signed checkpoint: a given key that bears the origin's name signed it.
 * @param {Uint8Array} note
 * @param {Verifier[]} keys
 * @param {string} what
 * @returns {Promise<Checkpoint>}
 */
async function openCheckpoint(note, keys, what) {
  const { text, lines } = takeApart(note, what);
  const [ignored, signed, all] = [[], [], []];
  for (const line of lines) {
    const { name, id, signature } = parseSignature(line, what);
    all.push(`${name}+${id}`);
    const key = keys.find((given) => given.name === name && given.id === id);
    if (!key) ignored.push(name);
    else if (await accepts(key, utf8(text), signature)) signed.push(key);
    else throw wrongSigner(`the signature of ${name}+${id} under ${what} does not verify`, what, key.vkey, signature);
  }
  const given = keys.map((key) => key.vkey);
  if (!signed.length) throw wrongSigner(`${what} is not signed by a given key`, what, given, all);
  const checkpoint = parseCheckpoint(text, what);
  const own = signed.filter((key) => key.name === checkpoint.origin);
  const { origin } = checkpoint;
  if (!own.length) throw wrongSigner(`${what} is not signed by a given key of its name`, what, given, origin);
  return { ...checkpoint, by: `${own[0].name}+${own[0].id}`, signers: own.map((key) => key.vkey), ignored };
}

const wrongSigner = (message, what, expected, found) => new No(message, { where: what, expected, found });

/** @param {Uint8Array} note @param {string} what @returns {{text: string, lines: string[]}} */
function takeApart(note, what) {
  if (note.length > MAX_NOTE) throw new No(`${what} has more than ${MAX_NOTE} bytes`);
  const whole = textOf(note, what);
  const at = whole.lastIndexOf("\n\n");
  const [text, signatures] = [whole.slice(0, at + 1), whole.slice(at + 2)];
  if (at < 0 || !signatures.endsWith("\n")) throw new No(`${what} is no signed note`);
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw new No(`${what} has control characters`);
  const lines = signatures.slice(0, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw new No(`${what} has more than ${MAX_SIGNATURES} signatures`);
  return { text, lines };
}

/** @param {string} line @param {string} what @returns {{name: string, id: string, signature: Uint8Array}} */
function parseSignature(line, what) {
  const space = line.indexOf(" ", DASH.length);
  if (!line.startsWith(DASH) || space < 0)
    throw new No(`a signature line of ${what} does not read '\u2014 NAME SIGNATURE'`);
  const name = line.slice(DASH.length, space);
  requireName(name);
  const data = fromBase64(line.slice(space + 1), `a signature of ${what}`);
  if (data.length <= ID_BYTES) throw new No(`a signature of ${what} is too short`);
  return { name, id: hex(data.subarray(0, ID_BYTES)), signature: data.subarray(ID_BYTES) };
}

/** @param {string} text @param {string} what @returns {{origin: string, size: number, root: Uint8Array}} */
function parseCheckpoint(text, what) {
  const lines = text.slice(0, -1).split("\n");
  if (lines.length < 3 || lines.includes("")) throw new No(`${what} has not three lines, or an empty one`);
  const [origin, digits, encoded] = lines;
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(digits) || BigInt(digits) > MAX_SIZE)
    throw new No(`line 2 of ${what} is no size in decimal`);
  const root = fromBase64(encoded, `line 3 of ${what}`);
  if (root.length !== HASH_BYTES) throw new No(`line 3 of ${what} is no root of ${HASH_BYTES} bytes`);
  if (digits === "0" && hex(root) !== EMPTY_ROOT) throw new No(`${what} of size 0 has not the root of an empty tree`);
  return { origin, size: Number(digits), root };
}

/** @param {string} name */
function requireName(name) {
  if (!name || /[+\p{White_Space}\u0000-\u001f]/u.test(name)) throw new No("a key's name is empty, or has a space or a plus sign");
}

/**
 * Say why these bytes are refused as a public key, as the end of a sentence; null if nothing is wrong with them.
 * @param {Uint8Array} point
 * @returns {string | null}
 */
function faultOf(point) {
  if (point.length !== HASH_BYTES) return `has ${point.length} bytes; an Ed25519 public key has ${HASH_BYTES}`;
  const y = BigInt.asUintN(255, BigInt(`0x${hex(point.toReversed())}`));
  if (y >= FIELD) return "is not the one encoding of its point (RFC 8032, section 5.1.3)";
  return SMALL_ORDER.includes(y) ? "is a point of small order, under which everybody can sign" : null;
}

/** @param {Verifier} verifier @param {Uint8Array} text @param {Uint8Array} signature @returns {Promise<boolean>} */
async function accepts(verifier, text, signature) {
  if (faultOf(verifier.key) || faultOf(signature.subarray(0, HASH_BYTES))) return false;
  try {
    const key = await crypto.subtle.importKey("raw", verifier.key, { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, key, signature, text);
  } catch (error) {
    if (error.name === "NotSupportedError") throw new Cannot(NO_ED25519);
    return false;
  }
}

/**
 * Give the bytes that OpenSSH signs for a file in a namespace (PROTOCOL.sshsig, with SHA-512).
 * @param {Uint8Array} message
 * @param {string} namespace
 * @returns {Promise<Uint8Array>}
 */
async function sshSigned(message, namespace) {
  const string = (data) => joined(new Uint8Array([0, 0, 0, data.length]), data); // all are shorter than 256 bytes
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", message));
  const parts = [utf8(namespace), new Uint8Array(), utf8("sha512"), digest];
  return joined(utf8("SSHSIG"), ...parts.map(string));
}

const NO_ED25519 =
  "This browser has no Ed25519 in its WebCrypto, so it cannot check who signed the log, and without that nothing is " +
  "proven: use a newer browser, or `quarterturn audit` on a release.";
