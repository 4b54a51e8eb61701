// The brief of Commonplace in OpenCode; made by commonplace setup, which writes it again.
// It runs `commonplace hook` and waits for it; whatever fails, OpenCode goes on as without it.
import { spawn } from "node:child_process";

const PROGRAM = ["commonplace"];
const LIMIT_MS = 10000;

function runHook(event, fields) {
  return new Promise((resolve) => {
    const args = [...PROGRAM.slice(1), "hook", event, "--client", "opencode"];
    let printed = "";
    const child = spawn(PROGRAM[0], args, {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: LIMIT_MS,
      cwd: fields.cwd,
    });
    child.on("error", () => resolve(""));
    child.on("close", () => resolve(printed));
    child.stdout.on("data", (chunk) => (printed += chunk));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(fields));
  });
}

async function makeBrief(session, directory, source) {
  try {
    const fields = { session_id: session, cwd: directory, source };
    const printed = await runHook("session-start", fields);
    return JSON.parse(printed).additionalContext ?? "";
  } catch {
    return "";
  }
}

export const Commonplace = async ({ directory }) => {
  const briefs = new Map(); // one for each session: asked for once, given in every request
  let latest = "";

  const begin = (session, source) => {
    briefs.set(session, makeBrief(session, directory, source));
  };

  return {
    "chat.message": async (input) => {
      latest = input.sessionID ?? latest;
      if (!briefs.has(latest)) begin(latest, "startup");
    },
    "experimental.chat.system.transform": async (input, output) => {
      // Some versions do not say which session a request is of.
      const text = await briefs.get(input.sessionID ?? latest);
      if (text) output.system.push(text);
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id;
      if (event.type === "session.compacted") begin(session, "compact");
      if (event.type === "session.deleted") briefs.delete(session);
    },
  };
};
