// Steps 10 to 12 and 14 of a release: runs are closed and opened, and the figures follow from results that were bound.

const RESULT = record({
  run: positive,
  task: taskId,
  cohort: cohortName,
  category: oneOf("single-tool", "composition", "recovery"),
  verdict: oneOf("true", "false", "unknown"),
  passed: boolean,
  calls: natural,
  max_steps: positive,
  unlisted: natural,
  saw_error: boolean,
  skeleton: matching(/^[0-9a-f]{1,128}$/, "an opaque tag in lower-case hexadecimal digits"),
  transcript: orNull(digest),
});
const TOTALS = record({
  run: positive,
  cohort: cohortName,
  attempted: natural,
  passed: natural,
  unknown: natural,
  efficiency_sum: matching(/^(?:0|[1-9][0-9]{0,499})\/[1-9][0-9]{0,499}$/, "an exact fraction such as 7/12"),
  calls: natural,
  unlisted: natural,
  recovery_seen: natural,
  recovery_passed: natural,
});
const RUN_LINE = record({
  run: positive,
  open: natural,
  close: natural,
  opening: record({ submitter: anyText, submission: anyText, attempt: positive }),
  salt: digest,
  totals: orNull(TOTALS),
  totals_salt: orNull(digest),
});
const RESULT_LINE = record({ run: positive, position: natural, result: RESULT, salt: digest, proof: listOf(digest) });

const PLACES = 10_000n;

/** Read the lines of a file as canonical JSON of a shape. */
async function readLines(found, name, shape) {
  return linesOf(await readListed(found, name), name).map((line, place) => {
    const what = `line ${place + 1} of ${name}`;
    const value = parseCanonical(line, what);
    shape(value, what);
    return value;
  });
}

/** Whether a commitment in hex opens to a document. */
const opens = async (label, document, salt, expected) =>
  hex(await commitment(label, utf8(canonical(document)), fromHex(salt))) === expected;

async function runs(found) {
  const { history, retired, manifest } = found;
  for (const [number, open] of history.opened) {
    requireServed(history, number, open);
    requireClosed(history, number, open, retired.index);
  }
  const lines = await readLines(found, "runs.jsonl", RUN_LINE);
  const used = [...history.opened]
    .filter(([, { says }]) => says.cohorts.includes(manifest.cohort))
    .map(([number]) => number);
  used.sort((one, other) => one - other);
  const opened = lines.map((line) => line.run);
  if (opened.join() !== used.join()) {
    throw new No(
      `runs.jsonl opens the runs ${opened.join(", ")}, ` +
        `the log says that ${used.join(", ")} were served ${manifest.cohort}`,
    );
  }
  found.runs = [];
  for (const line of lines) found.runs.push(await openRun(history, line));
  requireAttempts(manifest.month, found.runs);
  const scored = found.runs.filter((run) => run.scored).length;
  return `${lines.length} runs used the cohort: ${scored} scored, ${lines.length - scored} aborted`;
}

/** Check a run's track, month and cohorts against the set that it was opened on. */
function requireServed(history, number, { index, says }) {
  const all = ["docker", "docker-model-gateway", "unofficial"].includes(says.track);
  const who = `run ${number} at leaf ${index} is of`;
  if (!all && says.track !== "endpoint")
    throw new No(`${who} the track ${says.track}, which the log has no runs of`);
  const live = history.live(index).sort();
  if (!live.length) return; // the set before it is not in this release
  const { month } = history.lastSet(index).says;
  if (says.month !== month) throw new No(`${who} ${says.month}, the set before it of ${month}`);
  const served = all ? live : live.slice(0, 1); // by the month in which each retires
  if ([...says.cohorts].sort().join() !== served.join()) {
    throw new No(
      `${who} the track ${says.track}, which was served ${served.join(", ")} then; ` +
        `it names ${says.cohorts.join(", ") || "none"}`,
    );
  }
}

/**
 * Check that each submitter's runs of a month are numbered as they were opened. All runs of the released month are
 * opened with it: theirs have no gap. Of an earlier month those that were served this cohort are opened: theirs rise.
 */
function requireAttempts(released, runs) {
  const last = new Map();
  for (const { line, open } of runs) {
    const { submitter, attempt } = line.opening;
    const key = JSON.stringify([open.says.month, submitter]);
    const before = last.get(key) ?? 0;
    if (open.says.month === released ? attempt !== before + 1 : attempt <= before) {
      throw new No(
        `run ${line.run} is attempt ${attempt} of ${submitter} in ${open.says.month}, after attempt ${before}`,
      );
    }
    last.set(key, attempt);
  }
}

function requireClosed(history, number, open, retiredAt) {
  const close = history.closed.get(number);
  if (!close || close.index > retiredAt) {
    if (open.index > retiredAt) return;
    throw new No(`run ${number}, opened at leaf ${open.index}, has neither score nor abort before leaf ${retiredAt}`);
  }
  if (close.says.month !== open.says.month || (close.says.track ?? open.says.track) !== open.says.track) {
    throw new No(`run ${number} opens and closes in another month or track: leaves ${open.index}, ${close.index}`);
  }
  if (close.kind === "abort" && close.digest !== open.digest) {
    throw new No(`the abort of run ${number} at leaf ${close.index} is not of the run at ${open.index}`);
  }
}

async function openRun(history, line) {
  const [open, close] = [history.opened.get(line.run), history.closed.get(line.run)];
  if (!close || line.open !== open.index || line.close !== close.index) {
    throw new No(`the opening of run ${line.run} names the leaves ${line.open} and ${line.close}, not its own`);
  }
  if (!(await opens("run-open", line.opening, line.salt, open.digest))) {
    throw new No(`the opening of run ${line.run} does not open ${open.digest} at leaf ${open.index}`);
  }
  const scored = close.kind === "score";
  if ((line.totals !== null) !== scored || (line.totals_salt !== null) !== scored) {
    throw new No(`run ${line.run} must open totals exactly if it was scored`);
  }
  return { line, open, close, scored };
}

async function results(found) {
  const rows = await readLines(found, "results.jsonl", RESULT_LINE);
  const scored = found.runs.filter((run) => run.scored);
  const broken = new Set(
    found.history.of("withdraw").flatMap(({ name, says }) => (says.cause === "broken" ? [name] : [])),
  );
  let at = 0;
  for (const run of scored) {
    const end = rows.findIndex((row, place) => place >= at && row.run !== run.line.run);
    const own = rows.slice(at, end < 0 ? rows.length : end);
    await requireResults(found, run, own);
    const left = own.map((row) => row.result).filter((result) => !broken.has(result.task));
    run.counted = totalsOf(run.line.run, found.manifest.cohort, left); // without what was broken
    at += own.length;
  }
  if (at < rows.length)
    throw new No(
      `line ${at + 1} of results.jsonl is of run ${rows[at].run}, which has no score here or stands elsewhere`,
    );
  return `${rows.length} results of ${scored.length} runs were bound in time, are all there, and give the totals`;
}

async function requireResults(found, run, rows) {
  const { history, manifest } = found;
  const {
    line: { run: number },
    open,
    close,
  } = run;
  const cohorts = open.says.cohorts;
  const served = cohorts.reduce((sum, name) => sum + history.members(name, open.index).length, 0);
  if (close.says.count !== served)
    throw new No(`run ${number} was served ${served} tasks, its score binds ${close.says.count} results`);
  const totals = close.says.totals
    .map((item) => item.cohort)
    .sort()
    .join();
  if (totals !== [...cohorts].sort().join())
    throw new No(`the score of run ${number} has not one total for each of its cohorts`);
  const [got, wanted] = [
    rows.map((row) => row.result.task).sort(),
    [...history.members(manifest.cohort, open.index)].sort(),
  ];
  if (got.join() !== wanted.join()) {
    const odd =
      wanted.find((task) => !got.includes(task)) ?? got.find((task) => !wanted.includes(task)) ?? "a task twice";
    throw new No(`run ${number} must open one result for each task of ${manifest.cohort}: see ${odd}`);
  }
  requireTreeOrder(history, number, rows);
  for (const row of rows) await requireResult(found, row, close.says);
  await requireTotals(manifest.cohort, run, rows);
}

function requireTreeOrder(history, number, rows) {
  const places = rows.map((row) => [history.commits.get(row.result.task).digest, row.position]);
  const rising = places.every(
    ([key, at], place) => place === 0 || (places[place - 1][0] < key && places[place - 1][1] < at),
  );
  if (!rising) throw new No(`the results of run ${number} are not in the order of their tasks' commitments`);
}

async function requireResult(
  { tasks, withdrawn, manifest },
  { run, position, result, salt, proof },
  { count, results_root: root },
) {
  const who = `the result of run ${run} on ${result.task}`;
  if (result.run !== run || result.cohort !== manifest.cohort)
    throw new No(`${who} says that it is of run ${result.run} on ${result.cohort}`);
  const task = [...tasks, ...withdrawn].find((one) => one.id === result.task);
  if (task && (result.category !== task.category || result.max_steps !== task.maxSteps)) {
    throw new No(`${who} says ${result.category} with ${result.max_steps} steps, the task says otherwise`);
  }
  if (result.passed && result.verdict !== "true") throw new No(`${who} is passed with the verdict ${result.verdict}`);
  if (result.calls < result.unlisted || (result.passed && result.calls > result.max_steps)) {
    throw new No(
      `${who} is ${result.passed ? "passed" : "failed"} with ${result.calls} calls, ` +
        `${result.unlisted} of them unlisted, of at most ${result.max_steps}`,
    );
  }
  const bound = await commitment("result", utf8(canonical(result)), fromHex(salt));
  try {
    await verifyInclusion(await leafHash(bound), position, count, proof.map(fromHex), fromHex(root));
  } catch (error) {
    throw error instanceof No ? new No(`${who} is not under the results root ${root}: ${error.message}`) : error;
  }
}

async function requireTotals(cohort, { line, close }, rows) {
  const sums = totalsOf(
    line.run,
    cohort,
    rows.map((row) => row.result),
  );
  const odd = Object.keys(sums).find((key) => sums[key] !== line.totals[key]);
  if (odd)
    throw new No(`the results of run ${line.run} give ${odd} = ${sums[odd]}, its totals say ${line.totals[odd]}`);
  const promised = close.says.totals.find((item) => item.cohort === cohort).commitment;
  if (!(await opens("totals", line.totals, line.totals_salt, promised))) {
    throw new No(`the totals of run ${line.run} do not open ${promised} at leaf ${close.index}`);
  }
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
  const found = twice > by || (twice === by && down % 2n === 1n) ? down + 1n : down;
  return `${found / PLACES}.${String(found % PLACES).padStart(4, "0")}`;
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

async function figures(found) {
  const { month, cohort } = found.manifest;
  const rows = found.runs
    .filter((run) => run.scored)
    .map(({ line: { run, opening }, counted }) => ({
      run,
      submitter: opening.submitter,
      attempt: opening.attempt,
      totals: counted,
      figures: figuresOf(counted),
    }));
  await requireSame(found, "aggregate.json", { month, cohort, runs: rows });
  const stated = found.retired.says.tasks;
  await requireSame(found, "attestation.json", {
    _type: TYPE,
    subject: stated.map((task) => ({ name: task.id, digest: { sha256: task.sha256 } })),
    predicateType: "urn:quarterturn:tasks:v1",
    predicate: { month, cohort },
  });
  return `the figures of ${rows.length} runs on ${cohort} are those that follow from the results`;
}

async function requireSame(found, name, document) {
  const [is, expected] = [await readListed(found, name), utf8(canonical(document))];
  if (same(is, expected)) return;
  const at = expected.findIndex((byte, place) => byte !== is[place]);
  throw new No(`${name} differs at byte ${at < 0 ? expected.length : at} from what was opened`);
}

/** A full score needs every cohort of its run. */
async function fullScore(found) {
  const months = found.runs.filter((run) => run.scored).flatMap((run) => run.open.says.cohorts);
  const last = months
    .map((name) => name.slice("cohort-".length))
    .sort()
    .at(-1);
  if (last === undefined || last <= found.manifest.month) return "no cohort of these runs is still private";
  throw new Pending(`full scores need cohorts that are still private, until ${last}`);
}
