// A release, `Historical-YYYY-MM`, checked as the command line's audit does it, with the same numbers and names. Left
// out is one comparison: that the README says what a release's README says.

const MANIFEST = "manifest.json";
const OWN_PAGE = "verify.html";
const CONTENT = [
  "README.md", "tasks.jsonl", "openings.jsonl", "runs.jsonl", "results.jsonl", "aggregate.json", "attestation.json",
];
const COHORTS = 4;

const fileShape = record({ bytes: natural, sha256: digest });
const MANIFEST_SHAPE = record({
  format: oneOf("urn:quarterturn:bundle:v1"),
  month: monthName,
  cohort: cohortName,
  origin: anyText,
  canary: guid,
  first: natural,
  files: record(Object.fromEntries(CONTENT.map((name) => [name, fileShape])), { [OWN_PAGE]: fileShape }),
});
const OPENING = record(
  {
    id: taskId,
    salt: digest,
    commitment: digest,
    commit: natural,
    provenance: orNull(anything),
    provenance_salt: orNull(digest),
    canary: guid,
  },
  { variant_key: digest },
);
const TASK = {
  id: taskId,
  server: matching(/^[a-z0-9-]{1,64}$/, "a server's name"),
  category: oneOf("single-tool", "composition", "recovery"),
  difficulty: oneOf("easy", "medium", "hard"),
  max_steps: positive,
};

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
 * @property {string} key the log's key, from whoever asks
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

/** @param {() => Promise<string | null>} step @returns {Promise<{state: string, told: string}>} */
async function attempt(step) {
  try {
    const told = await step();
    return told === null ? { state: "not asked", told: "No older checkpoint was given." } : { state: "proved", told };
  } catch (error) {
    if (error instanceof Pending) return { state: "pending", told: error.message };
    if (error instanceof Cannot) return { state: "cannot tell", told: error.message };
    if (error instanceof No) return { state: "failed", told: error.message };
    throw error;
  }
}

async function files(found) {
  if (!found.names.includes(MANIFEST)) throw new No(`there is no ${MANIFEST}: give the whole folder of a release`);
  const data = await found.read(MANIFEST);
  found.manifest = parseCanonical(data, MANIFEST);
  MANIFEST_SHAPE(found.manifest, MANIFEST);
  found.manifestDigest = hex(await sha256(data));
  const listed = Object.keys(found.manifest.files);
  const strange = found.names.find((name) => name !== MANIFEST && !listed.includes(name) && !name.startsWith("log/"));
  if (strange) throw new No(`the release holds ${JSON.stringify(strange)}, which its manifest does not list`);
  for (const name of listed) await readListed(found, name);
  return `${listed.length} files have the digests of the manifest ${found.manifestDigest}`;
}

/** Read a file that the manifest lists, if its bytes are those. @param {Case} found @param {string} name */
async function readListed(found, name) {
  const [data, says] = [await found.read(name), found.manifest.files[name]];
  if (data.length !== says.bytes) throw new No(`${name} has ${data.length} bytes, the manifest lists ${says.bytes}`);
  const is = hex(await sha256(data));
  if (is !== says.sha256) throw new No(`${name} has the SHA-256 ${is}, the manifest lists ${says.sha256}`);
  return data;
}

async function checkpoint(found) {
  if (!found.key.trim()) throw new No("no key was given; nothing is believed but what the log's key signed");
  found.verifier = await parseKey(found.key);
  const { origin } = found.manifest;
  found.head = await openCheckpoint(await found.read("log/checkpoint"), found.verifier, "log/checkpoint");
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
    const one = await openCheckpoint(await found.read(what), found.verifier, what);
    if (one.size !== size) throw new No(`${what} is a checkpoint of size ${one.size}`);
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

async function commitments(found) {
  found.tasks = await openTasks(found);
  return `${found.tasks.length} tasks open their commitments, byte for byte`;
}

/** Open every task of a release. @param {Case} found @returns {Promise<Task[]>} */
async function openTasks(found) {
  const stated = found.retired.says.tasks;
  const lines = linesOf(await readListed(found, "tasks.jsonl"), "tasks.jsonl");
  const openings = linesOf(await readListed(found, "openings.jsonl"), "openings.jsonl");
  if (lines.length !== stated.length || openings.length !== stated.length) {
    throw new No(`the retire statement names ${stated.length} tasks; tasks.jsonl has ${lines.length}, openings.jsonl ${openings.length}`);
  }
  const tasks = [];
  for (const [place, says] of stated.entries()) {
    const what = `line ${place + 1} of openings.jsonl`;
    const opening = parseCanonical(openings[place], what);
    OPENING(opening, what);
    tasks.push(await openTask(found, says, lines[place], opening, `line ${place + 1} of tasks.jsonl`));
  }
  if (new Set(tasks.map((task) => task.id)).size !== tasks.length) throw new No("a task stands twice in tasks.jsonl");
  return tasks;
}

async function openTask(found, says, line, opening, what) {
  const document = parseCanonical(line, what);
  anything(document, what);
  for (const [key, shape] of Object.entries(TASK)) shape(document[key], `${what}: $.${key}`);
  const { id } = document;
  if (id !== opening.id || id !== says.id) {
    throw new No(`${what} is ${id}, its opening is of ${opening.id}, the retire statement names ${says.id}`);
  }
  const is = hex(await sha256(line));
  if (is !== says.sha256) throw new No(`${id} has the SHA-256 ${is}, the retire statement says ${says.sha256}`);
  const commit = found.history.commitOf(id, found.retired.index);
  if (commit.index !== opening.commit) {
    throw new No(`${id} is committed to at leaf ${commit.index}, its opening says ${opening.commit}`);
  }
  if (commit.digest !== opening.commitment || commit.digest !== says.commitment) {
    throw new No(`${id} has the commitment ${commit.digest} at leaf ${commit.index}, and another in its opening or at its retirement`);
  }
  if (hex(await commitment("commit", line, fromHex(opening.salt))) !== commit.digest) {
    throw new No(`${id} and its salt do not open the commitment ${commit.digest} at leaf ${commit.index}`);
  }
  await requireVariantKey(document, opening);
  await requireProvenance(opening, commit);
  if (opening.canary !== found.manifest.canary) throw new No(`the opening of ${id} bears the canary of another release`);
  const { server, category, difficulty, max_steps: maxSteps } = document;
  return { id, line, opening, category, maxSteps, stratum: `${server}/${category}/${difficulty}` };
}

/** A document names the SHA-256 of its variant key, if it has one, so the key was chosen before any run. */
async function requireVariantKey(document, opening) {
  const shown = opening.variant_key === undefined ? undefined : hex(await sha256(fromHex(opening.variant_key)));
  if (document.variant_key !== shown) throw new No(`${document.id} was committed to with another variant key than its opening gives`);
}

async function requireProvenance({ id, provenance, provenance_salt: salt }, commit) {
  if (provenance === null && salt === null) return;
  if (provenance === null || salt === null) throw new No(`the provenance of ${id} is opened by half`);
  const found = hex(await commitment("provenance", utf8(canonical(provenance)), fromHex(salt)));
  if (found !== commit.says.provenance) throw new No(`the provenance of ${id} does not open the commitment at leaf ${commit.index}`);
}

async function promise(found) {
  const { history, retired, tasks, manifest } = found;
  const members = history.members(manifest.cohort, retired.index);
  const odd = members.findIndex((name, place) => tasks[place]?.id !== name);
  if (odd >= 0 || tasks.length !== members.length) {
    const place = odd >= 0 ? odd : members.length;
    const [is, should] = [tasks[place]?.id ?? "no task", members[place] ?? "no task"];
    throw new No(`task ${place + 1} of ${manifest.cohort} should be ${should}, it is ${is}`);
  }
  requireRefills(history, manifest.cohort);
  await requireRoots(history, manifest.cohort);
  requireQuarter(history.lastSet(retired.index), manifest);
  requireStrata(history, tasks);
  const gone = history.withdrawals.filter(([, cohort]) => cohort === manifest.cohort).length;
  const told = gone ? `; ${gone} were withdrawn` : "";
  return `the ${members.length} retired tasks are the promised ones, in the promised order${told}`;
}

/** Each withdrawal is under the task's commitment, and refilled with the next of a reserve. */
function requireRefills(history, cohort) {
  for (const [entry, name] of history.withdrawals) {
    if (name !== cohort) continue;
    if (entry.digest !== history.commitOf(entry.name, entry.index).digest) {
      throw new No(`leaf ${entry.index} withdraws ${entry.name} under a commitment that is not its own`);
    }
    if (entry.says.replacement !== null) requireNextInReserve(history, entry);
  }
}

function requireNextInReserve(history, { index, says }) {
  const promised = history.lastSet(index);
  const wanted = history.commitOf(says.replacement, promised.index).digest;
  const between = history.of("withdraw").filter((one) => promised.index < one.index && one.index < index);
  const refills = between.map((one) => one.says.replacement).filter((task) => task !== null);
  const known = refills.filter((task) => history.commits.has(task)).map((task) => history.commits.get(task).digest);
  const used = new Set([...between.map((one) => one.digest), ...known]);
  const reserve = Object.values(promised.says.reserve).find((items) => items.includes(wanted));
  const next = reserve?.filter((item) => !used.has(item)).slice(0, 1 + refills.length - known.length);
  if (!next?.includes(wanted)) {
    throw new No(`leaf ${index} refills with ${says.replacement}, which was not next in a reserve of leaf ${promised.index}`);
  }
}

/** Recompute the cohort's root in every set, and the sets' own where all their commits are known. */
async function requireRoots(history, cohort) {
  for (const entry of history.of("set")) {
    const digests = (tasks) => tasks.map((task) => history.commitOf(task, entry.index).digest);
    for (const one of entry.says.cohorts.filter((item) => item.id === cohort)) {
      if ((await setRoot(digests(one.tasks))) !== one.root) throw new No(`leaf ${entry.index} states another root for ${cohort}`);
    }
    const all = entry.says.cohorts.flatMap((item) => item.tasks);
    if (!all.every((task) => history.commits.has(task))) continue;
    if ((await setRoot(digests(all))) !== entry.digest) throw new No(`leaf ${entry.index} states another root for ${entry.name}`);
  }
}

function requireQuarter(promised, { cohort, month }) {
  const item = promised.says.cohorts.find((one) => one.id === cohort);
  if (item?.retires !== month) throw new No(`the set at leaf ${promised.index} does not promise ${cohort} for ${month}`);
  if (Math.abs(COHORTS * item.count - promised.says.count) > COHORTS) {
    throw new No(`${item.count} tasks retire of ${promised.says.count}: that is not a quarter within one task`);
  }
}

/** A refill must be of the stratum whose reserve it stood in. */
function requireStrata(history, tasks) {
  const strata = new Map(tasks.map((task) => [task.opening.commitment, task.stratum]));
  for (const { index, says } of history.of("set")) {
    for (const [name, reserve] of Object.entries(says.reserve)) {
      const odd = reserve.find((item) => (strata.get(item) ?? name) !== name);
      if (odd) throw new No(`the reserve of ${name} at leaf ${index} held a task of ${strata.get(odd)}`);
    }
  }
}

async function order(found) {
  const { cohort } = found.manifest;
  const runs = found.history.of("run-open").filter(({ says }) => says.cohorts.includes(cohort));
  for (const run of runs) requireOrder(found, run);
  return `the commitments stand before each of the ${runs.length} runs that used them, and under its checkpoint`;
}

function requireOrder({ history, retired, manifest }, { index, says }) {
  const who = `run ${says.run} at leaf ${index}`;
  if (index > retired.index) throw new No(`${who} was served ${manifest.cohort} after it retired at leaf ${retired.index}`);
  const promised = history.lastSet(index);
  if (promised.digest !== says.set) throw new No(`${who} names another set than the last one, at leaf ${promised.index}`);
  const covered = says.checkpoint.size;
  if (promised.index >= covered) throw new No(`${who} names a checkpoint of size ${covered}, which does not cover its set`);
  const listed = promised.says.cohorts.map((one) => one.id);
  const odd = says.cohorts.find((name) => !listed.includes(name));
  if (odd) throw new No(`${who} was served ${odd}, which the set at leaf ${promised.index} does not list`);
  for (const task of history.members(manifest.cohort, index)) history.commitOf(task, covered);
}

async function consistency(found) {
  if (!found.previous) return null;
  const kept = await openCheckpoint(found.previous, found.verifier, "the older checkpoint");
  await requireRoot(found.log, kept.size, hex(kept.root), "the older checkpoint");
  return `the tree of ${found.head.size} leaves extends the older checkpoint of size ${kept.size}`;
}

/** @param {Case} found @returns {string[]} the files of the log, without its folder */
const logFiles = (found) => found.names.filter((name) => name.startsWith("log/")).map((name) => name.slice(4));
