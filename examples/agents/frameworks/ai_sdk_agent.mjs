// Agent with the Vercel AI SDK, and the run's language model.
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount } from "ai";

const url = process.env.QUARTERTURN_URL;
const task = await (await fetch(`${url}/task`)).json();
const provider = createOpenAICompatible({ name: "task", baseURL: `${url}/v1`, apiKey: "none" });
const client = await createMCPClient({ transport: { type: "http", url: `${url}/mcp` } });
const { text } = await generateText({
  model: provider(task.model.models[0]),
  tools: await client.tools(),
  stopWhen: isStepCount(task.max_steps),
  instructions: "Do it with the tools; answer shortly.",
  prompt: task.goal,
});
await client.close();
const body = JSON.stringify({ answer: text });
await fetch(`${url}/answer`, { method: "POST", headers: { "content-type": "application/json" }, body });
