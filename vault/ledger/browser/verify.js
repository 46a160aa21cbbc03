// verify.html: a release from a disk, checked without asking anybody anything.

const YES = "Yes: this release opens what was promised, fixed before it was used, and its figures follow from it.";
const OTHER_LOG = "That everybody was shown this log: compare its size and its root with what others were shown.";
const YOUR_KEY = "That the key is the operator's: it is the one that you gave.";

/**
 * Name the files of a release as the release names them, wherever its folder lies.
 * @param {[string, File][]} found paths and files
 * @returns {Map<string, File>}
 */
function filesOfRelease(found) {
  const manifests = found.map(([path]) => path).filter((path) => path === MANIFEST || path.endsWith(`/${MANIFEST}`));
  if (manifests.length !== 1) {
    throw new No(
      `there are ${manifests.length} manifests in what was given: give the folder of one release, Historical-YYYY-MM`,
    );
  }
  const prefix = manifests[0].slice(0, -MANIFEST.length);
  const strange = found.find(([path]) => !path.startsWith(prefix));
  if (strange) throw new No(`${JSON.stringify(strange[0])} lies outside the release's folder`);
  return new Map(found.map(([path, file]) => [path.slice(prefix.length), file]));
}

/**
 * Check a release.
 * @param {Map<string, File>} files
 * @param {string} key
 * @param {Uint8Array | null} previous
 */
async function verifyFiles(files, key, previous) {
  const read = async (name) => {
    if (!files.has(name)) throw new No(`${name} is missing`);
    return bytesOf(files.get(name), name);
  };
  const size = (name) => files.get(name).size;
  const found = { names: [...files.keys()].sort(), read, size, key, previous };
  const steps = await checkRelease(found);
  return { steps, found };
}

/** @param {Case} found @returns {Book} */
function bookOf(found) {
  return {
    log: found.log,
    history: found.history,
    unproved: [OTHER_LOG, YOUR_KEY],
    prove: async (index) => `Leaf ${index} is in it: the whole tree was rebuilt from its leaves.`,
    release: async (entry) => (entry.index === found.retired.index ? found : null),
  };
}

/** @param {{number: number, name: string, state: string, told: string}[]} steps @returns {HTMLElement} */
function stepsElement(steps) {
  const bad = steps.find((step) => step.state === "failed" || step.state === "cannot tell");
  const [verdict, word] = { failed: ["no", "No"], "cannot tell": ["cannot-tell", "Cannot tell"] }[bad?.state] ?? [
    "yes",
  ];
  const title = bad ? `${word}, at step ${bad.number}, ${bad.name}` : YES;
  return element(
    "div",
    { class: `answer ${verdict}` },
    element("h2", {}, title),
    element("ol", {}, ...steps.map(stepElement)),
    element("h3", {}, "What this does not prove"),
    listing([BEFORE_ANY_EYES, MEASURED, NO_CLOCK, OTHER_LOG, YOUR_KEY]),
  );
}

function stepElement({ number, name, state, told }) {
  const sentence = told ? `: ${told}` : "";
  return element(
    "li",
    { value: String(number), class: state.replaceAll(" ", "-") },
    element("strong", {}, name),
    ` \u2013 ${state}${sentence}`,
  );
}

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
    const older = form.elements.older.files[0];
    const checked = await attemptFiles(given, form.elements.key.value, older);
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

/** @param {[string, File][]} given @param {string} key @param {File | undefined} older */
async function attemptFiles(given, key, older) {
  let outcome = null;
  const answer = await answered(async () => {
    const previous = older ? await bytesOf(older, older.name) : null;
    outcome = await verifyFiles(filesOfRelease(given), key, previous);
    return null;
  });
  if (!outcome) return { shown: answerElement(answer), book: null };
  const whole = outcome.steps.every(({ state }) => ["proved", "pending", "not asked"].includes(state));
  return { shown: stepsElement(outcome.steps), book: whole ? bookOf(outcome.found) : null };
}

startVerifier();
