// A line of JSON in, the same document in canonical JSON (RFC 8785) out, by the npm package `canonicalize`.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { default: canonicalize } = await import(pathToFileURL(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${canonicalize(JSON.parse(line))}\n`);
}
