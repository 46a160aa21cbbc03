// One question (a task's id, a hash, a file) to a log that was read whole, and the answer in plain words: what was
// proven, and what was not.

/**
 * @typedef {object} Book a log that is signed, read whole, and what is published of it
 * @property {Log} log
 * @property {History} history
 * @property {(index: number) => Promise<string>} prove says how a leaf was proven to be in the log
 * @property {(retired: Entry) => Promise<Case | null>} release gives a release, with its manifest; null: it is not here
 * @property {string[]} unproved what this page proves of no answer
 *
 * @typedef {object} Answer
 * @property {"yes" | "no" | "unknown" | "cannot tell"} verdict
 * @property {string} title
 * @property {string[]} proved
 * @property {string[]} unproved
 */

const BEFORE_ANY_EYES = "That nobody had seen the task before it was published, or that every run of it is in the log.";
const MEASURED =
  "That agents were measured honestly: a log shows that results were fixed in time, not that they were measured " +
  "well; a spot check is judged by the operator's own machine.";
const NO_CLOCK =
  "When. That one leaf stands before another is proven; a log has no clock, and its months are the operator's word, " +
  "unless you kept an older checkpoint.";

/**
 * Open a book: who signed, and that all leaves give what was signed.
 * @param {Uint8Array} note the checkpoint
 * @param {string} key
 * @param {Read} read
 */
async function openLog(note, key, read) {
  const head = await openCheckpoint(note, await parseKeys(key), "the checkpoint");
  const log = await readLog(head, read);
  const history = new History(log.leaves.map(parseLeaf));
  (await Reigns.read(history, head)).require(head, "the checkpoint");
  return { log, history };
}

/**
 * Answer; what is wrong becomes the answer no, and says where.
 * @param {Book} book
 * @param {string | Uint8Array} query an id or a hash, or the bytes of a file
 * @returns {Promise<Answer>}
 */
async function ask(book, query) {
  return answered(async () => {
    if (query instanceof Uint8Array) return ofFile(book, query);
    const text = query.trim();
    const hash = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text)?.[1].toLowerCase();
    if (/^t-[a-z2-7]{16}$/.test(text)) return ofTask(book, text, []);
    if (hash) return ofHash(book, hash, []);
    return unknown("That is neither a task's id nor a hash.", [
      "An id is t- and 16 letters or digits; a SHA-256 has 64 digits of 0 to 9 and a to f.",
    ]);
  });
}

/** @param {() => Promise<Answer>} find @returns {Promise<Answer>} */
async function answered(find) {
  try {
    return await find();
  } catch (error) {
    if (error instanceof Cannot) return { verdict: "cannot tell", title: error.message, proved: [], unproved: [] };
    if (error instanceof No) return { verdict: "no", title: `No: ${error.message}.`, proved: [], unproved: [] };
    reportError(error); // a mistake of ours: into the console with it
    return {
      verdict: "cannot tell",
      title: `This page failed (${error.message}), so nothing is proven.`,
      proved: [],
      unproved: [],
    };
  }
}

/** @param {string} title @param {string[]} proved @returns {Answer} */
const unknown = (title, proved) => ({ verdict: "unknown", title, proved, unproved: [] });

async function ofFile(book, data) {
  const hash = hex(await sha256(data));
  const found = await ofHash(book, hash, [`The file has ${data.length} bytes; their SHA-256 is ${hash}.`]);
  const other = found.verdict === "unknown" ? rewritten(data) : null;
  if (!other) return found;
  const again = await ofHash(book, hex(await sha256(other)), []);
  if (again.verdict === "unknown") return found;
  const differs =
    "The file itself was not committed to. It says the same as what was, in other bytes (spaces, line ends, the " +
    "order of keys); this is about those.";
  return { ...again, proved: [differs, ...again.proved] };
}

/** Give the canonical bytes of JSON in other bytes. @param {Uint8Array} data @returns {Uint8Array | null} */
function rewritten(data) {
  try {
    const found = data.length > MAX_LINE ? null : utf8(canonical(parseJson(data, "the file")));
    return found && !same(found, data) ? found : null;
  } catch (error) {
    if (error instanceof No) return null; // it is no JSON
    throw error;
  }
}

async function ofHash(book, hash, told) {
  for (const entry of book.history.of("retire")) {
    const task = entry.says.tasks.find((one) => one.sha256 === hash);
    if (task) return ofTask(book, task.id, [...told, `Leaf ${entry.index} says that this is the hash of ${task.id}.`]);
  }
  const commit = book.history.of("commit").find((entry) => entry.digest === hash);
  if (commit) return ofTask(book, commit.name, [...told, `The hash is the commitment to ${commit.name}.`]);
  const leaf = book.history.entries.find((entry) => holds(entry, hash));
  if (leaf) return ofLeaf(book, leaf, hash, told);
  return (await inReleases(book, hash, told)) ?? nowhere(book, told);
}

const holds = (entry, hash) => entry.digest === hash || canonical(entry.says).includes(`"${hash}"`);

const SUBJECTS = {
  set: "the root over all tasks that counted",
  "run-open": "the salted commitment that the run was opened with",
  score: "the root over the run's results",
  retire: "the manifest of the release",
  key: "the new key",
};

async function ofLeaf(book, entry, hash, told) {
  const what = entry.digest === hash ? (SUBJECTS[entry.kind] ?? "its subject") : "one of the figures that it states";
  const proved = [...told, `Leaf ${entry.index} is the statement ${entry.kind} of ${entry.name}; the hash is ${what}.`];
  return yes(book, `Leaf ${entry.index} states this hash.`, [...proved, await book.prove(entry.index)], [NO_CLOCK]);
}

async function inReleases(book, hash, told) {
  for (const entry of book.history.of("retire")) {
    const release = await book.release(entry);
    const name =
      release && Object.keys(release.manifest.files).find((one) => release.manifest.files[one].sha256 === hash);
    if (!name) continue;
    const lists = `The manifest of ${entry.name} lists it, and leaf ${entry.index} names that manifest.`;
    return yes(
      book,
      `These are the bytes of ${name} of ${entry.name}.`,
      [...told, lists, await book.prove(entry.index)],
      [NO_CLOCK],
    );
  }
  return null;
}

const nowhere = (book, told) =>
  unknown("Nothing in this log has this hash.", [
    ...told,
    `None of its ${book.log.head.size} leaves states it, and no manifest of a release that is here lists it.`,
    "This says nothing about tasks that are still private: commitments are salted, so no hash of a text finds them.",
  ]);

async function ofTask(book, id, told) {
  const commit = book.history.commits.get(id);
  if (!commit) {
    return unknown(`No leaf of this log commits to ${id}.`, [
      ...told,
      `None of its ${book.log.head.size} leaves does: up to this checkpoint it never counted.`,
      "Tasks of the dev set are in no log.",
    ]);
  }
  const { run, stands } = standing(book.history, commit);
  const proved = [...told, await book.prove(commit.index), ...stands];
  const gone = book.history.of("withdraw").find((entry) => entry.name === id);
  if (gone) {
    const counts = gone.says.cause === "broken" ? "counts in no figure since" : "is served to no later run";
    proved.push(`It was withdrawn at leaf ${gone.index} and ${counts}: ${gone.says.reason}.`);
  }
  const opens = (entry) =>
    entry.says.tasks.some((task) => task.id === id) || book.history.openedWith(entry).some((one) => one.name === id);
  const retired = book.history.of("retire").find(opens);
  if (!retired) return stillPrivate(book, commit, proved);
  const release = await book.release(retired);
  const month = monthInWords(retired.says.month);
  if (!release) {
    const title = `${id} was committed to in leaf ${commit.index}, and published in ${month}.`;
    return yes(book, title, proved, [`That its text opens the commitment: ${retired.name} is not here.`, NO_CLOCK]);
  }
  const task = (await openTasks(release)).find((one) => one.id === id);
  proved.push(
    `Its text (${task.line.length} bytes) and its salt, as ${retired.name} publishes them, open the commitment ` +
      `${commit.digest} in leaf ${commit.index}: not a byte of it has changed since.`,
  );
  const runs = run ? "before its first run" : "used by no run";
  const title = `The text of ${id} was fixed in leaf ${commit.index}, ${runs}, and published in ${month}.`;
  return yes(book, title, proved, [BEFORE_ANY_EYES, MEASURED, NO_CLOCK]);
}

function stillPrivate(book, commit, proved) {
  const state = "Its cohort has not retired.";
  const title = `${commit.name} was committed to in leaf ${commit.index}; its text is not published.`;
  return yes(book, title, [...proved, state], ["What its text is: that opens with its cohort.", NO_CLOCK]);
}

/**
 * Say what a commitment stands before.
 * @param {History} history
 * @param {Entry} commit
 * @returns {{run: Entry | undefined, stands: string[]}} the first run that was served the task, and sentences
 */
function standing(history, { name: id, index }) {
  const set = history.of("set").find(({ says }) => says.cohorts.some((one) => one.tasks.includes(id)));
  const refill = history.of("withdraw").find(({ says }) => says.replacement === id);
  const serves = ({ index: at, says }) => says.cohorts.some((cohort) => history.members(cohort, at).includes(id));
  const run = history.of("run-open").find(serves);
  const stands = [];
  if (set) stands.push(`The first set with it is that of ${monthInWords(set.says.month)}, at leaf ${set.index}`);
  if (refill) stands.push(`It took a withdrawn task's place at leaf ${refill.index}`);
  if (run)
    stands.push(
      `The first run that was served it is run ${run.says.run} of ${monthInWords(run.says.month)}, ` +
        `opened at leaf ${run.index}`,
    );
  for (const later of [set, refill, run]) {
    if (later?.index < index)
      throw new No(`${id} was used at leaf ${later.index} and committed to only at leaf ${index}`);
  }
  if (!stands.length) return { run, stands: ["No set and no run had it yet."] };
  return { run, stands: stands.map((sentence) => `${sentence}: after the commitment.`) };
}

/** @param {Book} book @param {string} title @param {string[]} proved @param {string[]} unproved @returns {Answer} */
function yes(book, title, proved, unproved) {
  const { size, by, root: signedRoot } = book.log.head;
  const signed =
    `The key ${by} signed a log of ${size} leaves; all of them were read here, and they give the root that it ` +
    `signed, ${hex(signedRoot)}.`;
  return { verdict: "yes", title, proved: [signed, ...proved], unproved: [...unproved, ...book.unproved] };
}

/** @param {string} month YYYY-MM @returns {string} */
function monthInWords(month) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1)).toLocaleString("en", { month: "long", year: "numeric", timeZone: "UTC" });
}
