// Refusals: what is wrong, under the name of the rule that is broken and with the values that disagree.

/** What is looked at is wrong; where two values disagree, it carries both and the place. */
class No extends Error {
  /**
   * @param {string} message
   * @param {{rule?: string?, where?: string?, expected?: any, found?: any}} evidence values may hold bytes
   */
  constructor(message, { rule = null, where = null, expected = null, found = null } = {}) {
    super(message);
    Object.assign(this, { rule, where, expected: asJson(expected), found: asJson(found) });
  }
}

/** What was given cannot be used, so the release was not looked at; `code` is the exit code of the command then. */
class Unusable extends No {
  /** @param {string} message @param {number} code */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/** This browser cannot make the check. */
class Cannot extends Error {}

/** Give the refusal of a broken rule. @param {string} rule @param {string} where @returns {No} */
const disagreement = (rule, where, expected = null, found = null) =>
  new No(TABLES.rules[rule], { rule, where, expected, found });

/**
 * Refuse a value that is not the expected one.
 * @param {string} rule the name of the rule that says so
 * @param {string} where the file, leaf or field, from the outside in
 * @param {any} expected what follows from everything else
 * @param {any} found what stands there
 */
function agree(rule, where, expected, found) {
  if (canonical(asJson(expected)) !== canonical(asJson(found))) throw disagreement(rule, where, expected, found);
}

/** Give an error under another message and place. @param {No} error @param {string} message @param {string} where */
const reworded = ({ rule, where: inner, expected, found }, message, where) =>
  new No(message, { rule, where: [where, inner].filter(Boolean).join(": ") || null, expected, found });

/** Make JSON of a value: bytes as hex, nothing as null. @param {any} value @returns {any} */
function asJson(value) {
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(asJson);
  if (value === null || typeof value !== "object") return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item)]));
}

/** Quote a name as Python's JSON does: in ASCII, so that nothing in it is invisible. @param {string} name */
const quoted = (name) =>
  JSON.stringify(name).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const SHOWN = 200; // characters of a value

/** Write a value on one line; a release may be hostile, so invisible characters are escaped. */
function asText(value) {
  if (value === null) return "nothing";
  const letters = [...(typeof value === "string" ? value : canonical(value, ", ", ": "))];
  const escaped = (letter) => letter.replace(/[\p{C}\p{Z}]/u, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
  const shown = letters.slice(0, SHOWN).map((letter) => (letter === " " ? letter : escaped(letter)));
  return shown.join("") + (letters.length > SHOWN ? `\u2026 (${letters.length} characters)` : "");
}

/** Write what disagrees, line by line. @returns {string[]} */
function evidenceLines({ where, expected, found }) {
  const values = expected === null && found === null ? [] : [`expected ${asText(expected)}`, `found ${asText(found)}`];
  return where === null ? values : [...values, `at ${asText(where)}`];
}
