// Chat completions as OpenAI's API has them, from one small model with llama.cpp, on 127.0.0.1.
//
//     node server.mjs MODEL.gguf [PORT] [THREADS]
//
// Requests are answered one after the other. Two conversations are kept: of a prompt that continues one of them only the
// new part is read.
// With `tools` the output is constrained by a grammar to one call whose arguments fit the tool's schema, or an answer.
import { createServer } from "node:http";
import { getLlama, LlamaCompletion } from "node-llama-cpp";

const [modelPath, port = "8000", threads = "1"] = process.argv.slice(2);
const CONTEXT_TOKENS = 8192;
const CONVERSATIONS = 2;
const MAX_STRING = 160; // characters: without a limit a small model repeats itself until its tokens are used up
const MAX_ITEMS = 3;
const SAMPLING = { temperature: 0.2, topP: 0.9 }; // as its authors recommend

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: CONTEXT_TOKENS, threads: Number(threads), sequences: CONVERSATIONS });
const conversations = Array.from({ length: CONVERSATIONS }, () => {
  const kept = context.getSequence();
  return { kept, used: 0, completion: new LlamaCompletion({ contextSequence: kept }) };
});

// The conversation that shares most with a prompt; of those that share as much, the one that was used longest ago.
function continuedBy(prompt) {
  const shared = ({ kept }) => prompt.findIndex((token, place) => token !== kept.contextTokens[place]);
  const best = conversations.toSorted((a, b) => shared(b) - shared(a) || a.used - b.used)[0];
  best.used = Date.now();
  return best.completion;
}

// The grammar demands each property that its schema names, so that only those which the tool requires are left in it.
function constrained(schema = {}) {
  if (schema.const !== undefined || schema.enum) return schema.enum ? { enum: schema.enum } : { const: schema.const };
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return { oneOf: choices.map(constrained) };
  if (schema.type === "string") return { type: "string", maxLength: Math.min(schema.maxLength ?? MAX_STRING, MAX_STRING) };
  if (schema.type === "array") return { type: "array", items: constrained(schema.items ?? { type: "string" }), maxItems: MAX_ITEMS };
  if (schema.properties) {
    const names = Object.keys(schema.properties).filter((name) => schema.required?.includes(name));
    return { type: "object", properties: Object.fromEntries(names.map((name) => [name, constrained(schema.properties[name])])) };
  }
  if (["number", "integer", "boolean", "null"].includes(schema.type)) return { type: schema.type };
  return { type: "object", properties: {} };
}

function grammarOf({ tools, response_format: format }) {
  if (tools?.length) {
    const calls = tools.map(({ function: { name, parameters } }) => ({
      type: "object",
      properties: { tool: { const: name }, arguments: constrained({ properties: {}, ...parameters }) },
    }));
    return llama.createGrammarForJsonSchema({ oneOf: [...calls, { type: "object", properties: { answer: { type: "string", maxLength: MAX_STRING } } }] });
  }
  if (format?.type === "json_schema") return llama.createGrammarForJsonSchema(constrained(format.json_schema.schema));
  return format?.type === "json_object" ? llama.getGrammarFor("json") : undefined;
}

const textOf = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "");

function promptOf({ messages, tools }) {
  const turns = messages.map(({ role, content, tool_calls: calls = [] }) => [
    role === "tool" ? "user" : role === "developer" ? "system" : role,
    [textOf(content), ...calls.map((call) => JSON.stringify({ tool: call.function.name, arguments: JSON.parse(call.function.arguments) }))].join(""),
  ]);
  if (tools?.length) {
    const lines = tools.map(({ function: { name, description = "", parameters } }) => `${name}(${(parameters?.required ?? []).join(", ")}): ${description.slice(0, 200)}`);
    turns.unshift(["system", `Reply with {"tool": NAME, "arguments": {...}} to call a tool, or {"answer": TEXT} when done. Tools:\n${lines.join("\n")}`]);
  }
  return [...turns.map(([role, text]) => `<|im_start|>${role}\n${text}<|im_end|>\n`), "<|im_start|>assistant\n"].join("");
}

async function complete(request) {
  const prompt = model.tokenize(promptOf(request), true);
  const limit = request.max_completion_tokens ?? request.max_tokens ?? 512;
  if (prompt.length + 16 > CONTEXT_TOKENS) throw new Error(`the prompt has ${prompt.length} tokens; the context has ${CONTEXT_TOKENS}`);
  const { response, metadata } = await continuedBy(prompt).generateCompletionWithMeta(prompt, {
    grammar: await grammarOf(request),
    maxTokens: Math.min(limit, CONTEXT_TOKENS - prompt.length),
    ...SAMPLING,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    seed: request.seed ?? Math.floor(Math.random() * 2 ** 31),
  });
  const written = model.tokenize(response).length;
  const message = { role: "assistant", content: response };
  let finish = metadata.stopReason === "maxTokens" ? "length" : "stop";
  if (request.tools?.length && finish === "stop") {
    const said = JSON.parse(response);
    if (said.answer === undefined) {
      const call = { name: said.tool, arguments: JSON.stringify(said.arguments) };
      Object.assign(message, { content: null, tool_calls: [{ id: `call_${Date.now()}`, type: "function", function: call }] });
      finish = "tool_calls";
    } else message.content = said.answer;
  }
  const usage = { prompt_tokens: prompt.length, completion_tokens: written, total_tokens: prompt.length + written };
  const id = `chatcmpl-${Date.now()}`;
  return { id, object: "chat.completion", created: Math.floor(Date.now() / 1000), model: request.model, choices: [{ index: 0, message, finish_reason: finish }], usage };
}

let last = Promise.resolve();
createServer(async (incoming, outgoing) => {
  const chunks = await incoming.toArray();
  const reply = last.then(async () => complete(JSON.parse(Buffer.concat(chunks)))).then((document) => [200, document], (error) => [400, { error: { message: error.message } }]);
  last = reply;
  const [status, document] = await reply;
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
}).listen(Number(port), "127.0.0.1", function () {
  console.log(`listening on http://127.0.0.1:${this.address().port}/v1`);
});
