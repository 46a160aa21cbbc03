// A release, `Historical-YYYY-MM`, checked as `quarterturn audit` does it: the same steps and rules. Left out are the
// witnesses' cosignatures, for which the audit takes a policy; so there are no doubts about times.

const [MANIFEST, HEAD, KEPT] = ["manifest.json", "log/checkpoint", "log/checkpoints/"];

/**
 * @typedef {object} Release what the steps hand to each other
 * @property {string[]} names its files
 * @property {Read} read reads one of them
 * @property {(name: string) => number} size gives the number of bytes of one of them, which is not read for that
 * @property {Verifier[]} verifiers the log's keys, from whoever asks
 * @property {Uint8Array?} previous a checkpoint that they kept
 * @property {Uint8Array[]?} consistency a proof from the release to a newer one
 * @property {{name: string, data: Uint8Array}[]} evidence files of it
 * @property {Doubt[]} doubts
 * @property {string?} pending
 * @property {any} manifest and its digest in `manifestDigest`
 * @property {Log} log
 * @property {LogState} state
 * @property {Retirement} retired
 * @property {Map<string, AuditedTask>} tasks and `withdrawn`
 * @property {Set<string>} broken tasks that were shown to be
 * @property {OpenedRun[]} runs
 *
 * @typedef {{where: string?, expected: any, found: any}} Disagreement
 * @typedef {{number: number, rule: string, doubt: string, accepted: boolean, evidence: Disagreement}} Doubt
 * @typedef {{number: number, name: string, ok: boolean, state: string, proved: string, detail: string}} Step with
 *   `rule` and `evidence` where it failed
 * @typedef {object} Report of the same names as the command's JSON
 * @property {"yes" | "yes with doubts" | "no" | "cannot tell"} answer
 * @property {boolean} ok
 * @property {Step[]} steps
 * @property {number?} failed
 * @property {Doubt[]} doubts
 * @property {string?} pending
 *
 * @typedef {{name: string, size: number, arrayBuffer: () => Promise<ArrayBuffer>}} Given a file
 */

const MAX_EVIDENCE_BYTES = 64 * 2 ** 20;

/**
 * Audit the files of a release, with what whoever asks has from elsewhere.
 * @param {[string, Given][]} found paths and files
 * @param {{key: string, older?: Given, proof?: Given, evidence?: Given[]}} given
 * @returns {Promise<{release: Release, report: Report}>}
 */
async function auditFiles(found, { key, older, proof, evidence = [] }) {
  const files = filesOfRelease(found);
  const read = async (name) => {
    if (!files.has(name)) throw new No(`${name} is missing`);
    return bytesOf(files.get(name), name);
  };
  const inputs = {
    verifiers: await usable("the key", () => readKeys(key)),
    previous: older ? await usable(older.name, () => readCheckpoint(older)) : null,
    consistency: proof ? await usable(proof.name, () => readConsistency(proof)) : null,
    evidence: await Promise.all(evidence.map((file) => usable(file.name, () => readEvidence(file)))),
  };
  const size = (name) => files.get(name).size;
  const release = { names: [...files.keys()].sort(byCodePoint), read, size, ...inputs };
  return { release, report: await checkRelease(release) };
}

/** Name the files of a release as it does, wherever its folder lies. @param {[string, Given][]} found */
function filesOfRelease(found) {
  const folders = [...new Set(found.map(([path]) => path.slice(0, path.indexOf("/") + 1)))];
  const [folder] = folders.includes("") ? [""] : folders;
  if (folders.length > 1 && folder) throw new Unusable("there are several folders: give one release, Historical-YYYY-MM", 3);
  const files = new Map(found.map(([path, file]) => [path.slice(folder?.length), file]));
  if (files.has(MANIFEST)) return files;
  const what = "is no release folder: there is no manifest.json in it; name one Historical-YYYY-MM";
  throw new Unusable(`${folder?.slice(0, -1) || "what was given"} ${what}`, 3);
}

/** Read what was given; what is wrong with it says nothing of the release. */
async function usable(name, read) {
  try {
    return await read();
  } catch (error) {
    throw error instanceof No ? new Unusable(`${name} cannot be used: ${error.message}`, 2) : error;
  }
}

/** @param {string} text one key a line @returns {Promise<Verifier[]>} */
async function readKeys(text) {
  if (!stripped(text)) throw new No("no key was given; nothing is believed but what the log's key signed");
  return parseKeys(text);
}

/** @param {Given} file @returns {Promise<Uint8Array>} */
async function readCheckpoint(file) {
  const data = await bytesOf(file, file.name);
  const { text, lines } = takeApart(data, file.name);
  parseCheckpoint(text, file.name);
  lines.forEach((line) => parseSignature(line, file.name));
  return data;
}

/** Read a consistency proof as a log's service gives it. @param {Given} file @returns {Promise<Uint8Array[]>} */
async function readConsistency(file) {
  const document = parseJson(await bytesOf(file, file.name), file.name);
  requireForm("object", document, "$");
  requireForm(["text"], document.proof, "$.proof");
  return document.proof.map((part) => fromBase64(part, "$.proof"));
}

/** @param {Given} file */
async function readEvidence(file) {
  if (!file.size || file.size > MAX_EVIDENCE_BYTES)
    throw new No(`it has ${file.size} bytes, and evidence has 1 to ${MAX_EVIDENCE_BYTES}`);
  return { name: file.name, data: await bytesOf(file, file.name) };
}

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
  evidence: checkEvidence,
};

/**
 * Make every step, up to the first that fails.
 * @param {Release} release
 * @returns {Promise<Report>}
 */
async function checkRelease(release) {
  const steps = [];
  Object.assign(release, { doubts: [], pending: null });
  let answer = "yes";
  for (const [name, step] of Object.entries(STEPS)) {
    const outcome = answer === "yes" ? await attempt(() => step(release)) : { ok: false, state: "not reached" };
    steps.push({ number: steps.length + 1, name, ok: true, proved: "", detail: "", ...outcome });
    answer = { failed: "no", "cannot tell": "cannot tell" }[outcome.state] ?? answer;
  }
  if (answer === "yes" && release.doubts.length) answer = "yes with doubts";
  const failed = steps.find(({ state }) => state === "failed")?.number ?? null;
  const doubts = release.doubts.map((item, place) => ({ number: place + 1, ...item }));
  return { answer, ok: answer === "yes", steps, failed, doubts, pending: release.pending };
}

async function attempt(step) {
  try {
    const [proved, state] = [await step()].flat();
    return { state: state ?? "proved", proved };
  } catch (error) {
    if (error instanceof Cannot) return { ok: false, state: "cannot tell", detail: error.message };
    if (!(error instanceof No)) throw error;
    const { message: detail, rule, where, expected, found } = error;
    const isShown = [where, expected, found].some((value) => value !== null);
    return { ok: false, state: "failed", detail, rule, evidence: isShown ? { where, expected, found } : null };
  }
}

/** Note a rule that was not kept, though everything follows from what was logged. @param {Release} release */
function doubt(release, rule, where, expected, found) {
  const evidence = { where, expected: asJson(expected), found: asJson(found) };
  release.doubts.push({ rule, doubt: TABLES.rules[rule], accepted: false, evidence });
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
  return [...some.filter((name) => !right.has(name)), ...others.filter((name) => !left.has(name))].sort(byCodePoint);
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
  release.head = await openCheckpoint(await release.read(HEAD), release.verifiers, HEAD);
  const { origin, size, ignored } = release.head;
  agree("head.origin", `${MANIFEST}: $.origin`, origin, release.manifest.origin);
  const others = ignored.map(quoted).join(", ");
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
  const kept = names.filter((name) => name.startsWith(KEPT));
  for (const name of kept.sort((a, b) => [...a].length - [...b].length)) {
    const older = await openOlder(release, await release.read(name), name);
    agree("head.origin", `${name}: the origin`, release.head.origin, older.origin);
    agree("checkpoint.root", `${name}: the size`, name, `${KEPT}${older.size}`);
    await requireRoot(release, older, name);
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

const OLDER = "the checkpoint that was kept";

async function consistency(release) {
  const { head, previous } = release;
  if (!previous) return ["no checkpoint was given to compare with", "not asked"];
  if (parseCheckpoint(takeApart(previous, OLDER).text, OLDER).size > head.size) return compareNewer(release);
  const older = await openOlder(release, previous, OLDER);
  agree("previous.origin", `${OLDER}: the origin`, head.origin, older.origin);
  if (older.size) await requireRoot(release, older, OLDER);
  return `the tree of ${head.size} leaves extends the older one of ${older.size}`;
}

/** Check that the log's head is the beginning of a newer checkpoint; without a proof that is a doubt. */
async function compareNewer(release) {
  const [{ head, state, consistency: proof }, { size }] = [release, release.head];
  const newer = await openCheckpoint(release.previous, release.verifiers, OLDER);
  agree("previous.origin", `${OLDER}: the origin`, head.origin, newer.origin);
  const former = state.keys.slice(0, -1).map(([, key]) => key);
  const found = former.filter((key) => newer.signers.includes(key));
  agree("head.key", `${OLDER}: the signatures`, [], found);
  if (!proof) {
    const wanted = `0 to ${size}, or a proof that the ${size} leaves begin it (--consistency)`;
    doubt(release, "doubt.newer", `${OLDER}: the size`, wanted, newer.size);
    return [`it is of ${newer.size} leaves, the release of ${size}: see the doubts`, "pending"];
  }
  const heads = [head.root, newer.root];
  if (!(await isConsistent(size, newer.size, ...heads, proof)))
    throw disagreement("previous.proof", `${OLDER}: the consistency proof from ${size} to ${newer.size}`, heads, proof);
  return `the tree of ${size} leaves is the beginning of the newer one of ${newer.size}`;
}

/** Open a checkpoint that is older than the head, signed by the log's key of that time alone. */
async function openOlder({ verifiers, state }, note, where) {
  const wanted = state.keyAt(parseCheckpoint(takeApart(note, where).text, where).size);
  if (!verifiers.some(({ vkey }) => vkey === wanted)) {
    const message = `${where}: at its size the log's key was ${wanted}: give it too (--key)`;
    throw new No(message, { rule: "head.key", where: `${where}: the signatures` });
  }
  const older = await openCheckpoint(note, verifiers, where);
  state.requireKey(older, where);
  return older;
}

/** Give the root of the first leaves, null where there is no such tree. @param {Release} release */
const rootAt = async ({ log }, size) => (size && size <= log.head.size ? log.tree.root(size) : null);

const requireRoot = async (release, { size, root: stated }, where) =>
  agree("checkpoint.root", `${where}: the root at size ${size}`, await rootAt(release, size), stated);
