// State of the log after each leaf, as `log_state.py` keeps it: the same rules in the same order, so that the first
// broken rule is the same one.

/**
 * @typedef {{open: Entry, set: Entry, served: Map<string, string[]>, close: Entry?}} LoggedRun
 * @typedef {{leaf: Entry, cohort: string?, reserve: Map<string, string>}} Withdrawal the reserve's next, by stratum
 * @typedef {{leaf: Entry, set: Entry, withdrawals: Withdrawal[]}} Retirement with the withdrawals that it opens
 */

/** Whether a run ended with a score. @param {LoggedRun} run @returns {boolean} */
const isScored = ({ close }) => close?.kind === "score";

/** What the leaves up to now say. */
class LogState {
  /** @param {string} origin */
  constructor(origin) {
    this.origin = origin;
    this.entries = []; // all statements
    this.commits = new Map(); // by task
    this.taskOf = new Map(); // by commitment
    this.sets = [];
    this.live = new Map(); // the tasks of each live cohort, in promised order
    this.runs = new Map(); // by number
    this.withdrawals = [];
    this.retirements = [];
    this.keys = []; // [leaf that introduced it, key]
    this._open = new Set(); // runs
    this._served = new Set(); // tasks that ever were in a cohort
    this._left = new Set(); // tasks that retired or were withdrawn
    this._past = new Set(); // cohorts that retired
    this._gaps = new Map(); // empty places of a cohort
    this._seeds = new Set(); // commitments to seeds
    this._second = new Map(); // the keys that sign withdrawals of each live cohort
    this._drawn = new Map(); // by set: private tasks of a draw seed not opened yet
    this._opened = 0; // withdrawals that a retirement had the chance to open
  }

  /** Read the next leaf. @param {Uint8Array} leaf */
  async take(leaf) {
    const entry = parseLeaf(leaf, this.entries.length);
    const { kind, says, where } = entry;
    const isFirst = ["commit", "set", "key"].includes(kind);
    if (!isFirst && !this.sets.length) throw disagreement("run.set", where, "set", kind);
    try {
      await this[`_${kind.replace("-", "_")}`](entry, says, this.sets.at(-1));
    } catch (error) {
      const malformed = error instanceof No && error.rule === null;
      throw malformed ? reworded(error, `${where}: ${error.message}`, where) : error;
    }
    this.entries.push(entry);
  }

  /** Give the statements of a kind. @param {string} kind @returns {Entry[]} */
  of(kind) {
    return this.entries.filter((entry) => entry.kind === kind);
  }

  /** Give the key that signs trees of a size. @param {number} size @returns {string} */
  keyAt(size) {
    return this.keys.findLast(([start]) => start < size || start === 0)[1];
  }

  /** Check that a tree is signed by the key of its size, and by no other of the log's. @param {Checkpoint} head */
  requireKey({ size, signers }, where) {
    const found = this.keys.map(([, key]) => key).filter((key) => signers.includes(key));
    agree("head.key", `${where}: the signatures`, [this.keyAt(size)], found);
  }

  // -- one method for each kind of statement

  _commit(entry, says) {
    agree("commit.once", `${entry.where}: ${entry.name}`, null, this.commits.get(entry.name)?.where);
    agree("commit.digest", `${entry.where}: ${entry.digest}`, null, this.taskOf.get(entry.digest));
    if (!TABLES.specs.includes(says.spec)) throw disagreement("commit.spec", entry.at("spec"), TABLES.specs, says.spec);
    this.commits.set(entry.name, entry);
    this.taskOf.set(entry.digest, entry.name);
    if (this.sets.length) this._drawn.get(this.sets.at(-1).index).add(entry.name);
  }

  async _set(entry, says, last) {
    agree("statement.subject", entry.where, `set/${says.month}`, entry.name);
    agree("set.previous", entry.at("previous"), last?.index, says.previous);
    if (last) {
      agree("set.month", entry.at("month"), monthText(monthNumber(last.says.month) + 1), says.month);
      agree("set.plan.same", entry.at("plan"), last.says.plan, says.plan);
    }
    requirePlan(entry, says);
    requireCounts(entry, says);
    const tasks = this._requireTasks(entry, says);
    await this._requireRoots(entry, says);
    this._requireReserve(entry, says, tasks);
    const isPublic = tasks.some((task) => this.commits.get(task).says.public_grammar);
    agree("set.public", entry.at("public_grammar"), isPublic, says.public_grammar);
    for (const name of ["next_draw", "spot_check"]) {
      if (this._seeds.has(says[name])) throw disagreement("set.seeds", entry.at(name), null, says[name]);
      if (says[name]) this._seeds.add(says[name]);
    }
    const [before, entries] = [last?.says, says].map((facts) => facts?.access_log?.entries ?? 0);
    if (entries < before) throw disagreement("set.access_log", entry.at("access_log"), `${before} or more`, entries);
    const keys = await Promise.all(says.withdrawal_keys.map(parseKey));
    agree("set.keys", entry.at("withdrawal_keys"), [...new Set(keys.map((key) => key.vkey))], says.withdrawal_keys);
    this.sets.push(entry);
    const own = (id) => (this._second.get(id)?.length ? this._second.get(id) : says.withdrawal_keys);
    this._second = new Map(says.cohorts.map(({ id }) => [id, own(id)])); // those of the first set that named any
    this.live = new Map(says.cohorts.map((item) => [item.id, [...item.tasks]]));
    tasks.forEach((task) => this._served.add(task));
    this._drawn.set(entry.index, new Set());
  }

  async _run_open(entry, says, last) {
    const [{ allCohorts, nextCohort }, number] = [TABLES, says.run];
    agree("statement.subject", entry.where, `run/${number}`, entry.name);
    agree("run.once", entry.at("run"), null, this.runs.get(number)?.open.where);
    const newest = [...this.runs.keys()].at(-1) ?? 0;
    if (number < newest) throw disagreement("run.number", entry.at("run"), `${newest + 1} or more`, number);
    this._requireMonth(entry, last);
    agree("run.root", entry.at("set"), last.digest, says.set);
    const tracks = [...allCohorts, ...nextCohort];
    if (!tracks.includes(says.track)) throw disagreement("run.track", entry.at("track"), tracks, says.track);
    const live = [...this.live.keys()].sort();
    const names = allCohorts.includes(says.track) ? live : live.slice(0, 1);
    agree("run.cohorts", entry.at("cohorts"), names, [...says.cohorts].sort());
    const [{ size }, sizes] = [says.checkpoint, `${last.index + 1} to ${entry.index}`];
    if (size <= last.index || size > entry.index)
      throw disagreement("run.checkpoint", entry.at("checkpoint.size"), sizes, size);
    if (says.judge !== undefined) {
      const { judge } = last.says;
      agree("run.judge", entry.at("judge"), judge && (await sha256(utf8(canonical(judge)))), says.judge);
    }
    const served = new Map(says.cohorts.map((name) => [name, [...this.live.get(name)]]));
    this.runs.set(number, { open: entry, set: last, served, close: null });
    this._open.add(number);
  }

  _score(entry, says) {
    const { open, served } = this._close(entry, says);
    agree("statement.subject", entry.where, says.results_root, entry.digest);
    agree("close.same", entry.at("track"), open.says.track, says.track);
    agree("score.count", entry.at("count"), [...served.values()].flat().length, says.count);
    const cohorts = says.totals.map((item) => item.cohort);
    agree("score.totals", entry.at("totals"), open.says.cohorts, cohorts);
  }

  _abort(entry, says) {
    const { open } = this._close(entry, says);
    agree("statement.subject", entry.where, open.digest, entry.digest);
  }

  _close(entry, says) {
    const run = this.runs.get(says.run);
    agree("statement.subject", entry.where, `run/${says.run}`, entry.name);
    if (!run || run.close) throw disagreement("close.run", entry.at("run"), "a run that is open", run?.close.where);
    agree("close.same", entry.at("month"), run.open.says.month, says.month);
    run.close = entry;
    this._open.delete(says.run);
    return run;
  }

  _requireMonth(entry, last) {
    agree("run.month", entry.at("month"), last.says.month, entry.says.month);
    const retirement = this.retirements.at(-1);
    if (retirement?.set === last)
      throw disagreement("run.month", entry.at("month"), `a leaf before ${retirement.leaf.where}`, entry.where);
  }

  async _withdraw(entry, says, last) {
    const [task, refill] = [entry.name, says.replacement];
    const commit = this.commits.get(task);
    if (!commit || this._left.has(task)) {
      const found = commit && "it has left";
      throw disagreement("withdraw.task", `${entry.where}: ${task}`, "a committed task", found);
    }
    agree("withdraw.task", `${entry.where}: the digest`, commit.digest, entry.digest);
    this._requireMonth(entry, last);
    const cohort = [...this.live.keys()].find((name) => this.live.get(name).includes(task)) ?? null;
    await this._requireSecond(entry, says, cohort ? this._second.get(cohort) : last.says.withdrawal_keys);
    this._left.add(task);
    const reserve = cohort ? this._nextInReserve() : new Map();
    const digests = [...reserve.values()].sort();
    if (refill && !digests.some((digest) => this.taskOf.get(digest) === refill))
      throw disagreement("withdraw.refill", entry.at("replacement"), digests, refill);
    if (cohort) {
      const [tasks, filled] = [this.live.get(cohort), refill ? [refill] : []];
      tasks.splice(tasks.indexOf(task), 1, ...filled);
      filled.forEach((name) => this._served.add(name));
      this._gaps.set(cohort, (this._gaps.get(cohort) ?? 0) + 1 - filled.length);
    }
    this.withdrawals.push({ leaf: entry, cohort, reserve });
  }

  async _retire(entry, says, last) {
    const [{ month }, { cohort }] = [last.says, says];
    agree("statement.subject", entry.where, `Historical-${says.month}`, entry.name);
    agree("retire.cohort", entry.at("month"), month, says.month);
    agree("retire.cohort", entry.at("cohort"), `cohort-${month}`, cohort);
    const live = [...this.live.keys()].sort();
    if (!live.includes(cohort)) throw disagreement("retire.cohort", entry.at("cohort"), live, cohort);
    const tasks = this.live.get(cohort).map((id) => [id, this.commits.get(id).digest]);
    const stated = says.tasks.map((task) => [task.id, task.commitment]);
    agree("retire.tasks", entry.at("tasks"), tasks, stated);
    agree("retire.runs", `${entry.where}: the runs that are open`, [], [...this._open].sort(byNumber));
    await requireSpotCheck(entry, last.says.spot_check, says.spot_check);
    this.live.get(cohort).forEach((task) => this._left.add(task));
    this.live.delete(cohort);
    this._past.add(cohort);
    await this._requireSeeds(entry, says.draw_seeds);
    const [earlier, due] = [this.withdrawals.slice(0, this._opened), this.withdrawals.slice(this._opened)];
    const own = earlier.filter((item) => item.cohort === cohort);
    own.push(...due.filter((item) => [cohort, null].includes(item.cohort)));
    this._opened = this.withdrawals.length;
    this.retirements.push({ leaf: entry, set: last, withdrawals: own });
  }

  async _key(entry) {
    const [old, next] = await handover(this.origin, entry);
    if (!this.keys.length) this.keys.push([0, old]);
    agree("key.order", entry.at("old"), this.keys.at(-1)[1], old);
    if (this.keys.some(([, key]) => key === next)) throw disagreement("key.order", entry.at("new"), "a new key", next);
    this.keys.push([entry.index, next]);
  }

  // -- parts of a set, of a withdrawal and of a retirement

  /** Check the second signature of a withdrawal, which takes one by one of these keys, or by none. */
  async _requireSecond({ at, name, digest }, { signature: second, ...facts }, keys) {
    const where = at("signature");
    if (!keys.includes(second?.key)) {
      agree("withdraw.signature", where, keys.length ? keys : null, second);
      return;
    }
    const text = canonical({ log: this.origin, task: name, commitment: digest, ...facts });
    const signature = fromBase64(second.signature, where);
    if (!(await accepts(await parseKey(second.key), await sshSigned(utf8(text), TABLES.withdrawal), signature)))
      throw disagreement("withdraw.signature", where, { key: second.key, text }, signature);
  }

  /** Check the tasks of each cohort; give all of them. */
  _requireTasks(entry, says) {
    const [where, listed] = [entry.at("cohorts"), new Map(says.cohorts.map((item) => [item.id, item.tasks]))];
    for (const [name, tasks] of this.live) agree("set.live", `${where}: ${name}`, tasks, listed.get(name));
    for (const [name, tasks] of listed) {
      if (this._past.has(name)) throw disagreement("set.live", where, "no cohort that retired", name);
      const odd = tasks.find((task) => !this.commits.has(task) || this._isUsed(task));
      if (odd && !this.live.has(name)) throw disagreement("set.tasks", `${where}: ${name}`, "a new task", odd);
    }
    return [...listed.values()].flat();
  }

  _isUsed(task) {
    return this._served.has(task) || this._left.has(task);
  }

  async _requireRoots(entry, says) {
    const [all, sizes, where] = [[], {}, entry.at("cohorts")];
    for (const { id, root: stated, tasks } of says.cohorts) {
      const digests = tasks.map((task) => this.commits.get(task).digest);
      agree("set.root", `${where}: ${id}`, await setRoot(digests), stated);
      all.push(...digests);
      sizes[id] = digests.length + (this._gaps.get(id) ?? 0);
    }
    agree("set.root", `${entry.where}: the digest`, await setRoot(all), entry.digest);
    const counts = Object.values(sizes);
    if (Math.max(...counts) - Math.min(...counts) > 1)
      throw disagreement("set.share", where, "equal numbers, within one", sizes);
  }

  _requireReserve(entry, says, live) {
    const seen = new Set(live);
    for (const [stratum, digests] of Object.entries(says.reserve)) {
      const [[server], where] = [stratum.split("/"), `${entry.at("reserve")}: ${stratum}`];
      if (digests.length && !Object.hasOwn(says.servers, server))
        throw disagreement("set.servers", entry.at("servers"), server);
      for (const digest of digests) {
        const task = this.taskOf.get(digest);
        if (!task || seen.has(task) || this._isUsed(task))
          throw disagreement("set.reserve", where, "a task of the reserve", digest);
        seen.add(task);
      }
      agree("set.reserve", where, [...digests].sort(), digests);
    }
  }

  _nextInReserve() {
    const isLeft = (digest) => !this._isUsed(this.taskOf.get(digest));
    const reserve = Object.entries(this.sets.at(-1).says.reserve).map(([key, digests]) => [key, digests.find(isLeft)]);
    return new Map(reserve.filter(([, digest]) => digest));
  }

  /** Check that exactly the seeds are opened of which no task is private any more. */
  async _requireSeeds(entry, opened) {
    const isOver = (index) => [...this._drawn.get(index)].every((task) => this._left.has(task));
    const [where, due] = [entry.at("draw_seeds"), [...this._drawn.keys()].slice(0, -1).filter(isOver)];
    const stated = opened?.map((item) => item.set);
    agree("retire.draw_seeds", where, due.length ? due : null, stated);
    for (const item of opened ?? []) {
      const promised = this.sets.find(({ index }) => index === item.set).says.next_draw;
      if (!(await opens("draw-seed", fromHex(item.seed), item.salt, promised)))
        throw disagreement("retire.draw_seeds", where, promised, item);
      this._drawn.delete(item.set);
    }
  }
}

const byNumber = (a, b) => a - b;

/** Give the old and the new key of a `key` statement that both signed. @param {string} origin @param {Entry} entry */
async function handover(origin, { index, name, digest, says, where, at }) {
  const keys = { old: await parseKey(says.old), new: await parseKey(says.new) };
  agree("key.names", `${where}: the names`, [origin, origin, origin], [name, keys.old.name, keys.new.name]);
  agree("key.names", `${where}: the digest`, await sha256(keys.new.key), digest);
  agree("key.names", at("size"), index, says.size);
  const text = `quarterturn/log-key/v1\n${keys.old.vkey}\n${keys.new.vkey}\n${says.size}\n`; // both sign it
  for (const [word, key] of Object.entries(keys)) {
    const place = at(`signatures.${word}`);
    const signature = fromBase64(says.signatures[word], place);
    if (!(await accepts(key, utf8(text), signature)))
      throw disagreement("key.signatures", place, { key: key.vkey, text }, signature);
  }
  return [keys.old.vkey, keys.new.vkey];
}

/** Count months from year 0. @param {string} month YYYY-MM @returns {number} */
const monthNumber = (month) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;

/** Write a counted month as YYYY-MM. @param {number} number @returns {string} */
const monthText = (number) =>
  `${String(Math.floor(number / 12)).padStart(4, "0")}-${String((number % 12) + 1).padStart(2, "0")}`;

/** As many cohorts as planned retire at equal distances; the first of them before the next would. */
function requirePlan({ at }, says) {
  const { cohorts: count, lifetime } = says.plan;
  const months = Number(lifetime.slice(1, -1)) * ({ M: 1, Y: 12 }[lifetime.at(-1)] ?? 0);
  const [step, wanted] = [Math.floor(months / count), `a multiple of ${count} months`];
  if (months % count || !step) throw disagreement("set.plan", at("plan.lifetime"), wanted, lifetime);
  const retire = says.cohorts.map((item) => monthNumber(item.retires)).sort(byNumber);
  const start = monthNumber(says.month);
  const first = start <= retire[0] && retire[0] < start + step ? retire[0] : start;
  const expected = Array.from({ length: count }, (_, place) => monthText(first + step * place));
  agree("set.plan", at("cohorts"), expected, retire.map(monthText));
}

function requireCounts({ at }, says) {
  for (const [place, { id, retires, count, tasks }] of says.cohorts.entries()) {
    agree("set.cohort", at(`cohorts[${place}].id`), `cohort-${retires}`, id);
    agree("set.counts", at(`cohorts[${place}].count`), tasks.length, count);
  }
  const total = new Set(says.cohorts.flatMap(({ tasks }) => tasks)).size;
  const stated = says.cohorts.reduce((sum, { count }) => sum + count, 0);
  agree("set.counts", at("cohorts"), total, stated);
  agree("set.counts", at("count"), total, says.count);
  agree("set.counts", at("counts"), total, says.counts.unseen + says.counts.seen);
}

async function requireSpotCheck({ at }, promised, opened) {
  const where = at("spot_check");
  if (!promised || !opened) {
    agree("retire.spot_check", where, promised, opened);
    return;
  }
  if (!(await opens("spot-check", fromHex(opened.seed), opened.salt, promised)))
    throw disagreement("retire.spot_check", where, promised, opened);
  const counts = [opened.differed, opened.judged, opened.chosen];
  agree("retire.counts", where, [...counts].sort(byNumber), counts);
}
