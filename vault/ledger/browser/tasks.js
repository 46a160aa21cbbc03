// Step 7 of a release: the tasks are those that were committed to before any run used them.

const [TASKS, WITHDRAWN, OPENINGS, BROKEN] = ["tasks.jsonl", "withdrawn.jsonl", "openings.jsonl", "broken.jsonl"];
const PLACEHOLDER = /\{\{([a-z][a-z0-9_]{0,31})\}\}/g;
const DOUBT_ONE_IN = 20; // more withdrawn tasks than this share of a cohort are a doubt

/** @typedef {{sha256: string, bytes: number, stratum: string, category: string, maxSteps: number}} AuditedTask */

async function tasks(release) {
  await openTasks(release);
  requireReserves(release);
  await requireBroken(release);
  const doubts = doubtShare(release);
  const [{ size }, { withdrawn, broken }] = [release.tasks, release];
  const left = withdrawn.size ? `; ${withdrawn.size} of them were withdrawn` : "";
  const shown = broken.size ? `, ${broken.size} as broken, as is shown` : "";
  return `${size + withdrawn.size} tasks open their commitments, byte for byte${left}${shown}${doubts}`;
}

/** Open every task that retired, or was withdrawn and is due, as `tasks` and `withdrawn`. @param {Release} release */
async function openTasks(release) {
  const { leaf, withdrawals } = release.retired;
  const due = withdrawals.map(({ leaf: { name: id, digest, says } }) => ({ id, commitment: digest, cause: says.cause }));
  const openings = await listedLines(release, OPENINGS);
  const ids = due.map(({ id }) => id);
  requireFile(release, WITHDRAWN, ids);
  [release.tasks, release.withdrawn] = [new Map(), new Map()];
  for (const [name, wanted, opened] of [
    [TASKS, leaf.says.tasks, release.tasks],
    [WITHDRAWN, due, release.withdrawn],
  ]) {
    const lines = wanted === due && !due.length ? [].values() : await listedLines(release, name);
    for (let place = 0; ; place += 1) {
      const [says, { value: line }] = [wanted[place], lines.next()];
      if (!says && !line) break;
      const { value: opening } = openings.next();
      if (!says || !line || !opening) {
        const found = { line: line?.where, opening: opening?.where };
        throw disagreement("task.lines", `${name} and ${OPENINGS}`, says?.id, found);
      }
      opened.set(says.id, await openTask(release, says, line, opening));
    }
  }
  const { value: extra } = openings.next();
  if (extra) throw disagreement("task.lines", extra.where, null, extra.value.id);
}

async function openTask({ state, manifest }, says, { where, line, value: document }, { where: place, value: opened }) {
  for (const [key, form] of Object.entries(TABLES.task)) requireForm(form, document[key], `${where}: $.${key}`);
  agree("task.lines", `${where}: $.id`, says.id, document.id);
  agree("task.lines", `${place}: $.id`, says.id, opened.id);
  const digest = hex(await sha256(line));
  agree("task.bytes", `${where}: sha256`, says.sha256 ?? digest, digest);
  const commit = state.commits.get(document.id);
  agree("task.lines", `${place}: $.commit`, commit.index, opened.commit);
  agree("task.commitment", `${place}: $.commitment`, commit.digest, opened.commitment);
  await requireOpens("task.commitment", "commit", line, opened.salt, commit.digest, where);
  const key = opened.variant_key && (await sha256(fromHex(opened.variant_key)));
  agree("task.variant", `${place}: the sha256 of $.variant_key`, document.variant_key, key);
  agree("task.canary", `${place}: $.canary`, manifest.canary, opened.canary);
  const { provenance, provenance_salt: salt } = opened;
  agree("task.provenance", `${place}: $.provenance_salt`, provenance === null, salt === null);
  if (provenance !== null)
    await requireOpens("task.provenance", "provenance", asBytes(provenance), salt, commit.says.provenance, place);
  const { server, category, difficulty, max_steps: maxSteps } = document;
  const stratum = `${server}/${category}/${difficulty}`;
  const shows = provenance !== null && says.cause === "broken";
  const played = shows ? playedOf(document, provenance, place) : null;
  return { sha256: digest, bytes: line.length, stratum, category, maxSteps, played };
}

/** Give calls and answer of each committed solution, with the first choice of what is free. @returns {any[]} */
function playedOf({ free = {} }, { solutions = [] }, place) {
  const where = `${place}: $.provenance.solutions`;
  requireForm({ "*text": { from: ["text"] } }, free, `${place}: $.free of its task`);
  requireForm(["object"], solutions, where);
  const played = solutions.map(({ calls, answer = null }) => {
    requireForm(["object"], calls, `${where}: $.calls`);
    return [calls.map(({ tool = null, arguments: given = {} }) => ({ tool, arguments: given })), answer];
  });
  const first = (whole, name) => canonical((Object.hasOwn(free, name) && free[name].from[0]) || whole).slice(1, -1);
  return JSON.parse(canonical(played).replace(PLACEHOLDER, first));
}

/** @param {any} document @returns {Uint8Array} its canonical bytes */
const asBytes = (document) => utf8(canonical(document));

/** Check that a payload and its salt (hex) open a commitment (hex). */
async function requireOpens(rule, label, payload, salt, stated, where) {
  agree(rule, `${where}: the commitment`, stated, await commitment(label, payload, fromHex(salt)));
}

/** Check that a file is there if and only if it has something to open. */
function requireFile({ manifest }, name, wanted) {
  const isThere = Object.hasOwn(manifest.files, name);
  if (isThere !== wanted.length > 0) throw disagreement("task.lines", name, wanted, isThere ? name : null);
}

/**
 * Check that each refill came from the stratum of the task that it replaced, if any was left. Also that each set in
 * which an opened task was live names its server.
 */
function requireReserves({ state, retired, ...opened }) {
  const strata = new Map([...opened.tasks, ...opened.withdrawn].map(([id, { stratum }]) => [id, stratum]));
  for (const { index, says } of state.sets) {
    const live = says.cohorts.flatMap((item) => item.tasks).filter((task) => strata.has(task));
    const servers = live.map((task) => strata.get(task).split("/")[0]).sort();
    const missing = servers.find((server) => !Object.hasOwn(says.servers, server));
    if (missing) throw disagreement("set.servers", `leaf ${index}: $.predicate.servers`, missing);
    for (const [stratum, digests] of Object.entries(says.reserve)) {
      for (const digest of digests) {
        const found = strata.get(state.taskOf.get(digest)) ?? stratum;
        agree("task.reserve", `leaf ${index}: $.predicate.reserve`, stratum, found);
      }
    }
  }
  for (const { leaf, reserve } of retired.withdrawals) {
    const found = state.commits.get(leaf.says.replacement)?.digest;
    agree("task.refill", `leaf ${leaf.index}: $.predicate.replacement`, reserve.get(strata.get(leaf.name)), found);
  }
}

/** Check that each task that was withdrawn as broken is shown to be, by a replayable end state. */
async function requireBroken(release) {
  const leaves = release.retired.withdrawals.map(({ leaf }) => leaf);
  const wanted = leaves.filter(({ says }) => says.cause === "broken").map(({ name }) => name);
  requireFile(release, BROKEN, wanted);
  const shown = [];
  for (const { where, value } of wanted.length ? await listedLines(release, BROKEN) : []) {
    agree("task.broken", `${where}: $.verdict`, value.solution === "mutant", value.verdict);
    const { played = null } = release.withdrawn.get(value.task) ?? {};
    if (played) requirePlayed(played, value, where);
    shown.push(value.task);
  }
  agree("task.broken", `${BROKEN}: $.task of all lines`, wanted, shown);
  release.broken = new Set(shown);
}

/** Check that the calls are those of a committed solution; of a mutant, of the first one. */
function requirePlayed(solutions, { solution, calls, answer }, where) {
  const found = [calls, answer];
  const wanted = solution === "mutant" ? solutions.slice(0, 1).map(([own]) => [own, answer]) : solutions;
  if (!wanted.some((item) => canonical(item) === canonical(found)))
    throw disagreement("task.broken", `${where}: $.calls and $.answer`, wanted, found);
}

/** Doubt a cohort of which more than one task in twenty was withdrawn; this comes first. */
function doubtShare(release) {
  const { cohort } = release.manifest;
  const own = release.retired.withdrawals.filter((item) => item.cohort === cohort);
  const count = release.tasks.size + own.filter(({ leaf }) => leaf.says.replacement === null).length;
  if (own.length * DOUBT_ONE_IN <= count) return "";
  const found = Object.fromEntries(own.map(({ leaf }) => [leaf.name, leaf.says.cause]));
  const most = Math.floor(count / DOUBT_ONE_IN);
  doubt(release, "doubt.share", `the withdrawals from ${cohort}`, `0 to ${most}`, found);
  release.doubts.unshift(release.doubts.pop());
  return `; ${own.length} of ${cohort} were withdrawn: see the doubts`;
}
