// The official TypeScript client, driven through one session; what it saw goes out as JSON.
// usage: node typescript_client.mjs CLIENT_FOLDER MODE COMMAND ARGUMENT...
//    or: node typescript_client.mjs CLIENT_FOLDER MODE URL TOKEN

import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, mode, command, ...args] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, "dist", name)).href);
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

const asked = [];
const client = new Client(
  { name: "a client in TypeScript", version: "1.0.0" },
  { capabilities: { sampling: {} }, versionNegotiation: { mode } },
);
client.setRequestHandler("sampling/createMessage", (request) => {
  asked.push(request.params.messages.length);
  return {
    role: "assistant",
    model: "a-model",
    content: { type: "text", text: "We build REST.\n\nErrors are text.\n\nErrors are problem+json." },
  };
});

const overHttp = () =>
  new StreamableHTTPClientTransport(new URL(command), {
    requestInit: { headers: { Authorization: `Bearer ${args[0]}` } },
  });
const overStdio = () =>
  new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
const transport = command.startsWith("http://") ? overHttp() : overStdio();
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
const call = (name, given) => client.callTool({ name, arguments: given });
const written = await call("process_thoughts", { feelings: "the front answers at once" });
const refused = await call("search_journal", { query: " " });
const merged = await call("journal_synthesize_conflict", {
  section: "api",
  version_a: "We build REST.\n\nErrors are text.",
  version_b: "We build REST.\n\nErrors are problem+json.",
});
const revision = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ revision, tools, prompts, written, refused, merged, asked }));
