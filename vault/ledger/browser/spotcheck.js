// Step 15 of a release: which results were judged again follows from what was promised, and how many differed is stated.

const ONE_IN = 20n;

async function spotCheck(found) {
  const { history, retired, manifest } = found;
  const [promised, at] = [history.lastSet(retired.index), retired.index];
  const [stated, says] = [promised.says.spot_check, retired.says.spot_check];
  if (!stated && !says) throw new NotAsked(`the set statement of ${manifest.month} promises no spot check`);
  if (!stated) throw new No(`leaf ${at} opens a spot check, and the set at leaf ${promised.index} promises none`);
  if (!says) throw new No(`the set at leaf ${promised.index} promises a spot check, and leaf ${at} opens none`);
  const seed = fromHex(says.seed);
  if (hex(await commitment("spot-check", seed, fromHex(says.salt))) !== stated) {
    throw new No(`the seed of the spot check at leaf ${at} does not open ${stated} at leaf ${promised.index}`);
  }
  const bound = boundUnder(history, promised, at);
  const chosen = await countChosen(found.log, seed, bound);
  if (says.chosen !== chosen) {
    throw new No(`the seed at leaf ${at} chooses ${chosen} results of ${manifest.month}, the leaf says ${says.chosen}`);
  }
  const { judged, differed } = says;
  if (differed > judged || judged > chosen) {
    throw new No(`leaf ${at} says that of ${chosen} results ${judged} were judged again, and ${differed} differed`);
  }
  const left = judged < chosen ? ` and ${chosen - judged} could not be` : "";
  const came = differed ? `${differed} CAME OUT OTHERWISE, and count as they were bound` : "none came out otherwise";
  const count = bound.reduce((sum, { tasks }) => sum + tasks.length, 0);
  return (
    `the promised seed chooses ${chosen} of the month's ${count} results; ` +
    `the operator says that ${judged} were judged again${left}: ${came}`
  );
}

/** Give the runs scored under a month's set: number, index of the `score` leaf, tasks. */
function boundUnder(history, promised, retiredAt) {
  const found = [];
  for (const [number, open] of history.opened) {
    const close = history.closed.get(number);
    const within = promised.index < open.index && open.index < retiredAt;
    if (!within || close?.kind !== "score" || close.index > retiredAt) continue;
    found.push({
      number,
      leaf: close.index,
      tasks: open.says.cohorts.flatMap((name) => history.members(name, open.index)),
    });
  }
  return found;
}

/** @param {Log} log @param {Uint8Array} seed @param {{number: number, leaf: number, tasks: string[]}[]} bound */
async function countChosen(log, seed, bound) {
  if (!bound.length) return 0;
  const root = await log.tree.root(1 + Math.max(...bound.map(({ leaf }) => leaf)));
  let count = 0;
  for (const { number, tasks } of bound) {
    for (const task of tasks) {
      const mark = await commitment("spot-check", joined(root, utf8(`\n${number}/${task}`)), seed);
      if (BigInt(`0x${hex(mark.subarray(0, 8))}`) * ONE_IN < 1n << 64n) count += 1;
    }
  }
  return count;
}
