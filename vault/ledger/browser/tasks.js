// Steps 7 to 9 of a release: the tasks are those that were promised, before anybody was measured with them.

const COHORTS = 4;
const REVIEW_ONE_IN = 20; // more withdrawn tasks than this share of a cohort ask for a review

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
  const tasks = await openTasks(found);
  const count = found.retired.says.tasks.length;
  [found.tasks, found.withdrawn] = [tasks.slice(0, count), tasks.slice(count)];
  const told = found.withdrawn.length ? `; ${found.withdrawn.length} of them left early` : "";
  return `${tasks.length} tasks open their commitments, byte for byte${told}`;
}

/** Open every task of a release, those that left early last. @param {Case} found @returns {Promise<Task[]>} */
async function openTasks(found) {
  const gone = found.history.openedWith(found.retired).map(({ name: id, digest: promised }) => ({
    id,
    commitment: promised,
  }));
  if (Object.hasOwn(found.manifest.files, WITHDRAWN) !== gone.length > 0) {
    throw new No(
      `${WITHDRAWN} opens what was withdrawn; by the log that is ${gone.map((one) => one.id).join(", ") || "none"}`,
    );
  }
  const openings = linesOf(await readListed(found, "openings.jsonl"), "openings.jsonl");
  const tasks = [];
  const files = [["tasks.jsonl", found.retired.says.tasks], ...(gone.length ? [[WITHDRAWN, gone]] : [])];
  for (const [name, stated] of files) {
    const lines = linesOf(await readListed(found, name), name);
    if (lines.length !== stated.length)
      throw new No(`the log names ${stated.length} tasks, ${name} has ${lines.length}`);
    for (const [place, says] of stated.entries()) {
      const what = `line ${tasks.length + 1} of openings.jsonl`;
      if (tasks.length >= openings.length) throw new No(`${what} is missing`);
      const opening = parseCanonical(openings[tasks.length], what);
      OPENING(opening, what);
      tasks.push(await openTask(found, says, lines[place], opening, `line ${place + 1} of ${name}`));
    }
  }
  if (openings.length !== tasks.length) throw new No("openings.jsonl has more lines than there are tasks");
  if (new Set(tasks.map((task) => task.id)).size !== tasks.length) throw new No("a task stands twice in this release");
  return tasks;
}

async function openTask(found, says, line, opening, what) {
  const document = parseCanonical(line, what);
  anything(document, what);
  for (const [key, shape] of Object.entries(TASK)) shape(document[key], `${what}: $.${key}`);
  const { id } = document;
  if (id !== opening.id || id !== says.id) {
    throw new No(`${what} is ${id}, its opening is of ${opening.id}, the log names ${says.id}`);
  }
  const is = hex(await sha256(line));
  if (is !== (says.sha256 ?? is)) throw new No(`${id} has the SHA-256 ${is}, the retire statement says ${says.sha256}`);
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
  const { history, retired, tasks, withdrawn, manifest } = found;
  const members = history.members(manifest.cohort, retired.index);
  const odd = members.findIndex((name, place) => tasks[place]?.id !== name);
  if (odd >= 0 || tasks.length !== members.length) {
    const place = odd >= 0 ? odd : members.length;
    const [is, should] = [tasks[place]?.id ?? "no task", members[place] ?? "no task"];
    throw new No(`task ${place + 1} of ${manifest.cohort} should be ${should}, it is ${is}`);
  }
  requireRefills(history, retired, new Map(withdrawn.map((task) => [task.id, task.stratum])));
  await requireRoots(history, manifest.cohort);
  requireQuarter(history, history.lastSet(retired.index), manifest);
  requireStrata(history, [...tasks, ...withdrawn]);
  const gone = history.withdrawals.filter(([, cohort]) => cohort === manifest.cohort).length;
  const review = gone * REVIEW_ONE_IN > members.length ? "; more than 5 % were withdrawn: review" : "";
  const told = gone ? `; ${gone} were withdrawn${review}` : "";
  return `the ${members.length} retired tasks are the promised ones, in the promised order${told}`;
}

/** Each withdrawal is under the task's commitment, and refilled with the next of its stratum's reserve. */
function requireRefills(history, retired, strata) {
  const served = new Set(history.withdrawals.map(([entry]) => entry.index));
  for (const entry of history.openedWith(retired)) {
    if (entry.digest !== history.commitOf(entry.name, entry.index).digest) {
      throw new No(`leaf ${entry.index} withdraws ${entry.name} under a commitment that is not its own`);
    }
    const refill = entry.says.replacement;
    if (served.has(entry.index)) requireNextInReserve(history, entry, strata.get(entry.name));
    else if (refill !== null)
      throw new No(`leaf ${entry.index} refills with ${refill} for ${entry.name}, which was not being served`);
  }
}

function requireNextInReserve(history, { index, says }, stratum) {
  const promised = history.lastSet(index);
  const between = history.of("withdraw").filter((one) => promised.index < one.index && one.index < index);
  const refills = between.map((one) => one.says.replacement).filter((task) => task !== null);
  const known = refills.filter((task) => history.commits.has(task)).map((task) => history.commits.get(task).digest);
  const used = new Set([...between.map((one) => one.digest), ...known]);
  const reserve = new Map(Object.entries(promised.says.reserve)).get(stratum) ?? [];
  const left = reserve.filter((item) => !used.has(item));
  if (says.replacement === null) {
    if (left.length) {
      throw new No(`leaf ${index} refills with nobody, though the reserve of ${stratum} has ${left.length} left`);
    }
  } else if (history.commitOf(says.replacement, promised.index).digest !== left[0]) {
    throw new No(`leaf ${index} refills with ${says.replacement}, which was not next in the reserve of ${stratum}`);
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

/** A gap that a withdrawal left is counted as the task that was promised. */
function requireQuarter(history, promised, { cohort, month }) {
  const item = promised.says.cohorts.find((one) => one.id === cohort);
  if (item?.retires !== month)
    throw new No(`the set at leaf ${promised.index} does not promise ${cohort} for ${month}`);
  const gaps = promised.says.cohorts.reduce((sum, { id }) => sum + history.gaps(id, promised.index), 0);
  const [own, count] = [item.count + history.gaps(cohort, promised.index), promised.says.count + gaps];
  if (Math.abs(COHORTS * own - count) > COHORTS) {
    throw new No(`${own} tasks retire of ${count}: that is not a quarter within one task`);
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
