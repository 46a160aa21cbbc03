// Canonical JSON (RFC 8785): what is not exactly the canonical bytes of what it says is refused, so that no two
// readers read it differently. Duplicate keys, NaN and numbers out of range differ from what they are written back as.

const MAX_DEPTH = 64;
const MAX_LINE = 1 << 20;
const EXPONENT_FROM = 1e21; // from here on ECMAScript writes a whole number as a double is written

/**
 * Write a value as canonical JSON, or with other separators.
 * @param {unknown} value
 * @returns {string}
 */
function canonical(value, comma = ",", colon = ":") {
  const write = (item) => canonical(item, comma, colon);
  if (Array.isArray(value)) return `[${value.map(write).join(comma)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort(); // by UTF-16 code units, as section 3.2.3 asks
  return `{${keys.map((key) => JSON.stringify(key) + colon + write(value[key])).join(comma)}}`;
}

/**
 * Read JSON and refuse what has no canonical form; of a name that stands twice the last one counts.
 * @param {Uint8Array} data
 * @param {string} what
 * @returns {any}
 */
function parseExact(data, what) {
  const text = textOf(data, what);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new No(`${what} is not JSON`, { where: what });
  }
  requireExact(value, what, 0);
  return value;
}

/**
 * Read JSON in any form; a name that stands twice is refused, which `JSON.parse` does not see.
 * @param {Uint8Array} data
 * @param {string} what
 * @returns {any}
 */
function parseJson(data, what) {
  const value = parseExact(data, what);
  const names = textOf(data, what).match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g)?.filter((part) => part.endsWith(":")) ?? [];
  if (names.length !== countNames(value)) throw new No(`an object in ${what} has the same key twice`, { where: what });
  return value;
}

/**
 * Read canonical JSON.
 * @param {Uint8Array} data
 * @param {string} what
 * @returns {any}
 */
function parseCanonical(data, what) {
  const value = parseExact(data, what);
  const expected = utf8(canonical(value));
  if (!same(expected, data)) {
    const at = firstDifference(expected, data);
    const message = `${what} is not canonical JSON (RFC 8785): it differs from byte ${at} on`;
    throw new No(message, { where: `${what}: byte ${at}` });
  }
  return value;
}

/** Count the names in a value: a text with more of them has one twice. @param {any} value @returns {number} */
const countNames = (value) =>
  isObject(value) || Array.isArray(value)
    ? Object.values(value).reduce((sum, item) => sum + countNames(item), isObject(value) ? Object.keys(value).length : 0)
    : 0;

/** @param {unknown} value @param {string} what @param {number} depth */
function requireExact(value, what, depth) {
  if (typeof value === "string" && !value.isWellFormed())
    throw new No(`a text in ${what} holds half a character`, { where: what });
  if (typeof value === "number") requireExactNumber(value, what);
  if (value === null || typeof value !== "object") return;
  if (depth >= MAX_DEPTH) throw new No(`${what} is nested deeper than ${MAX_DEPTH} levels`, { where: what });
  for (const [key, item] of Object.entries(value)) {
    requireExact(key, what, depth);
    requireExact(item, what, depth + 1);
  }
}

/** @param {number} value @param {string} what */
function requireExactNumber(value, what) {
  const whole = Number.isInteger(value) && Math.abs(value) < EXPONENT_FROM;
  if (!Number.isFinite(value) || (whole && !Number.isSafeInteger(value))) {
    throw new No(`${what} holds a number that is not exact`, { where: what });
  }
}

/**
 * Read the lines of a file: where each stands, its bytes, and its value, which is canonical JSON of a form.
 * @param {Uint8Array} data
 * @param {string} name
 * @param {any} form
 */
function* readLines(data, name, form) {
  for (let [at, end, number] = [0, 0, 1]; at < data.length; [at, number] = [end + 1, number + 1]) {
    const where = `line ${number} of ${name}`;
    end = data.indexOf(10, at);
    if (end < 0 || end + 1 - at > MAX_LINE)
      throw new No(`${where} is cut short or longer than ${MAX_LINE} bytes`, { where });
    const line = data.subarray(at, end);
    const value = parseCanonical(line, where);
    requireForm(form, value, where);
    yield { where, line, value };
  }
}
