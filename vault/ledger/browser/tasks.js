// Steps 7 to 9 of a release: the tasks are those that were promised, before anybody was measured with them.

const COHORTS = 4;

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
    throw new No(
      `the log names ${stated.length} tasks, tasks.jsonl has ${lines.length}, openings.jsonl ${openings.length}`,
    );
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
    throw new No(
      `${id} has the commitment ${commit.digest} at leaf ${commit.index}, another in its opening or retirement`,
    );
  }
  if (hex(await commitment("commit", line, fromHex(opening.salt))) !== commit.digest) {
    throw new No(`${id} and its salt do not open the commitment ${commit.digest} at leaf ${commit.index}`);
  }
  await requireVariantKey(document, opening);
  await requireProvenance(opening, commit);
  if (opening.canary !== found.manifest.canary)
    throw new No(`the opening of ${id} bears the canary of another release`);
  const { server, category, difficulty, max_steps: maxSteps } = document;
  return { id, line, opening, category, maxSteps, stratum: `${server}/${category}/${difficulty}` };
}

/** A document names the SHA-256 of its variant key, if it has one, so the key was chosen before any run. */
async function requireVariantKey(document, opening) {
  const shown = opening.variant_key === undefined ? undefined : hex(await sha256(fromHex(opening.variant_key)));
  if (document.variant_key !== shown)
    throw new No(`${document.id} was committed to with another variant key than its opening gives`);
}

async function requireProvenance({ id, provenance, provenance_salt: salt }, commit) {
  if (provenance === null && salt === null) return;
  if (provenance === null || salt === null) throw new No(`the provenance of ${id} is opened by half`);
  const found = hex(await commitment("provenance", utf8(canonical(provenance)), fromHex(salt)));
  if (found !== commit.says.provenance)
    throw new No(`the provenance of ${id} does not open the commitment at leaf ${commit.index}`);
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
    throw new No(
      `leaf ${index} refills with ${says.replacement}, which was not next in a reserve of leaf ${promised.index}`,
    );
  }
}

/** Recompute the cohort's root in every set, and the sets' own where all their commits are known. */
async function requireRoots(history, cohort) {
  for (const entry of history.of("set")) {
    const digests = (tasks) => tasks.map((task) => history.commitOf(task, entry.index).digest);
    for (const one of entry.says.cohorts.filter((item) => item.id === cohort)) {
      if ((await setRoot(digests(one.tasks))) !== one.root)
        throw new No(`leaf ${entry.index} states another root for ${cohort}`);
    }
    const all = entry.says.cohorts.flatMap((item) => item.tasks);
    if (!all.every((task) => history.commits.has(task))) continue;
    if ((await setRoot(digests(all))) !== entry.digest)
      throw new No(`leaf ${entry.index} states another root for ${entry.name}`);
  }
}

function requireQuarter(promised, { cohort, month }) {
  const item = promised.says.cohorts.find((one) => one.id === cohort);
  if (item?.retires !== month)
    throw new No(`the set at leaf ${promised.index} does not promise ${cohort} for ${month}`);
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
  if (index > retired.index)
    throw new No(`${who} was served ${manifest.cohort} after it retired at leaf ${retired.index}`);
  const promised = history.lastSet(index);
  if (promised.digest !== says.set)
    throw new No(`${who} names another set than the last one, at leaf ${promised.index}`);
  const covered = says.checkpoint.size;
  if (promised.index >= covered)
    throw new No(`${who} names a checkpoint of size ${covered}, which does not cover its set`);
  const listed = promised.says.cohorts.map((one) => one.id);
  const odd = says.cohorts.find((name) => !listed.includes(name));
  if (odd) throw new No(`${who} was served ${odd}, which the set at leaf ${promised.index} does not list`);
  for (const task of history.members(manifest.cohort, index)) history.commitOf(task, covered);
}
