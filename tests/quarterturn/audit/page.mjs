// Audits releases by the scripts of verify.html, one a line of JSON on standard input: `node page.mjs LIBRARY`.

import { readFileSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

const library = readFileSync(process.argv[2], "utf8");
const { auditFiles, Unusable } = new Function(`"use strict";\n${library}\nreturn { auditFiles, Unusable };`)();

const given = (path) => ({
  name: basename(path),
  size: statSync(path).size,
  arrayBuffer: async () => new Uint8Array(readFileSync(path)).buffer,
});

function* walk(folder, name) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const [path, inner] = [join(folder, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) yield* walk(path, inner);
    else yield [inner, given(path)];
  }
}

async function outcome({ release, keys, previous, consistency, evidence }) {
  const files = [...walk(release, basename(release))];
  const [older, proof] = [previous, consistency].map((path) => path && given(path));
  const key = keys.map((path) => readFileSync(path, "utf8").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "")).join("\n");
  try {
    const { report } = await auditFiles(files, { key, older, proof, evidence: evidence.map(given) });
    return { code: report.ok ? 0 : 1, report };
  } catch (error) {
    if (error instanceof Unusable) return { code: error.code, report: null };
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await outcome(JSON.parse(line)))}\n`);
}
