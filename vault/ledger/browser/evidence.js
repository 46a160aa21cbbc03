// Step 14 of a release: what is said of a submitter follows from it, as `accusation.py` checks it step by step.

const PARAMETERS = { "*text": { from: ["text"] } };

/** Check every document of evidence: those that were given, and those of the release. @param {Release} release */
async function checkEvidence(release) {
  const { files } = release.manifest;
  const tasks = new Map();
  for (const name of [TASKS, WITHDRAWN].filter((file) => file in files))
    for (const { value } of await listedLines(release, name)) tasks.set(value.id, value);
  const shown = [];
  for await (const { where, value } of documentsOf(release)) {
    try {
      shown.push(`${where}: ${(await checkDocument(release, tasks, value)).join("; ")}`);
    } catch (error) {
      throw error instanceof No ? reworded(error, `${where}: ${error.message}`, where) : error;
    }
  }
  if (!shown.length) return ["there is no evidence to check", "not asked"];
  return `the evidence holds (documents: ${shown.length}). ${shown.join(". ")}`;
}

/** Read one document after the other. @param {Release} release */
async function* documentsOf(release) {
  for (const { name, data } of release.evidence) yield* givenLines(data, name);
  if (EVIDENCE in release.manifest.files) yield* await listedLines(release, EVIDENCE);
}

/** Read the documents of a file, one a line; the last line end may be missing. */
function* givenLines(data, name) {
  const whole = data.at(-1) === 10 ? data : joined(data, Uint8Array.of(10));
  for (let [at, number] = [0, 1]; at < whole.length; number += 1) {
    const [end, where] = [whole.indexOf(10, at), `line ${number} of ${name}`];
    const value = parseCanonical(whole.subarray(at, end), where);
    requireForm(TABLES.forms[EVIDENCE], value, where);
    yield { where, value };
    at = end + 1;
  }
}

async function checkDocument({ state, runs }, tasks, evidence) {
  const [{ task: id, run: number }, { cohort }] = [evidence, evidence.result];
  const [task, run, rule] = [tasks.get(id), state.runs.get(number), "evidence.holds"];
  const refuse = (message, where) => {
    throw new No(message, { rule, where });
  };
  if (!task) refuse(`the release does not open task ${id}: name the release of ${cohort}`, "the evidence: task");
  if (!run || !isScored(run)) refuse(`the log of the release has no score of run ${number}`, "the evidence: run");
  const submitters = new Map(runs.map(({ line }) => [line.run, line.opening.submitter]));
  const recipients = new Map();
  for (const [other, { open, served }] of state.runs) {
    if (!served.get(cohort)?.includes(id)) continue;
    if (!submitters.has(other)) refuse(`the release does not open run ${other}, which was shown the task`, RUNS);
    const pair = [submitters.get(other), open.says.month];
    recipients.set(canonical(pair), pair);
  }
  return checkAccusation(evidence, task, run.open, run.close, [...recipients.values()]);
}

/** Check one document; gives a sentence for each step of the argument. */
async function checkAccusation(evidence, task, opened, score, recipients) {
  const [{ result, run, transcript, opening }, { says }] = [evidence, opened];
  const { month } = says;
  requireEqual("run", run, says.run, score.says.run, result.run);
  requireEqual("task", evidence.task, task.id, result.task);
  await requireOpening("run-open", opening, evidence.opening_salt, opened.digest);
  const proved = [`run ${run} is one of ${opening.submitter} in ${month}`];
  const bound = await leafHash(await commitment("result", asBytes(result), fromHex(evidence.salt)));
  const top = fromHex(score.says.results_root);
  try {
    await verifyInclusion(bound, evidence.position, score.says.count, evidence.proof.map(fromHex), top);
  } catch (error) {
    if (error instanceof No) requireEqual("inclusion proof", error.message, top);
    throw error;
  }
  proved.push(`its result on ${evidence.task} was bound when it ended`);
  await requireOpening("transcript", transcript, evidence.transcript_salt, result.transcript);
  requireEqual("number of calls", result.calls, transcript.attempts.at(-1)?.calls.length ?? 0);
  proved.push(`its transcript was bound with it (calls: ${result.calls})`);
  const [free, who] = [await choicesOf(evidence, task), [opening.submitter, month]];
  const listed = (evidence.recipients ?? []).map(({ submitter, month: of }) => [submitter, of]);
  const sorted = [...recipients].sort((one, other) => byCodePoint(one.join("\0"), other.join("\0")));
  requireEqual("recipients", listed, evidence.recipients ? sorted : []);
  const own = recipients.filter((other) => canonical(other) === canonical(who));
  requireEqual("place of its submitter among the recipients", [who], own);
  const values = new Map();
  for (const other of recipients) values.set(canonical(other), await valuesOf(evidence, free, other));
  const mine = values.get(canonical(who));
  const parts = Object.entries(task).filter(([name]) => !["free", "variant_key"].includes(name));
  const served = filled(Object.fromEntries(parts), mine);
  requireEqual("SHA-256 of the task as it was served", transcript.served, hex(await sha256(asBytes(served))));
  requireEqual("goal", transcript.goal, served.goal);
  if (evidence.variant_key === undefined) return [...proved, "the task was served alike to everybody"];
  const others = [...values.values()].filter((shown) => canonical(shown) === canonical(mine)).length - 1;
  const variant = `it was served the variant of ${who[0]} in ${month}, which is that of ${others} other recipients`;
  return [...proved, variant];
}

/** Give the choices of a task, whose variant key the evidence has to name. */
async function choicesOf(evidence, task) {
  const { free: parameters = {} } = task;
  requireForm(PARAMETERS, parameters, "the task: $.free");
  const free = Object.entries(parameters).map(([name, choice]) => [name, choice.from]);
  requireEqual("list of choices", free.filter(([, choices]) => !choices.length).map(([name]) => name).sort(), []);
  const [isVaried, isListed] = ["variant_key", "recipients"].map((name) => name in evidence);
  requireEqual("variant key's presence", isVaried, isListed, "variant_key" in task);
  if (isVaried)
    requireEqual("SHA-256 of the variant key", hex(await sha256(fromHex(evidence.variant_key))), task.variant_key);
  return free;
}

/** Give the choices that a recipient was shown: see `variant.py`. */
async function valuesOf({ variant_key: key }, free, [submitter, month]) {
  if (key === undefined) return Object.fromEntries(free.map(([name, [first]]) => [name, first]));
  const seed = await hmac(fromHex(key), utf8(`quarterturn/variant/v1\n${month}\n${submitter}`));
  const rows = free.map(async ([name, choices]) => [name, choices[await below(choices.length, seed, name)]]);
  return Object.fromEntries(await Promise.all(rows));
}

/** Draw a number below n, each equally likely. */
async function below(n, seed, name) {
  const limit = 2n ** 256n - (2n ** 256n % BigInt(n));
  for (let attempt = 0; ; attempt += 1) {
    const counter = Uint8Array.of(attempt >> 24, attempt >> 16, attempt >> 8, attempt);
    const number = BigInt(`0x${hex(await hmac(seed, joined(counter, utf8(name))))}`);
    if (number < limit) return Number(number % BigInt(n));
  }
}

/** Put values in for the placeholders of any JSON value; others stay. */
function filled(value, values) {
  if (typeof value === "string")
    return value.replace(PLACEHOLDER, (match, name) => (Object.hasOwn(values, name) ? values[name] : match));
  if (Array.isArray(value)) return value.map((part) => filled(part, values));
  if (!isObject(value)) return value;
  const parts = new Map(Object.entries(value).map(([key, part]) => [filled(key, values), filled(part, values)]));
  if (parts.size < Object.keys(value).length)
    throw new No("A value for a free parameter makes two keys of an object the same.");
  return Object.fromEntries(parts);
}

const requireOpening = async (label, payload, salt, expected) =>
  requireEqual(`${label} commitment`, hex(await commitment(label, asBytes(payload), fromHex(salt))), expected);

/** @param {string} what @param {any} found @param {...any} expected */
function requireEqual(what, found, ...expected) {
  for (const value of expected)
    if (canonical(asJson(value)) !== canonical(asJson(found))) {
      const message = `the evidence does not hold: its ${what} differs`;
      throw new No(message, { rule: "evidence.holds", where: `the evidence: ${what}`, expected: value, found });
    }
}
