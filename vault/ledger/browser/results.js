// Steps 8 to 11 and 13 of a release: runs are opened, and all figures follow from results that were bound in time.

const [README, RUNS, RESULTS] = ["README.md", "runs.jsonl", "results.jsonl"];
const [AGGREGATE, ATTESTATION] = ["aggregate.json", "attestation.json"];
const EVIDENCE = "evidence.jsonl";
const PLACES = 10_000n;
const ONE_IN = 20n; // results that a spot check chooses

/** @typedef {{line: any, run: LoggedRun, counted: any}} OpenedRun a line of runs.jsonl, and its totals as they count */

/** Name the month at which the last of a run's cohorts retires. @param {LoggedRun} run @returns {string} */
const lastMonth = ({ served }) => [...served.keys()].sort().at(-1).slice("cohort-".length);

async function runs(release) {
  const { state, manifest } = release;
  const used = [...state.runs].filter(([, { served }]) => served.has(manifest.cohort)).map(([number]) => number);
  const lines = [...(await listedLines(release, RUNS))];
  const opened = lines.map(({ value }) => value.run);
  agree("opened.runs", `${RUNS}: $.run of all lines`, [...used].sort((a, b) => a - b), opened);
  release.runs = [];
  for (const line of lines) release.runs.push(await openRun(state, line));
  requireAttempts(release);
  const scored = release.runs.filter(({ run }) => isScored(run)).length;
  return `${lines.length} runs used the cohort: ${scored} scored, ${lines.length - scored} aborted`;
}

async function openRun(state, { where, value: line }) {
  const run = state.runs.get(line.run);
  agree("opened.leaves", `${where}: $.open and $.close`, [run.open.index, run.close?.index], [line.open, line.close]);
  const opening = asBytes(line.opening);
  await requireOpens("opened.commitment", "run-open", opening, line.salt, run.open.digest, where);
  const has = [line.totals !== null, line.totals_salt !== null];
  agree("opened.totals", `${where}: $.totals and $.totals_salt`, [isScored(run), isScored(run)], has);
  return { line, run, counted: null };
}

/**
 * Check that each submitter's runs of a month are numbered as they were opened. All runs of the released month are
 * opened with it: theirs have no gap. Of an earlier month those that were served this cohort are opened: theirs rise.
 */
function requireAttempts({ manifest, runs }) {
  const before = new Map();
  for (const { line, run } of runs) {
    const { submitter, attempt } = line.opening;
    const key = JSON.stringify([run.open.says.month, submitter]);
    const [last, isOwn] = [before.get(key) ?? 0, run.open.says.month === manifest.month];
    if (isOwn ? attempt !== last + 1 : attempt <= last) {
      const where = `${RUNS}: $.opening.attempt of run ${line.run}`;
      throw disagreement("opened.attempt", where, isOwn ? last + 1 : `${last + 1} or more`, attempt);
    }
    before.set(key, attempt);
  }
}

async function results(release) {
  const rows = await listedLines(release, RESULTS);
  const scored = release.runs.filter(({ run }) => isScored(run));
  let [row, count] = [rows.next().value, 0];
  for (const opened of scored) {
    const isEmpty = !opened.run.served.get(release.manifest.cohort).length; // all of its tasks were withdrawn before
    const [number, own] = [isEmpty ? opened.line.run : row?.value.run, []];
    agree("result.lines", `${RESULTS}: $.run after ${count} lines`, opened.line.run, number);
    for (; !isEmpty && row?.value.run === number; row = rows.next().value) own.push(row);
    await requireResults(release, opened, own);
    const kept = own.map(({ value }) => value.result).filter(({ task }) => !release.broken.has(task));
    opened.counted = totalsOf(number, release.manifest.cohort, kept);
    count += own.length;
    doubtWithdrawn(release, opened);
  }
  const numbers = scored.map(({ line }) => line.run);
  if (row) throw disagreement("result.lines", `${RESULTS}: $.run`, numbers, row.value.run);
  return `${count} results of ${scored.length} runs were bound in time, and are all there`;
}

async function requireResults(release, { line, run }, rows) {
  const [{ state, manifest }, score] = [release, run.close.says];
  const digests = new Map(run.served.get(manifest.cohort).map((task) => [state.commits.get(task).digest, task]));
  const ordered = [...digests.keys()].sort().map((digest) => digests.get(digest));
  const opened = rows.map(({ value }) => value.result.task);
  agree("result.lines", `${RESULTS}: the tasks of run ${line.run}`, ordered, opened);
  let last = -1;
  for (const { where, value } of rows) {
    requireResult(release, where, value);
    if (value.position <= last)
      throw disagreement("result.lines", `${where}: $.position`, `above ${last}`, value.position);
    last = value.position;
    const bound = await leafHash(await commitment("result", asBytes(value.result), fromHex(value.salt)));
    const top = fromHex(score.results_root);
    try {
      await verifyInclusion(bound, value.position, score.count, value.proof.map(fromHex), top);
    } catch (error) {
      throw error instanceof No ? disagreement("result.bound", where, top, error.message) : error;
    }
  }
  const results = rows.map(({ value }) => value.result);
  const totals = totalsOf(line.run, manifest.cohort, results);
  agree("result.totals", `${RUNS}: $.totals of run ${line.run}`, totals, line.totals);
  const stated = score.totals.find(({ cohort }) => cohort === manifest.cohort).commitment;
  const where = `${RUNS}: run ${line.run}`;
  await requireOpens("result.totals", "totals", asBytes(totals), line.totals_salt, stated, where);
}

function requireResult({ manifest, tasks, withdrawn }, where, { run, result }) {
  agree("result.of", `${where}: $.result.run`, run, result.run);
  agree("result.of", `${where}: $.result.cohort`, manifest.cohort, result.cohort);
  const task = tasks.get(result.task) ?? withdrawn.get(result.task);
  const fields = [result.category, result.max_steps];
  if (task)
    agree("result.of", `${where}: $.result.category and $.result.max_steps`, [task.category, task.maxSteps], fields);
  if (result.passed) {
    agree("result.passed", `${where}: $.result.verdict`, "true", result.verdict);
    if (result.calls > result.max_steps)
      throw disagreement("result.passed", `${where}: $.result.calls`, `0 to ${result.max_steps}`, result.calls);
  }
  if (result.unlisted > result.calls)
    throw disagreement("result.calls", `${where}: $.result.unlisted`, `0 to ${result.calls}`, result.unlisted);
}

/** Show the figures of a run with and without what was withdrawn as broken after it was opened. */
function doubtWithdrawn(release, { line, run, counted }) {
  const served = run.served.get(release.manifest.cohort);
  if (!served.some((task) => release.broken.has(task))) return;
  const where = `the figures of run ${line.run}; the effect on ranks is pending until ${lastMonth(run)}`;
  doubt(release, "doubt.withdrawn", where, { with: figuresOf(line.totals) }, { without: figuresOf(counted) });
}

/** Sum up the results of one run on one cohort; the sum of calls / max_steps over passed tasks is exact. */
function totalsOf(run, cohort, rows) {
  const count = (holds) => rows.filter(holds).length;
  const sum = (key) => rows.reduce((whole, row) => whole + row[key], 0);
  const seen = (row) => row.category === "recovery" && row.saw_error;
  const parts = rows.filter((row) => row.passed).map((row) => [BigInt(row.calls), BigInt(row.max_steps)]);
  return {
    run,
    cohort,
    attempted: rows.length,
    passed: parts.length,
    unknown: count((row) => row.verdict === "unknown"),
    efficiency_sum: parts.reduce(added, [0n, 1n]).join("/"),
    calls: sum("calls"),
    unlisted: sum("unlisted"),
    recovery_seen: count(seen),
    recovery_passed: count((row) => seen(row) && row.passed),
  };
}

const divisor = (one, other) => (other === 0n ? one : divisor(other, one % other));

/** Add two fractions, in lowest terms. */
function added([top, bottom], [more, of]) {
  const [sum, all] = [top * of + more * bottom, bottom * of];
  const common = divisor(sum, all);
  return [sum / common, all / common];
}

/** Write part / whole with four places, half to even; null where nothing can be divided. */
function rate([top, bottom], whole) {
  if (whole === 0) return null;
  const [part, by] = [top * PLACES, bottom * BigInt(whole)];
  const [down, twice] = [part / by, (part % by) * 2n];
  const rounded = twice > by || (twice === by && down % 2n === 1n) ? down + 1n : down;
  return `${rounded / PLACES}.${String(rounded % PLACES).padStart(4, "0")}`;
}

function figuresOf(totals) {
  const whole = (key) => [BigInt(totals[key]), 1n];
  return {
    success_rate: rate(whole("passed"), totals.attempted),
    efficiency: rate(totals.efficiency_sum.split("/").map(BigInt), totals.passed),
    hallucinated_tool_rate: rate(whole("unlisted"), totals.calls),
    recovery_rate: rate(whole("recovery_passed"), totals.recovery_seen),
  };
}

async function figures(release) {
  const { month, cohort } = release.manifest;
  const scored = release.runs.filter(({ counted }) => counted);
  const rows = scored.map(({ line: { run, opening: { submitter, attempt } }, counted }) => {
    return { run, submitter, attempt, totals: counted, figures: figuresOf(counted) };
  });
  const subject = [...release.tasks].map(([name, task]) => ({ name, digest: { sha256: task.sha256 } }));
  const statement = { _type: TABLES.type, subject, predicateType: TABLES.attested, predicate: { month, cohort } };
  await requireSame(release, AGGREGATE, asBytes({ month, cohort, runs: rows }));
  await requireSame(release, ATTESTATION, asBytes(statement));
  await requireSame(release, README, utf8(readme(release.manifest)));
  const without = release.broken.size ? `, without ${release.broken.size} broken tasks` : "";
  return `the figures of ${rows.length} runs on ${cohort} follow from the results${without}`;
}

/** Write the README that a manifest asks for. */
function readme(manifest) {
  const { text, rows, hint } = TABLES.readme;
  const names = [...Object.keys(manifest.files), MANIFEST, "log/"];
  const table = rows.filter(([name]) => names.includes(name)).map(([name, what]) => `| \`${name}\` | ${what} |\n`);
  const fields = { ...manifest, rows: table.join(""), hint: names.includes("verify.html") ? hint : "" };
  return text.replace(/\{\{|\}\}|\{([a-z]+)\}/g, (match, name) => (name ? fields[name] : match[0]));
}

async function requireSame(release, name, expected) {
  const found = await readListed(release, name);
  if (same(found, expected)) return;
  const at = firstDifference(expected, found);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const [wanted, rest] = [expected, found].map((bytes) => decoder.decode(bytes.subarray(at)));
  throw disagreement("figures.files", `${name}: from byte ${at} on`, wanted, rest);
}

/** Check that as many results were chosen to be judged again as the promised seed chooses. */
async function spotCheck(release) {
  const { state, retired, log, manifest } = release;
  const [at, says] = [retired.leaf.index, retired.leaf.says.spot_check];
  if (!says) return [`the set of ${manifest.month} promises no spot check`, "not asked"];
  const isBound = (run) => run.set === retired.set && isScored(run) && run.close.index < at;
  const bound = [...state.runs.values()].filter(isBound);
  const top = await log.tree.root(1 + Math.max(0, ...bound.map(({ close }) => close.index)));
  const tasksOf = ({ served }) => [...served.values()].flat();
  const results = bound.flatMap((run) => tasksOf(run).map((task) => [run.open.says.run, task]));
  let count = 0;
  for (const [run, task] of results) if (await isChosen(fromHex(says.seed), top, run, task)) count += 1;
  const { chosen, judged, differed } = says;
  agree("spot_check.chosen", `leaf ${at}: $.predicate.spot_check.chosen`, count, chosen);
  if (differed) doubt(release, "doubt.differed", `leaf ${at}: $.predicate.spot_check.differed`, 0, differed);
  const left = judged < chosen ? ` and ${chosen - judged} could not be` : "";
  return (
    `the promised seed chooses ${chosen} of the month's ${results.length} results; the operator says ` +
    `that ${judged} were judged again${left}, and that ${differed} came out otherwise`
  );
}

/** Say whether a result is judged again: see `spot_check.py`. */
async function isChosen(seed, top, run, task) {
  const mark = await commitment("spot-check", joined(top, utf8(`\n${run}/${task}`)), seed);
  return BigInt(`0x${hex(mark.subarray(0, 8))}`) * ONE_IN < 1n << 64n;
}

/** Say until when a full score is pending: it needs every cohort of its run. */
async function fullScore(release) {
  const { runs, manifest } = release;
  const last = new Map();
  for (const { run } of runs.filter((opened) => isScored(opened.run))) {
    const { month } = run.open.says;
    last.set(month, [lastMonth(run), last.get(month) ?? ""].sort()[1]);
  }
  const waiting = [...last].filter(([, until]) => until > manifest.month).sort();
  if (!waiting.length) return "no cohort of these runs is private: with earlier releases all is open";
  release.pending = waiting.map(([, until]) => until).sort().at(-1);
  const months = waiting.map(([month, until]) => `${month} pending until ${until}`).join(", ");
  return [`full scores need cohorts that are still private: ${months}`, "pending"];
}
