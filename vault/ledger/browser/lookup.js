// One question (a task's id, a hash, a file) to a log that was read whole, and the answer in plain words: what was
// proven, and what was not.

/**
 * @typedef {object} Book a log that is signed, read whole, and what is published of it
 * @property {Log} log
 * @property {LogState} state
 * @property {(index: number) => Promise<string>} prove says how a leaf was proven to be in the log
 * @property {(retired: Retirement) => Promise<Release | null>} release gives a release; null: it is not here
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
  "unless you kept an older checkpoint. Witnesses' cosignatures, which have times, are not checked here.";

/**
 * Open a book: who signed, and that all leaves give what was signed.
 * @param {Uint8Array} note the checkpoint
 * @param {string} key
 * @param {Read} read
 */
async function openLog(note, key, read) {
  const head = await openCheckpoint(note, await parseKeys(key), "the checkpoint");
  const log = await readLog(head, read);
  return { log, state: await replay(log, "the checkpoint") };
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
    if (error instanceof Cannot || error instanceof Unusable)
      return { verdict: "cannot tell", title: error.message, proved: [], unproved: [] };
    if (error instanceof No)
      return { verdict: "no", title: `No: ${error.message}.`, proved: evidenceLines(error), unproved: [] };
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
  const { state } = book;
  for (const { leaf } of state.retirements) {
    const task = leaf.says.tasks.find((item) => item.sha256 === hash);
    if (task) return ofTask(book, task.id, [...told, `Leaf ${leaf.index} says that this is the hash of ${task.id}.`]);
  }
  const committed = state.taskOf.get(hash);
  if (committed) return ofTask(book, committed, [...told, `The hash is the commitment to ${committed}.`]);
  const leaf = state.entries.find((entry) => holds(entry, hash));
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
  for (const retired of book.state.retirements) {
    const [{ leaf }, release] = [retired, await book.release(retired)];
    const [name] = Object.entries(release?.manifest.files ?? {}).find(([, file]) => file.sha256 === hash) ?? [];
    if (!name) continue;
    const lists = `The manifest of ${leaf.name} lists it, and leaf ${leaf.index} names that manifest.`;
    const proved = [...told, lists, await book.prove(leaf.index)];
    return yes(book, `These are the bytes of ${name} of ${leaf.name}.`, proved, [NO_CLOCK]);
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
  const { state } = book;
  const commit = state.commits.get(id);
  if (!commit) {
    return unknown(`No leaf of this log commits to ${id}.`, [
      ...told,
      `None of its ${book.log.head.size} leaves does: up to this checkpoint it never counted.`,
      "Tasks of the dev set are in no log.",
    ]);
  }
  const { run, stands } = standing(state, commit);
  const proved = [...told, await book.prove(commit.index), ...stands];
  const gone = state.of("withdraw").find((entry) => entry.name === id);
  if (gone) {
    const counts = gone.says.cause === "broken" ? "counts in no figure since" : "is served to no later run";
    proved.push(`It was withdrawn at leaf ${gone.index} and ${counts}: ${gone.says.reason}.`);
  }
  const retired = state.retirements.find(
    ({ leaf, withdrawals }) =>
      leaf.says.tasks.some((task) => task.id === id) || withdrawals.some((item) => item.leaf.name === id),
  );
  if (!retired) return stillPrivate(book, commit, proved);
  const { name, says } = retired.leaf;
  const release = await book.release(retired);
  const month = monthInWords(says.month);
  if (!release) {
    const title = `${id} was committed to in leaf ${commit.index}, and published in ${month}.`;
    return yes(book, title, proved, [`That its text opens the commitment: ${name} is not here.`, NO_CLOCK]);
  }
  await openTasks(release);
  const { bytes } = release.tasks.get(id) ?? release.withdrawn.get(id);
  proved.push(
    `Its text (${bytes} bytes) and its salt, as ${name} publishes them, open the commitment ` +
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
 * Say what a commitment stands before; that it does is a rule of the log.
 * @param {LogState} state
 * @param {Entry} commit
 * @returns {{run: LoggedRun | undefined, stands: string[]}} the first run that was served the task, and sentences
 */
function standing(state, { name: id }) {
  const set = state.sets.find(({ says }) => says.cohorts.some((item) => item.tasks.includes(id)));
  const refill = state.of("withdraw").find(({ says }) => says.replacement === id);
  const run = [...state.runs.values()].find(({ served }) => [...served.values()].flat().includes(id));
  const stands = [];
  if (set) stands.push(`The first set with it is that of ${monthInWords(set.says.month)}, at leaf ${set.index}`);
  if (refill) stands.push(`It took a withdrawn task's place at leaf ${refill.index}`);
  if (run) {
    const { index, says } = run.open;
    const which = `run ${says.run} of ${monthInWords(says.month)}`;
    stands.push(`The first run that was served it is ${which}, opened at leaf ${index}`);
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
