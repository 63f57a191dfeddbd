// A small agent on the official TypeScript SDK: the first word of a prompt says what it does.
//
// The SDK is imported from the package directory in ACP_SDK_DIR, so no package.json is needed here:
//
//   ACP_SDK_DIR=DIR node ts_agent.mjs

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const sdk = process.env.ACP_SDK_DIR;
const { main } = JSON.parse(await readFile(join(sdk, "package.json"), "utf8"));
const acp = await import(pathToFileURL(join(sdk, main)));
const { client: calls } = acp.methods;

const OPTIONS = ["allow_once", "reject_once"].map((kind) => ({ kind, name: kind, optionId: kind }));
let work = "";
let turn = new AbortController();

async function prompt({ params: { sessionId, prompt: [{ text }] }, client }) {
  turn = new AbortController();
  const update = (sessionUpdate, members) =>
    client.notify(calls.session.update, { sessionId, update: { sessionUpdate, ...members } });
  const say = (said) => update("agent_message_chunk", { content: { type: "text", text: said } });
  if (text === "slow") {
    await say("Slow…");
    await once(turn.signal, "abort");
    return { stopReason: "cancelled" };
  }
  if (text === "edit") {
    const path = join(work, "greeting.txt");
    const toolCall = { toolCallId: "call-1", title: "Edit greeting.txt", kind: "edit" };
    await update("tool_call", { ...toolCall, status: "pending" });
    const { content } = await client.request(calls.fs.readTextFile, { sessionId, path });
    const newText = content.replace("world", "ACP");
    const diff = { type: "diff", path, oldText: content, newText };
    const asked = { sessionId, toolCall: { ...toolCall, content: [diff] }, options: OPTIONS };
    const { outcome } = await client.request(calls.session.requestPermission, asked);
    const isAllowed = outcome.optionId === "allow_once";
    if (isAllowed) {
      await client.request(calls.fs.writeTextFile, { sessionId, path, content: newText });
    }
    const status = isAllowed ? "completed" : "failed";
    await update("tool_call_update", { toolCallId: "call-1", status });
  }
  await say("Grüße, 你好, 😀.\n");
  return { stopReason: "end_turn" };
}

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
acp
  .agent({ name: "ts-agent" })
  .onRequest("initialize", () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest("session/new", ({ params }) => {
    work = params.cwd;
    return { sessionId: "ts-session" };
  })
  .onRequest("session/prompt", prompt)
  .onNotification("session/cancel", () => turn.abort())
  .connect(stream);
