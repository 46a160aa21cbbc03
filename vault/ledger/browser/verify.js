// verify.html: a release from a disk, checked without asking anybody anything.

const HOLDS = "this release opens what was promised, fixed before it was used, and its figures follow from it.";
const TITLES = { yes: `Yes: ${HOLDS}`, "yes with doubts": `Yes, with doubts: ${HOLDS}` };
const OTHER_LOG = "That everybody was shown this log: compare its size and its root with what others were shown.";
const YOUR_KEY = "That the key is the operator's: it is the one that you gave.";

/** @param {Release} release @returns {Book} */
function bookOf(release) {
  return {
    log: release.log,
    state: release.state,
    unproved: [OTHER_LOG, YOUR_KEY],
    prove: async (index) => `Leaf ${index} is in it: the whole tree was rebuilt from its leaves.`,
    release: async (retired) => (retired === release.retired ? release : null),
  };
}

/** @param {Report} report @returns {HTMLElement} */
function reportElement({ answer, steps, doubts }) {
  const bad = steps.find(({ ok }) => !ok);
  const title = TITLES[answer] ?? `${answer === "no" ? "No" : "Cannot tell"}, at step ${bad.number}, ${bad.name}`;
  const parts = [element("h2", {}, title), element("ol", {}, ...steps.map(stepElement))];
  const listed = element("ol", { id: "doubts" }, ...doubts.map(doubtElement));
  if (doubts.length) parts.push(element("h3", {}, "Doubts"), listed);
  const unproved = listing([BEFORE_ANY_EYES, MEASURED, NO_CLOCK, OTHER_LOG, YOUR_KEY]);
  const attributes = { class: `answer ${answer.replaceAll(" ", "-")}` };
  return element("div", attributes, ...parts, element("h3", {}, "What this does not prove"), unproved);
}

/** @param {Step} step @returns {HTMLElement} */
function stepElement({ number, name, state, proved, detail, evidence }) {
  const sentence = proved || detail;
  const text = ` \u2013 ${state}${sentence && `: ${sentence}`}`;
  const attributes = { value: String(number), class: state.replaceAll(" ", "-") };
  const lines = evidence ? evidenceLines(evidence).map(evidenceElement) : [];
  return element("li", attributes, element("strong", {}, name), text, ...lines);
}

/** @param {Doubt} doubt @returns {HTMLElement} */
const doubtElement = ({ doubt, evidence }) => element("li", {}, doubt, ...evidenceLines(evidence).map(evidenceElement));

/** @param {string} line @returns {HTMLElement} */
const evidenceElement = (line) => element("div", { class: "evidence" }, line);

/**
 * Read what was dropped, folders included. Chromium refuses its older interface to pages from a disk, and others have
 * only that one.
 * @param {DataTransferItem} item
 * @returns {Promise<[string, File][]>}
 */
async function dropped(item) {
  if (!item.getAsFileSystemHandle) return walkEntry(item.webkitGetAsEntry());
  const handle = await item.getAsFileSystemHandle();
  return walkHandle(handle, handle.name);
}

/** @param {FileSystemHandle} handle @param {string} path @returns {Promise<[string, File][]>} */
async function walkHandle(handle, path) {
  if (handle.kind === "file") return [[path, await handle.getFile()]];
  const found = [];
  for await (const [name, child] of handle.entries()) found.push(...(await walkHandle(child, `${path}/${name}`)));
  return found;
}

/** @param {FileSystemEntry} entry @returns {Promise<[string, File][]>} */
async function walkEntry(entry) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) return [[path, await new Promise((give, fail) => entry.file(give, fail))]];
  const [reader, found] = [entry.createReader(), []];
  for (;;) {
    const some = await new Promise((give, fail) => reader.readEntries(give, fail));
    if (!some.length) return found;
    for (const one of some) found.push(...(await walkEntry(one)));
  }
}

function startVerifier() {
  const [form, shown, question] = [place("release"), place("steps"), place("ask")];
  if (!crypto.subtle) {
    shown.replaceChildren(note(NO_SUBTLE));
    return;
  }
  let [given, book] = [[], null];
  const check = async () => {
    question.hidden = true;
    place("answer").replaceChildren();
    if (!given.length) return;
    shown.replaceChildren(note("Reading and checking…"));
    const [{ key, evidence }, [older, proof]] = [form.elements, fileOf(form, "older", "proof")];
    const checked = await attemptFiles(given, { key: key.value, older, proof, evidence: [...evidence.files] });
    shown.replaceChildren(checked.shown);
    book = checked.book;
    question.hidden = book === null;
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.folder.addEventListener("change", () => {
    given = [...form.elements.folder.files].map((file) => [file.webkitRelativePath || file.name, file]);
    check();
  });
  onDrop(form, async (_, items) => {
    try {
      given = (await Promise.all(items.map(dropped))).flat();
    } catch {
      shown.replaceChildren(note("This browser does not let a page read what was dropped: choose the folder instead."));
      return;
    }
    check();
  });
  form.elements.check.addEventListener("click", check);
  answerQuestions(question, place("answer"), (query) => ask(book, query));
}

/** Give the file that each of these fields has, if any. @returns {(File | undefined)[]} */
const fileOf = (form, ...names) => names.map((name) => form.elements[name].files[0]);

/** @param {[string, File][]} found @param {{key: string, older?: File, proof?: File, evidence: File[]}} given */
async function attemptFiles(found, given) {
  let outcome = null;
  const answer = await answered(async () => {
    outcome = await auditFiles(found, given);
    return null;
  });
  if (!outcome) return { shown: answerElement(answer), book: null };
  const { report, release } = outcome;
  return { shown: reportElement(report), book: TITLES[report.answer] ? bookOf(release) : null };
}

startVerifier();
