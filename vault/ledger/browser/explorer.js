// The explorer: it asks the service's public routes for the log, and checks everything that it is given.

const OTHERS = "That everybody is shown this log: compare its size and its root with what others were shown.";
const KEY_FROM_HERE =
  "That the key is the operator's: it came with this page. Put in one that you have from elsewhere.";
const CODE_FROM_HERE =
  "That this page is honest: its script came from the service. verify.html does the same from your disk.";

/** @param {string} path @param {RequestCache} cache @returns {Promise<Uint8Array>} */
async function fetched(path, cache = "default") {
  let answer;
  try {
    answer = await fetch(path, { cache });
  } catch {
    throw new Cannot("The service does not answer, so nothing could be checked.");
  }
  if (!answer.ok)
    throw new Cannot(`The service does not give ${path} (status ${answer.status}), so nothing could be checked.`);
  return new Uint8Array(await answer.arrayBuffer());
}

/**
 * Open the service's log as a book.
 * @param {Uint8Array} note
 * @param {string} key
 * @param {boolean} isServed whether the key came with the page
 * @returns {Promise<Book>}
 */
async function openService(note, key, isServed) {
  const { log, state } = await openLog(note, key, (path) => fetched(`/log/${path}`));
  const unproved = [OTHERS, ...(isServed ? [KEY_FROM_HERE] : []), CODE_FROM_HERE];
  return {
    log,
    state,
    unproved,
    prove: (index) => proveByProof(log, index),
    release: (retired) => published(state, retired),
  };
}

/** @param {Log} log @param {number} index @returns {Promise<string>} */
async function proveByProof({ head, tree }, index) {
  const what = `the proof of leaf ${index}`;
  const answer = parseJson(await fetched(`/log/proof/inclusion?index=${index}&size=${head.size}`), what);
  requireForm("object", answer, what);
  requireForm(["text"], answer.proof, `${what}.proof`); // what else the service says of it is not needed
  const proof = answer.proof.map((part) => fromBase64(part, what));
  await verifyInclusion(tree.levels[0][index], index, head.size, proof, head.root);
  return `Leaf ${index} is in it: its inclusion proof of ${proof.length} hashes (RFC 9162) leads to that root.`;
}

/** Give a release whose manifest is the one that the log names. @param {LogState} state @param {Retirement} retired */
async function published(state, retired) {
  const { name, digest } = retired.leaf;
  const release = { state, retired, read: (file) => fetched(`/releases/${name}/files/${file}`) };
  const data = await release.read(MANIFEST);
  const found = await sha256(data);
  agree("retirement.one", `${name}: sha256 of ${MANIFEST}`, digest, found);
  readManifest(release, data, found);
  return release;
}

function startExplorer() {
  const [form, shown] = [place("ask"), place("answer")];
  if (!crypto.subtle) {
    shown.replaceChildren(note(NO_SUBTLE));
    return;
  }
  const { key } = form.elements;
  let [known, kept] = ["", null];
  const book = async () => {
    const note = await fetched("/log/checkpoint", "no-cache");
    const version = `${key.value} ${hex(note)}`;
    if (version !== known)
      [kept, known] = [await openService(note, key.value, key.value === key.defaultValue), version];
    return kept;
  };
  form.hidden = false;
  answerQuestions(form, shown, async (query) => ask(await book(), query));
  keepInAddress(form, shown);
}

/**
 * Keep the question in the page's address, so that it can be sent to somebody and be gone back to. A file is not in it,
 * and the key never is: a link could bring one of its own.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} shown
 */
function keepInAddress(form, shown) {
  const inAddress = () => new URLSearchParams(location.search).get("q") ?? "";
  let held = "";
  const write = (question) => {
    held = question;
    if (question === inAddress()) return;
    const address = new URL(location.href);
    address.search = question && new URLSearchParams({ q: question }).toString();
    history.pushState(null, "", address);
  };
  const read = () => {
    if (inAddress() === held) return; // a place within the page is another address, too
    held = inAddress();
    form.elements.q.value = held;
    if (held) form.requestSubmit();
    else shown.replaceChildren();
  };
  form.addEventListener("submit", () => write(form.elements.q.value.trim()));
  form.elements.file.addEventListener("change", () => write(""));
  form.addEventListener("drop", () => write(""));
  addEventListener("popstate", read);
  read();
}

startExplorer();
