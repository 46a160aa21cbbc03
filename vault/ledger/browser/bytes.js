// Bytes, and the two things that are made of them: hashes (WebCrypto) and texts, each with one way to write it.

const HASH_BYTES = 32;

/** @param {string} text @returns {Uint8Array} */
const utf8 = (text) => new TextEncoder().encode(text);

/**
 * Read UTF-8 strictly.
 * @param {Uint8Array} data
 * @param {string} what the place, for the message
 * @returns {string}
 */
function textOf(data, what) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new No(`${what} is not UTF-8`, { where: what });
  }
}

/** @param {Uint8Array} data @returns {string} */
const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text lower-case digits of whole bytes, as the forms let through @returns {Uint8Array} */
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/**
 * Decode standard base64 (RFC 4648, section 4) and refuse any but the canonical form.
 * @param {string} text
 * @param {string} what
 * @returns {Uint8Array}
 */
function fromBase64(text, what) {
  let raw;
  try {
    raw = atob(text);
  } catch {
    throw new No(`${what} is not base64`, { where: what });
  }
  if (btoa(raw) !== text) throw new No(`${what} is not canonical base64`, { where: what });
  return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
}

/** Compare texts by code points, as Python does: `sort` alone compares halves of characters. */
const byCodePoint = (one, other) => (hex(utf8(one)) < hex(utf8(other)) ? -1 : 1);

/** @param {...Uint8Array} parts @returns {Uint8Array} */
function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Uint8Array} one @param {Uint8Array} other @returns {boolean} */
const same = (one, other) => one.length === other.length && one.every((byte, place) => byte === other[place]);

/** Give the place of the first byte that differs. @returns {number} */
function firstDifference(one, other) {
  const at = one.findIndex((byte, place) => byte !== other[place]);
  return at < 0 ? one.length : at;
}

/** @param {Uint8Array} data @returns {Promise<Uint8Array>} */
const sha256 = async (data) => new Uint8Array(await crypto.subtle.digest("SHA-256", data));

/**
 * Commit as the vault does: HMAC-SHA256(salt, "quarterturn/LABEL/v1\n" || payload).
 * @param {string} label
 * @param {Uint8Array} payload
 * @param {Uint8Array} salt 32 bytes; HMAC would pad or hash another length, so that one commitment opened twice
 * @returns {Promise<Uint8Array>}
 */
async function commitment(label, payload, salt) {
  if (salt.length !== HASH_BYTES) throw new No(`a salt has ${HASH_BYTES} bytes, this one ${salt.length}`);
  return hmac(salt, joined(utf8(`quarterturn/${label}/v1\n`), payload));
}

/** @param {Uint8Array} secret @param {Uint8Array} data @returns {Promise<Uint8Array>} */
async function hmac(secret, data) {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, data));
}

/** Say whether a payload and its salt (hex) open a commitment (hex). */
const opens = async (label, payload, salt, expected) =>
  hex(await commitment(label, payload, fromHex(salt))) === expected;
