// Forms of documents, as `forms.py` reads them: the tables are the audit's own.

const whole = (pattern) => new RegExp(`^(?:${pattern})$`, "u");
const PATTERNS = new Map(
  Object.entries(TABLES.patterns).map(([name, [pattern, words]]) => [name, [whole(pattern), words]]),
);

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const lengthOf = (value) => (typeof value === "string" ? [...value].length : 0);

/** @type {Record<string, (value: any) => boolean>} */
const BASIC = {
  text: (value) => lengthOf(value) >= 1 && lengthOf(value) <= TABLES.textLimit,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  natural: (value) => Number.isSafeInteger(value) && value >= 0,
  positive: (value) => Number.isSafeInteger(value) && value >= 1,
  object: isObject,
};

/**
 * Refuse a value that has not a form.
 * @param {any} form a name, `=a,b`, `[form]`, `[form, null]`, or an object of forms
 * @param {any} value
 * @param {string} path
 */
function requireForm(form, value, path) {
  const refuse = (why) => {
    throw new No(`${path} must be ${why}`, { where: path });
  };
  if (typeof form === "string") {
    const why = faultOfForm(form, value);
    if (why) refuse(why);
  } else if (Array.isArray(form) && form.length > 1) {
    if (value !== null) requireForm(form[0], value, path);
  } else if (Array.isArray(form)) {
    if (!Array.isArray(value)) refuse("a list");
    value.forEach((item, index) => requireForm(form[0], item, `${path}[${index}]`));
  } else if (isObject(value)) {
    requireMembers(form, value, path);
  } else {
    refuse("an object");
  }
}

/** Say what a value must be where it is not. @param {string} form @param {any} value @returns {string} */
function faultOfForm(form, value) {
  const [name, orNull] = form.split("|");
  if (orNull && value === null) return "";
  if (name.startsWith("=")) {
    const words = name.slice(1).split(",");
    return words.includes(value) ? "" : `one of ${words.join(", ")}`;
  }
  if (Object.hasOwn(BASIC, name)) return BASIC[name](value) ? "" : TABLES.basic[name];
  const [pattern, words] = PATTERNS.get(name);
  return typeof value === "string" && pattern.test(value) ? "" : words;
}

function requireMembers(form, value, path) {
  const names = Object.keys(form);
  const [any] = names;
  if (any.startsWith("*")) {
    for (const [key, item] of Object.entries(value)) {
      requireForm(any.slice(1), key, `a key of ${path}`);
      requireForm(form[any], item, `${path}.${key}`);
    }
    return;
  }
  for (const name of names) {
    const key = name.replace("?", "");
    const where = `${path}.${key}`;
    if (Object.hasOwn(value, key)) requireForm(form[name], value[key], where);
    else if (key === name) throw new No(`${where} is missing`, { where });
  }
  const known = names.map((name) => name.replace("?", ""));
  const [strange] = Object.keys(value).filter((key) => !known.includes(key)).sort();
  if (strange !== undefined)
    throw new No(`${path}: ${JSON.stringify(strange.slice(0, 60))} is not a key of this format`, { where: path });
}
