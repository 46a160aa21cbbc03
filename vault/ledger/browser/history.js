// What the log says, replayed: who was promised, withdrawn and refilled, which runs were opened and closed.

/** The statements of a whole log; where two contradict each other it says which. */
class History {
  /** @param {Entry[]} entries */
  constructor(entries) {
    this.entries = entries;
    this.commits = this.#onceEach();
    this.opened = this.#ends(["run-open"]);
    this.closed = this.#ends(["score", "abort"]);
    for (const [run, open] of this.opened) {
      const close = this.closed.get(run);
      if (close && close.index < open.index) {
        throw new No(`run ${run} is closed at leaf ${close.index} before it opens at ${open.index}`);
      }
    }
    this.withdrawals = []; // [withdraw entry, cohort]
    this.moments = this.#replay();
  }

  /** @param {...string} kinds @returns {Entry[]} */
  of(...kinds) {
    return this.entries.filter((entry) => kinds.includes(entry.kind));
  }

  /** Give the last `set` before a leaf. @param {number} index @returns {Entry} */
  lastSet(index) {
    const found = this.of("set").findLast((entry) => entry.index < index);
    if (!found) throw new No(`no set statement stands before leaf ${index}`);
    return found;
  }

  /** Give a task's commit, if it stands before a leaf. @param {string} task @param {number} before @returns {Entry} */
  commitOf(task, before) {
    const found = this.commits.get(task);
    if (!found) throw new No(`no leaf commits to ${task}`);
    if (found.index >= before) throw new No(`${task} was committed to at leaf ${found.index}, not before ${before}`);
    return found;
  }

  /**
   * Give a cohort's tasks just before a leaf: promised - withdrawn + refills.
   * @param {string} cohort
   * @param {number} at
   * @returns {string[]}
   */
  members(cohort, at) {
    const live = this.moments.findLast((moment) => moment.index < at)?.live;
    if (!live?.has(cohort)) throw new No(`no set statement before leaf ${at} has ${cohort} among the live ones`);
    return live.get(cohort);
  }

  /** Name the cohorts that were live just before a leaf. @param {number} at @returns {string[]} */
  live(at) {
    return [...(this.moments.findLast((moment) => moment.index < at)?.live?.keys() ?? [])];
  }

  /** Count the withdrawals from a cohort, before a leaf, that nobody took the place of. */
  gaps(cohort, before) {
    const gone = this.withdrawals.filter(([entry, name]) => name === cohort && entry.index < before);
    return gone.filter(([entry]) => entry.says.replacement === null).length;
  }

  /** Give the withdrawals that a retirement opens: from its cohort, and from reserves since the one before. */
  openedWith(retired) {
    const { cohort } = retired.says;
    const before = this.of("retire").findLast((entry) => entry.index < retired.index)?.index ?? -1;
    const home = new Map(this.withdrawals.map(([entry, name]) => [entry.index, name]));
    const due = this.of("withdraw").filter((entry) => entry.index < retired.index);
    return due.filter(({ index }) => (home.get(index) ?? (index > before ? cohort : null)) === cohort);
  }

  #onceEach() {
    const [commits, tasks] = [new Map(), new Map()];
    for (const entry of this.of("commit")) {
      const twice = commits.get(entry.name);
      if (twice) throw new No(`${entry.name} is committed to twice, at leaves ${twice.index} and ${entry.index}`);
      if (tasks.has(entry.digest))
        throw new No(`${tasks.get(entry.digest)} and ${entry.name} have the same commitment`);
      commits.set(entry.name, entry);
      tasks.set(entry.digest, entry.name);
    }
    return commits;
  }

  #ends(kinds) {
    const found = new Map();
    for (const entry of this.of(...kinds)) {
      const twice = found.get(entry.says.run);
      if (twice) throw new No(`run ${entry.says.run} is stated twice, at leaves ${twice.index} and ${entry.index}`);
      found.set(entry.says.run, entry);
    }
    return found;
  }

  /** Give the live cohorts after each statement that changes them. */
  #replay() {
    let [live, last] = [null, null];
    const [gone, moments] = [new Set(), []];
    for (const entry of this.of("set", "withdraw", "retire")) {
      if (entry.kind === "set") {
        requireChain(last, entry);
        requireFuture(entry);
        this.#requireGrammars(entry);
        live = restated(live, gone, entry);
        requireNextMonth(last, entry);
        last = entry;
      } else if (entry.kind === "retire") {
        gone.add(retiring(live, gone, entry));
        live = live && new Map([...live].filter(([name]) => !gone.has(name)));
      } else if (live) {
        live = new Map([...live].map(([name, tasks]) => [name, this.#without(name, tasks, entry)]));
      }
      moments.push({ index: entry.index, live });
    }
    return moments;
  }

  /** A set says whether a live task is of a public grammar as their commits do, where all of these are known. */
  #requireGrammars({ index, says }) {
    const commits = says.cohorts.flatMap((one) => one.tasks).map((task) => this.commits.get(task));
    if (commits.includes(undefined)) return;
    if (commits.some((commit) => commit.says.public_grammar) !== says.public_grammar) {
      throw new No(
        `the set at leaf ${index} says public_grammar ${says.public_grammar}, the commits of its tasks say otherwise`,
      );
    }
  }

  #without(cohort, tasks, entry) {
    if (!tasks.includes(entry.name)) return tasks;
    this.withdrawals.push([entry, cohort]);
    const refill = entry.says.replacement;
    return tasks.flatMap((task) => (task !== entry.name ? [task] : refill === null ? [] : [refill]));
  }
}

function requireChain(last, entry) {
  const { previous } = entry.says;
  if (last && previous !== last.index) {
    throw new No(`the set at leaf ${entry.index} names leaf ${previous} before it, not ${last.index}`);
  }
  if (previous !== null && previous >= entry.index) {
    throw new No(`the set at leaf ${entry.index} names a later leaf ${previous} before it`);
  }
}

/** No cohort of a set should have retired before the set's month. */
function requireFuture({ index, says }) {
  const past = says.cohorts.find((one) => one.retires < says.month);
  if (past) throw new No(`the set at leaf ${index} is of ${says.month}, and lists ${past.id}`);
}

function requireNextMonth(last, { index, says: { month } }) {
  if (!last) return;
  const [year, number] = last.says.month.split("-").map(Number);
  const next = number === 12 ? [year + 1, 1] : [year, number + 1];
  if (month !== `${String(next[0]).padStart(4, "0")}-${String(next[1]).padStart(2, "0")}`)
    throw new No(`the set at leaf ${index} is of ${month}, the one at leaf ${last.index} before it of ${last.says.month}`);
}

/** A set must repeat every live cohort as it is, may add new ones, and never brings one back. */
function restated(live, gone, entry) {
  const says = new Map(entry.says.cohorts.map((one) => [one.id, one.tasks]));
  for (const [name, tasks] of live ?? []) {
    if (!says.has(name))
      throw new No(`the set at leaf ${entry.index} lists ${name} no more, though it has not retired`);
    if (says.get(name).join() !== tasks.join()) {
      const strange = says.get(name).find((task, place) => task !== tasks[place]) ?? "its end";
      throw new No(`the set at leaf ${entry.index} lists other tasks for ${name} than were promised: see ${strange}`);
    }
  }
  const back = [...gone].sort().find((name) => says.has(name));
  if (back) throw new No(`the set at leaf ${entry.index} lists ${back}, which has retired`);
  return says;
}

function retiring(live, gone, entry) {
  const { cohort: name, month } = entry.says;
  if (name !== `cohort-${month}`) throw new No(`leaf ${entry.index} retires ${name} in ${month}`);
  if (gone.has(name) || (live && !live.has(name)))
    throw new No(`leaf ${entry.index} retires ${name}, which is not live`);
  return name;
}
