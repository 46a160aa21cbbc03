// What both pages show: an answer, as text and never as markup.

const NO_SUBTLE =
  "Browsers give WebCrypto to pages over https, on localhost and from files only, and this page came another way, so " +
  "nothing can be checked in it: open verify.html from your disk, or run `quarterturn audit` on a release.";

/**
 * Make an element.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** @param {string} id @returns {HTMLElement} */
const place = (id) => document.getElementById(id);

/** @param {string[]} sentences @returns {HTMLElement} */
const listing = (sentences) => element("ul", {}, ...sentences.map((sentence) => element("li", {}, sentence)));

/** @param {Answer} answer @returns {HTMLElement} */
function answerElement({ verdict, title, proved, unproved }) {
  const made = element("div", { class: `answer ${verdict.replace(" ", "-")}` }, element("h2", {}, title));
  const head = verdict === "yes" ? "What was proven" : "What was looked at";
  if (proved.length) made.append(element("h3", {}, head), listing(proved));
  if (unproved.length) made.append(element("h3", {}, "What was not"), listing(unproved));
  return made;
}

/** @param {string} sentence @returns {HTMLElement} */
const note = (sentence) => element("p", { class: "note" }, sentence);

/**
 * Take a question from a form with a text and a file, or from a file that is dropped on it, and show the answer.
 * @param {HTMLFormElement} form with the fields `q` and `file`
 * @param {HTMLElement} shown
 * @param {(query: string | Uint8Array) => Promise<Answer>} answer
 */
function answerQuestions(form, shown, answer) {
  let newest = 0;
  const say = async (find) => {
    newest += 1;
    const mine = newest;
    shown.replaceChildren(note("Reading and checking…"));
    const found = answerElement(await answered(async () => answer(await find())));
    if (mine === newest) shown.replaceChildren(found); // an older question may take longer
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say(async () => form.elements.q.value);
  });
  form.elements.file.addEventListener("change", () => {
    const [file] = form.elements.file.files;
    if (file) say(() => bytesOf(file, file.name));
  });
  onDrop(form, ([file]) => say(() => bytesOf(file, file.name)));
}

/** @param {HTMLElement} target @param {(files: File[], items: DataTransferItem[]) => void} take */
function onDrop(target, take) {
  target.addEventListener("dragover", (event) => event.preventDefault());
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) take([...event.dataTransfer.files], [...event.dataTransfer.items]);
  });
}

/** @param {Blob} file @param {string} name @returns {Promise<Uint8Array>} */
async function bytesOf(file, name) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new No(`${name} cannot be read as one file`);
  }
}
