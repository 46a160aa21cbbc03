// The log's leaves: in-toto Statements in canonical bytes, of exactly these kinds and shapes.

const TYPE = "https://in-toto.io/Statement/v1";
const [HMAC, SHA] = ["hmac-sha256", "sha256"];
const word = matching(/^[a-z0-9][a-z0-9-]{0,63}$/, "a word of small letters, digits and hyphens");
const runName = matching(/^run\/[1-9][0-9]*$/, "run/ and a number");
const verifierKey = matching(/^[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+$/, "a verifier key");
const signature = matching(/^[A-Za-z0-9+/]{85}[AQgw]==$/, "the 64 bytes of a signature in base64");
const stratum = matching(/^[a-z0-9-]+\/[a-z0-9-]+\/[a-z]+$/, "a stratum as server/category/difficulty");
const serverName = matching(/^[a-z0-9-]+$/, "a server's name: small letters, digits and hyphens");
const duration = matching(/^P[1-9][0-9]{0,2}[WMY]$/, "a duration in weeks, months or years, such as P4M");
const version = matching(/^(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}$/, "a version such as 1.0.0");

/** kind: the shape of its subject's name, the algorithm of its digest, the shape of its predicate */
const KINDS = {
  commit: [taskId, HMAC, record({ spec: version, provenance: digest, public_grammar: boolean })],
  set: [
    matching(/^set\/[0-9]{4}-(?:0[1-9]|1[0-2])$/, "set/ and a month"),
    SHA,
    record(
      {
        month: monthName,
        previous: orNull(natural),
        count: natural,
        cohorts: listOf(
          record({ id: cohortName, retires: monthName, count: natural, root: digest, tasks: listOf(taskId) }),
        ),
        reserve: mappingOf(stratum, listOf(digest)),
        counts: record({ unseen: natural, seen: natural }),
        next_draw: digest,
        public_grammar: boolean,
        plan: record({ cohorts: positive, lifetime: duration }),
        servers: mappingOf(serverName, digest),
      },
      {
        month_key: digest,
        access_log: record({ entries: natural, commitment: digest }),
        spot_check: digest,
        judge: record({ anchors: digest, parameters: digest, rubric: digest }),
      },
    ),
  ],
  "run-open": [
    runName,
    HMAC,
    record(
      {
        run: positive,
        month: monthName,
        track: word,
        set: digest,
        cohorts: listOf(cohortName),
        checkpoint: record({ size: positive, root: digest }),
      },
      { judge: digest },
    ),
  ],
  score: [
    runName,
    SHA,
    record({
      run: positive,
      month: monthName,
      track: word,
      count: positive,
      results_root: digest,
      totals: listOf(record({ cohort: cohortName, commitment: digest })),
    }),
  ],
  abort: [runName, HMAC, record({ run: positive, month: monthName, reason: word })],
  retire: [
    matching(/^Historical-[0-9]{4}-(?:0[1-9]|1[0-2])$/, "Historical- and a month"),
    SHA,
    record(
      {
        month: monthName,
        cohort: cohortName,
        tasks: listOf(record({ id: taskId, commitment: digest, sha256: digest })),
      },
      {
        spot_check: record({ seed: digest, salt: digest, chosen: natural, judged: natural, differed: natural }),
        draw_seeds: someOf(record({ set: natural, seed: digest, salt: digest })),
      },
    ),
  ],
  withdraw: [
    taskId,
    HMAC,
    record({ month: monthName, cause: oneOf("leak", "broken"), reason: anyText, replacement: orNull(taskId) }),
  ],
  key: [
    anyText,
    SHA,
    record({
      old: verifierKey,
      new: verifierKey,
      size: natural,
      signatures: record({ old: signature, new: signature }),
    }),
  ],
};

const ENVELOPE = record({
  _type: oneOf(TYPE),
  subject: listOf(anything),
  predicateType: oneOf(...Object.keys(KINDS).map((kind) => `urn:quarterturn:${kind}:v1`)),
  predicate: anything,
});

/**
 * @typedef {{index: number, kind: string, name: string, digest: string, says: any}} Entry
 *   a statement: its place in the log, its kind, its subject's name and digest (hex), its predicate
 */

/**
 * Read a leaf.
 * @param {Uint8Array} leaf
 * @param {number} index
 * @returns {Entry}
 */
function parseLeaf(leaf, index) {
  const what = `leaf ${index}`;
  const found = parseCanonical(leaf, what);
  ENVELOPE(found, what);
  if (found.subject.length !== 1) throw new No(`${what}.subject must be a list of exactly one item`);
  const kind = found.predicateType.split(":")[2];
  const [name, algorithm, predicate] = KINDS[kind];
  record({ name, digest: record({ [algorithm]: digest }) })(found.subject[0], `${what}.subject[0]`);
  predicate(found.predicate, `${what}.predicate`);
  const subject = found.subject[0];
  const entry = { index, kind, name: subject.name, digest: subject.digest[algorithm], says: found.predicate };
  requireAgreement(entry, what);
  return entry;
}

/** A subject and a predicate must speak of the same thing. @param {Entry} entry @param {string} what */
function requireAgreement({ kind, name, digest: stated, says }, what) {
  const run = `run/${says.run}`;
  const expected = {
    set: `set/${says.month}`,
    "run-open": run,
    score: run,
    abort: run,
    retire: `Historical-${says.month}`,
  };
  if (name !== (expected[kind] ?? name)) throw new No(`${what}.subject[0].name must be ${expected[kind]}`);
  if (kind === "score" && stated !== says.results_root) throw new No(`${what}: its digest must be its results_root`);
  if (kind !== "set") return;
  const odd = says.cohorts.findIndex((one) => one.count !== one.tasks.length || one.id !== `cohort-${one.retires}`);
  if (odd >= 0) throw new No(`${what}.predicate.cohorts[${odd}] must count its tasks and be named after its month`);
  const listed = says.cohorts.flatMap((one) => one.tasks);
  if (new Set(listed).size !== listed.length || says.count !== listed.length) {
    throw new No(`${what}.predicate.count must be the number of tasks, each in one cohort`);
  }
}
