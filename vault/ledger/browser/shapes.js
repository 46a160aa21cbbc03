// Shapes of documents: small checks that compose, and say where a document is wrong. Objects are closed.

/** @typedef {(value: any, path: string) => void} Shape throws No where a value has another shape */

/** @param {RegExp} pattern anchored @param {string} words what that is @returns {Shape} */
const matching = (pattern, words) => (value, path) => {
  if (typeof value !== "string" || !pattern.test(value)) throw new No(`${path} must be ${words}`);
};

/** @param {...string} words @returns {Shape} */
const oneOf =
  (...words) =>
  (value, path) => {
    if (!words.includes(value)) throw new No(`${path} must be one of ${words.join(", ")}`);
  };

/** @param {number} least @returns {Shape} */
const wholeFrom = (least) => (value, path) => {
  if (!Number.isSafeInteger(value) || value < least) throw new No(`${path} must be a whole number from ${least}`);
};

/** @param {Shape} shape @returns {Shape} */
const orNull = (shape) => (value, path) => {
  if (value !== null) shape(value, path);
};

/** @param {Shape} shape @returns {Shape} */
const listOf = (shape) => (value, path) => {
  if (!Array.isArray(value)) throw new No(`${path} must be a list`);
  value.forEach((item, place) => shape(item, `${path}[${place}]`));
};

/** @param {Shape} shape @returns {Shape} */
const someOf = (shape) => (value, path) => {
  listOf(shape)(value, path);
  if (!value.length) throw new No(`${path} must have at least 1 item`);
};

/** @type {Shape} */
const anything = (value, path) => {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new No(`${path} must be an object`);
};

/** @param {Shape} key @param {Shape} shape @returns {Shape} */
const mappingOf = (key, shape) => (value, path) => {
  anything(value, path);
  for (const [name, item] of Object.entries(value)) {
    key(name, `a key of ${path}`);
    shape(item, `${path}.${name}`);
  }
};

/** @param {Record<string, Shape>} fields @param {Record<string, Shape>} optional @returns {Shape} */
const record =
  (fields, optional = {}) =>
  (value, path) => {
    anything(value, path);
    const missing = Object.keys(fields).find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) throw new No(`${path}.${missing} is missing`);
    const known = { ...fields, ...optional };
    for (const [name, item] of Object.entries(value)) {
      if (!Object.hasOwn(known, name)) throw new No(`${path}: ${JSON.stringify(name.slice(0, 60))} is not a key of it`);
      known[name](item, `${path}.${name}`);
    }
  };

/** @type {Shape} */
const anyText = (value, path) => {
  const length = typeof value === "string" ? [...value].length : 0;
  if (length < 1 || length > 1024) throw new No(`${path} must be text of 1 to 1024 characters`);
};

/** @type {Shape} */
const boolean = (value, path) => {
  if (typeof value !== "boolean") throw new No(`${path} must be true or false`);
};

const [natural, positive] = [wholeFrom(0), wholeFrom(1)];
const digest = matching(/^[0-9a-f]{64}$/, "64 lower-case hexadecimal digits");
const monthName = matching(/^[0-9]{4}-(?:0[1-9]|1[0-2])$/, "a month as YYYY-MM");
const cohortName = matching(/^cohort-[0-9]{4}-(?:0[1-9]|1[0-2])$/, "a cohort as cohort-YYYY-MM");
const taskId = matching(/^t-[a-z2-7]{16}$/, "a task's id");
const guid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a GUID in lower case");
