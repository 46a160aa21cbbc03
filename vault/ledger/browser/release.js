// A release, `Historical-YYYY-MM`, checked as the command line's audit does it, with the same numbers and names. Left
// out is one comparison: that the README says what a release's README says.

const MANIFEST = "manifest.json";
const OWN_PAGE = "verify.html";
const WITHDRAWN = "withdrawn.jsonl"; // only where tasks left early
const EVIDENCE = "evidence.jsonl"; // only where evidence of findings was published
const BROKEN = "broken.jsonl"; // only where some of them were broken
const MAX_FILE = 2 ** 30; // bytes of a file of results
const CONTENT = [
  "README.md",
  "tasks.jsonl",
  "openings.jsonl",
  "runs.jsonl",
  "results.jsonl",
  "aggregate.json",
  "attestation.json",
];

const fileShape = record({ bytes: natural, sha256: digest });
const MANIFEST_SHAPE = record({
  format: oneOf("urn:quarterturn:bundle:v1"),
  month: monthName,
  cohort: cohortName,
  origin: anyText,
  canary: guid,
  first: natural,
  files: record(Object.fromEntries(CONTENT.map((name) => [name, fileShape])), {
    [OWN_PAGE]: fileShape,
    [WITHDRAWN]: fileShape,
    [EVIDENCE]: fileShape,
    [BROKEN]: fileShape,
  }),
});

/**
 * @typedef {object} Task a task that opens its commitment
 * @property {string} id
 * @property {Uint8Array} line its bytes
 * @property {any} opening
 * @property {string} category
 * @property {number} maxSteps
 * @property {string} stratum
 *
 * @typedef {object} Case what the steps hand to each other
 * @property {string[]} names the files of the release
 * @property {Read} read reads one of them
 * @property {(name: string) => number} size gives the number of bytes of one of them, which is not read for that
 * @property {string} key the log's key, or its keys, from whoever asks
 * @property {Uint8Array?} previous a checkpoint that they kept
 */

/** The steps, by their numbers in the audit. Each gives the sentence that says what it proved. */
const STEPS = [
  [1, "files", files],
  [2, "checkpoint", checkpoint],
  [3, "root", root],
  [4, "statements", statements],
  [5, "named checkpoints", namedCheckpoints],
  [6, "retirement", retirement],
  [7, "commitments", commitments],
  [8, "promise", promise],
  [9, "order", order],
  [10, "runs", runs],
  [11, "results", results],
  [12, "figures", figures],
  [13, "consistency", consistency],
  [14, "full score", fullScore],
  [15, "spot check", spotCheck],
];

/**
 * Make every step, up to the first that fails.
 * @param {Case} found
 * @returns {Promise<{number: number, name: string, state: string, told: string}[]>}
 */
async function checkRelease(found) {
  const steps = [];
  let state = "proved";
  for (const [number, name, step] of STEPS) {
    if (state === "failed" || state === "cannot tell" || state === "not reached") {
      steps.push({ number, name, state: (state = "not reached"), told: "" });
      continue;
    }
    const said = await attempt(() => step(found));
    state = said.state;
    steps.push({ number, name, ...said });
  }
  return steps;
}

/** What cannot be known yet. */
class Pending extends Error {}
/** What nobody asked for, or promised. */
class NotAsked extends Error {}

/** @param {() => Promise<string>} step @returns {Promise<{state: string, told: string}>} */
async function attempt(step) {
  try {
    return { state: "proved", told: await step() };
  } catch (error) {
    if (error instanceof NotAsked) return { state: "not asked", told: error.message };
    if (error instanceof Pending) return { state: "pending", told: error.message };
    if (error instanceof Cannot) return { state: "cannot tell", told: error.message };
    if (error instanceof No) return { state: "failed", told: error.message };
    throw error;
  }
}

async function files(found) {
  if (!found.names.includes(MANIFEST)) throw new No(`there is no ${MANIFEST}: give the whole folder of a release`);
  for (const name of found.names) requireCap(name, found.size(name));
  const data = await found.read(MANIFEST);
  found.manifest = parseCanonical(data, MANIFEST);
  MANIFEST_SHAPE(found.manifest, MANIFEST);
  found.manifestDigest = hex(await sha256(data));
  const listed = Object.keys(found.manifest.files);
  const strange = found.names.find((name) => name !== MANIFEST && !listed.includes(name) && !name.startsWith("log/"));
  if (strange) throw new No(`the release holds ${JSON.stringify(strange)}, which its manifest does not list`);
  for (const name of listed) {
    if (!found.names.includes(name)) throw new No(`${name} is missing`);
    requireSize(name, found.size(name), found.manifest.files[name].bytes);
  }
  for (const name of listed) await readListed(found, name);
  return `${listed.length} files have the digests of the manifest ${found.manifestDigest}`;
}

/** Refuse a file that is too large to be of a release, before it is read. @param {string} name @param {number} size */
function requireCap(name, size) {
  const caps = [
    ["log/tile/entries/", WIDTH * (2 + MAX_LEAF)],
    ["log/tile/", WIDTH * HASH_BYTES],
    ["log/", MAX_NOTE],
    [MANIFEST, MAX_LINE],
    ["", MAX_FILE],
  ];
  const [, cap] = caps.find(([beginning]) => name.startsWith(beginning));
  if (size > cap) throw new No(`${name} has ${size} bytes; such a file has at most ${cap}`);
}

/** @param {string} name @param {number} size @param {number} listed */
function requireSize(name, size, listed) {
  if (size !== listed) throw new No(`${name} has ${size} bytes, the manifest lists ${listed}`);
}

/** Read a file that the manifest lists, if its bytes are those. @param {Case} found @param {string} name */
async function readListed(found, name) {
  const [data, says] = [await found.read(name), found.manifest.files[name]];
  requireSize(name, data.length, says.bytes);
  const is = hex(await sha256(data));
  if (is !== says.sha256) throw new No(`${name} has the SHA-256 ${is}, the manifest lists ${says.sha256}`);
  return data;
}

async function checkpoint(found) {
  if (!found.key.trim()) throw new No("no key was given; nothing is believed but what the log's key signed");
  found.verifiers = await parseKeys(found.key);
  const { origin } = found.manifest;
  found.head = await openCheckpoint(await found.read("log/checkpoint"), found.verifiers, "log/checkpoint");
  if (found.head.origin !== origin) throw new No(`the manifest is of the log ${origin}, not of ${found.head.origin}`);
  return `${found.head.by} signed a tree of ${found.head.size} leaves`;
}

async function root(found) {
  const { first } = found.manifest;
  if (first !== 0) throw new No(`the manifest begins at leaf ${first}: what stands before it could not be judged`);
  const { size } = found.head;
  if (size > WIDTH * found.names.length) throw new No(`a log of ${size} leaves has more files than are here`);
  const wanted = new Set(["checkpoint", ...hashTiles(size).map((tile) => tilePath(...tile))]);
  for (const [index, width] of tilesOver(size)) wanted.add(entriesPath(index, width));
  const there = logFiles(found).filter((name) => !name.startsWith("checkpoints/"));
  const strange = there.find((name) => !wanted.has(name));
  if (strange) throw new No(`log/${strange} is no file of a log of ${size} leaves`);
  const read = (path) => found.read(`log/${path}`);
  found.log = await readLog(found.head, read);
  await requireTiles(found.log, read);
  return `${size} leaves give the signed root ${hex(found.head.root)}`;
}

async function statements(found) {
  found.history = new History(found.log.leaves.map(parseLeaf));
  found.reigns = await Reigns.read(found.history, found.head);
  found.reigns.require(found.head, "log/checkpoint");
  return `${found.log.leaves.length} statements were read, in canonical bytes, and none contradicts another`;
}

async function namedCheckpoints(found) {
  const sizes = new Set();
  for (const { index, says } of found.history.of("run-open")) {
    const { size, root: stated } = says.checkpoint;
    if (size > index) throw new No(`the run at leaf ${index} names a checkpoint of size ${size}, which is not earlier`);
    await requireRoot(found.log, size, stated, `the run at leaf ${index}`);
    sizes.add(size);
  }
  const kept = logFiles(found).filter((name) => name.startsWith("checkpoints/"));
  const strange = kept.find((name) => ![...sizes].some((size) => name === `checkpoints/${size}`));
  if (strange) throw new No(`log/${strange} is named by no run`);
  for (const size of sizes) {
    const what = `log/checkpoints/${size}`;
    const one = await openCheckpoint(await found.read(what), found.verifiers, what);
    if (one.size !== size) throw new No(`${what} is a checkpoint of size ${one.size}`);
    found.reigns.require(one, what);
    await requireRoot(found.log, size, hex(one.root), what);
  }
  return `${sizes.size} checkpoints that runs name are signed, and each is the beginning of this tree`;
}

async function retirement(found) {
  const { cohort, month } = found.manifest;
  const all = found.history.of("retire").filter(({ says }) => says.cohort === cohort || says.month === month);
  const where = all.map((entry) => entry.index).join(", ") || "nowhere";
  if (all.length !== 1) throw new No(`${cohort} and ${month} retire once; the log says so at leaves ${where}`);
  const [{ index, digest: names, says }] = [(found.retired = all[0])];
  if (says.cohort !== cohort || says.month !== month) {
    throw new No(`leaf ${index} retires ${says.cohort} in ${says.month}, the manifest says ${cohort} in ${month}`);
  }
  if (names !== found.manifestDigest) {
    throw new No(`leaf ${index} names the manifest ${names}, this one has ${found.manifestDigest}`);
  }
  return `leaf ${index} retires ${cohort} with exactly this manifest`;
}

async function consistency(found) {
  if (!found.previous) throw new NotAsked("no older checkpoint was given");
  const kept = await openCheckpoint(found.previous, found.verifiers, "the older checkpoint");
  found.reigns.require(kept, "the older checkpoint");
  await requireRoot(found.log, kept.size, hex(kept.root), "the older checkpoint");
  return `the tree of ${found.head.size} leaves extends the older checkpoint of size ${kept.size}`;
}

/** @param {Case} found @returns {string[]} the files of the log, without its folder */
const logFiles = (found) => found.names.filter((name) => name.startsWith("log/")).map((name) => name.slice(4));
