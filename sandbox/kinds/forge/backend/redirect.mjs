// Loaded before the GitHub server (node --import): every fetch of the API goes to the twin's unix socket, and any other
// address fails as it would without a network.
import http from "node:http";

const API = "https://api.github.com";
const socketPath = process.env.QUARTERTURN_FORGE_SOCKET;

function ask(url, method, headers, body) {
  return new Promise((resolve, reject) => {
    const options = { socketPath, method, path: url.pathname + url.search, headers: { ...headers, host: url.host } };
    const request = http.request(options, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

globalThis.fetch = async (address, options = {}) => {
  const url = new URL(address);
  if (url.origin !== API) throw new TypeError("fetch failed");
  const body = options.body === undefined ? undefined : Buffer.from(options.body);
  const length = body === undefined ? {} : { "content-length": body.length };
  const answer = await ask(url, options.method ?? "GET", { ...options.headers, ...length }, body).catch((cause) => {
    throw new TypeError("fetch failed", { cause });
  });
  return new Response(answer.body.length ? answer.body : null, { status: answer.status, headers: answer.headers });
};
