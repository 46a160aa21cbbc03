// A release, `Historical-YYYY-MM`, checked as `quarterturn audit` does it: the same steps and rules. Left out are the
// witnesses' cosignatures, for which the audit takes a policy; so there are no doubts about times.

const [MANIFEST, HEAD, KEPT] = ["manifest.json", "log/checkpoint", "log/checkpoints/"];

/**
 * @typedef {object} Release what the steps hand to each other
 * @property {string[]} names its files
 * @property {Read} read reads one of them
 * @property {(name: string) => number} size gives the number of bytes of one of them, which is not read for that
 * @property {string} key the log's key, or its keys, from whoever asks
 * @property {Uint8Array?} previous a checkpoint that they kept
 * @property {Doubt[]} doubts
 * @property {any} manifest and its digest in `manifestDigest`
 * @property {Log} log
 * @property {LogState} state
 * @property {Retirement} retired
 * @property {Map<string, AuditedTask>} tasks and `withdrawn`
 * @property {Set<string>} broken tasks that were shown to be
 * @property {OpenedRun[]} runs
 *
 * @typedef {{sentence: string, rule: string, where: string?, expected: any, found: any}} Doubt
 * @typedef {{number: number, name: string, state: string, proved: string, error: No | null}} Step
 * @typedef {{answer: "yes" | "yes with doubts" | "no" | "cannot tell", steps: Step[], doubts: Doubt[]}} Report
 */

/** The steps of the audit, in its order. Each gives the sentence that says what it proved, perhaps after a state. */
const STEPS = {
  files,
  checkpoint,
  root,
  statements,
  checkpoints,
  retirement,
  tasks,
  runs,
  results,
  figures,
  "spot check": spotCheck,
  consistency,
  "full score": fullScore,
};

/**
 * Make every step, up to the first that fails.
 * @param {Release} release
 * @returns {Promise<Report>}
 */
async function checkRelease(release) {
  const steps = [];
  release.doubts = [];
  let answer = "yes";
  for (const [name, step] of Object.entries(STEPS)) {
    const outcome = answer === "yes" ? await attempt(() => step(release)) : { state: "not reached" };
    steps.push({ number: steps.length + 1, name, proved: "", error: null, ...outcome });
    answer = { failed: "no", "cannot tell": "cannot tell" }[outcome.state] ?? answer;
  }
  if (answer === "yes" && release.doubts.length) answer = "yes with doubts";
  return { answer, steps, doubts: release.doubts };
}

async function attempt(step) {
  try {
    const [proved, state] = [await step()].flat();
    return { state: state ?? "proved", proved };
  } catch (error) {
    if (error instanceof Cannot) return { state: "cannot tell", error: new No(error.message) };
    if (error instanceof No) return { state: "failed", error };
    throw error;
  }
}

/** Note a rule that was not kept, though everything follows from what was logged. @param {Release} release */
function doubt(release, rule, where, expected, found) {
  const evidence = { where, expected: asJson(expected), found: asJson(found) };
  release.doubts.push({ rule, sentence: TABLES.rules[rule], ...evidence });
}

async function files(release) {
  const { names, size } = release;
  for (const name of names) {
    const [, cap] = TABLES.caps.find(([beginning]) => name.startsWith(beginning));
    if (size(name) <= cap) continue;
    const message = `${name} has ${size(name)} bytes; such a file has at most ${cap}`;
    throw new No(message, { where: name, expected: `0 to ${cap}`, found: size(name) });
  }
  const data = await release.read(MANIFEST);
  readManifest(release, data, await sha256(data));
  const [all, contents] = [Object.entries(release.manifest.files), names.filter((name) => !name.startsWith("log/"))];
  const listed = [MANIFEST, ...all.map(([name]) => name)].sort();
  const [odd] = symmetricDifference(contents, listed);
  if (odd) throw disagreement("file.listed", odd, listed, names.includes(odd) ? odd : null);
  for (const [name, says] of all) agree("file.digest", `${name}: number of bytes`, says.bytes, size(name));
  for (const [name] of all) await readListed(release, name);
  return `${all.length} content files have the digests of the manifest ${release.manifestDigest}`;
}

/** @param {Release} release @param {Uint8Array} data @param {Uint8Array} digest */
function readManifest(release, data, digest) {
  release.manifest = parseCanonical(data, MANIFEST);
  requireForm(TABLES.forms[MANIFEST], release.manifest, MANIFEST);
  release.manifestDigest = hex(digest);
}

/** @param {string[]} some @param {string[]} others @returns {string[]} what is in one of them only, sorted */
const symmetricDifference = (some, others) => {
  const [left, right] = [new Set(some), new Set(others)];
  return [...some.filter((name) => !right.has(name)), ...others.filter((name) => !left.has(name))].sort();
};

/** Read a file that the manifest lists, if its bytes are those. @param {Release} release @param {string} name */
async function readListed({ read, manifest }, name) {
  const [data, says] = [await read(name), manifest.files[name]];
  agree("file.digest", `${name}: number of bytes`, says.bytes, data.length);
  agree("file.digest", `${name}: sha256`, says.sha256, await sha256(data));
  return data;
}

/** Read the lines of a file, if the manifest lists it. @param {Release} release @param {string} name */
const listedLines = async (release, name) => readLines(await readListed(release, name), name, TABLES.forms[name]);

async function checkpoint(release) {
  if (!release.key.trim()) throw new No("no key was given; nothing is believed but what the log's key signed");
  release.verifiers = await parseKeys(release.key);
  release.head = await openCheckpoint(await release.read(HEAD), release.verifiers, HEAD);
  const { origin, size, ignored } = release.head;
  agree("head.origin", `${MANIFEST}: $.origin`, origin, release.manifest.origin);
  const others = ignored.map((name) => `'${name}'`).join(", ");
  return `${origin} signed a tree of ${size} leaves${others && `; signatures by ${others} were not checked`}`;
}

async function root(release) {
  const [{ size }, read] = [release.head, (path) => release.read(`log/${path}`)];
  agree("log.whole", `${MANIFEST}: $.first`, 0, release.manifest.first);
  const present = release.names.filter((name) => name.startsWith("log/"));
  if (size > WIDTH * present.length)
    throw disagreement("log.tiles", "log/", `the tiles of ${size} leaves`, `${present.length} files`);
  const paths = hashTiles(size).map((tile) => tilePath(...tile));
  paths.push(...tilesOver(size).map((bundle) => entriesPath(...bundle)));
  const wanted = [HEAD, ...paths.map((path) => `log/${path}`)];
  const unnamed = present.filter((name) => !name.startsWith(KEPT));
  const [odd] = symmetricDifference(unnamed, wanted);
  if (odd) throw disagreement("file.listed", odd, `the files of ${size} leaves`, present.includes(odd) ? odd : null);
  release.log = await readLog(release.head, read, (...tile) => requireTile(read, ...tile));
  return `${size} leaves give the signed root ${hex(release.head.root)}`;
}

async function statements(release) {
  const state = (release.state = await replay(release.log, HEAD));
  const kinds = new Map();
  for (const { kind } of state.entries) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const counts = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ");
  const changes = state.keys.slice(1).map(([at, key]) => `; leaf ${at} hands the log over to ${key}`);
  return `${state.entries.length} statements follow from one another: ${counts}${changes.join("")}`;
}

async function checkpoints(release) {
  const { names, state } = release;
  const named = new Map([...state.runs.values()].map(({ open }) => [open.says.checkpoint.size, open.name]));
  const missing = [...named.keys()].sort((a, b) => a - b).find((size) => !names.includes(`${KEPT}${size}`));
  if (missing) throw disagreement("checkpoint.named", `${KEPT}${missing}`, `checkpoint of ${named.get(missing)}`);
  const kept = names.filter((name) => name.startsWith(KEPT)).sort();
  for (const name of kept.sort((a, b) => a.length - b.length)) {
    const older = await openOlder(release, await release.read(name), name);
    agree("head.origin", `${name}: the origin`, release.head.origin, older.origin);
    agree("checkpoint.root", `${name}: the size`, name.slice(KEPT.length), String(older.size));
    await requireRoot(release, older, name);
    state.requireKey(older, name);
  }
  for (const { open } of state.runs.values()) {
    const { size, root: stated } = open.says.checkpoint;
    agree("checkpoint.root", `leaf ${open.index}: $.predicate.checkpoint.root`, await rootAt(release, size), stated);
  }
  return `${kept.length} checkpoints are signed, and begin this tree`;
}

async function retirement(release) {
  const { cohort, month } = release.manifest;
  const wanted = [month, cohort, release.manifestDigest];
  const rows = release.state.retirements.map(({ leaf: { says, digest } }) => [says.month, says.cohort, digest]);
  const at = rows.findIndex((row) => row.join() === wanted.join());
  const near = rows.filter((row) => row.includes(month) || row.includes(cohort));
  if (at < 0) throw disagreement("retirement.one", `${MANIFEST}: month, cohort and sha256`, near, wanted);
  release.retired = release.state.retirements[at];
  return `leaf ${release.retired.leaf.index} retires ${cohort} with exactly this manifest`;
}

const OLDER = "the older checkpoint";

async function consistency(release) {
  const { head, previous, state } = release;
  if (!previous) return ["no older checkpoint was given to compare with", "not asked"];
  const older = await openOlder(release, previous, OLDER);
  agree("previous.origin", `${OLDER}: the origin`, head.origin, older.origin);
  const sizes = `0 to ${head.size}`;
  if (older.size > head.size) throw disagreement("previous.size", `${OLDER}: the size`, sizes, older.size);
  state.requireKey(older, OLDER);
  if (older.size) await requireRoot(release, older, OLDER);
  return `the tree of ${head.size} leaves extends the older one of ${older.size}`;
}

/** Open a checkpoint that is older than the head; name the key of its size if it was not given. */
async function openOlder({ verifiers, state }, note, where) {
  try {
    return await openCheckpoint(note, verifiers, where);
  } catch (error) {
    const wanted = error instanceof No && state.keyAt(parseCheckpoint(takeApart(note, where).text, where).size);
    if (!wanted || verifiers.some(({ vkey }) => vkey === wanted)) throw error;
    throw reworded(error, `${error.message}; at its size the log's key was ${wanted}: give it too`, null);
  }
}

/** Give the root of the first leaves, null where there is no such tree. @param {Release} release */
const rootAt = async ({ log }, size) => (size && size <= log.head.size ? log.tree.root(size) : null);

const requireRoot = async (release, { size, root: stated }, where) =>
  agree("checkpoint.root", `${where}: the root at size ${size}`, await rootAt(release, size), stated);
