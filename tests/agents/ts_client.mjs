// The headless client once more, on the official TypeScript SDK: same options, same transcript.
//
// The SDK is imported from the package directory in ACP_SDK_DIR, so no package.json is needed here:
//
//   ACP_SDK_DIR=DIR node ts_client.mjs [--scenario NAME]... [--cwd DIR] -- AGENT [ARGS...]

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const sdk = process.env.ACP_SDK_DIR;
const at = process.argv.indexOf("--");
const [program, ...args] = process.argv.slice(at + 1);
if (!sdk || at < 0 || !program) {
  console.error("expected ACP_SDK_DIR in the environment, and -- AGENT [ARGS...]");
  process.exit(2);
}
const { main } = JSON.parse(await readFile(join(sdk, "package.json"), "utf8"));
const acp = await import(pathToFileURL(join(sdk, main)));
const { agent: calls, client: served } = acp.methods;

const { values } = parseArgs({
  args: process.argv.slice(2, at),
  options: {
    scenario: { type: "string", multiple: true, default: ["tour"] },
    cwd: { type: "string", default: "." },
  },
});
const cwd = await realpath(values.cwd);

const seen = [];
const terminals = new Map();
let created = 0;
let chunksUntilCancel = -1;

function inside(path) {
  if (relative(cwd, path).startsWith("..")) {
    throw acp.RequestError.invalidParams({ details: `${path} is outside ${cwd}` });
  }
  return path;
}

async function update({ params, agent }) {
  const { sessionUpdate, ...said } = params.update;
  seen.push({ update: sessionUpdate, ...said });
  if (sessionUpdate === "agent_message_chunk" && --chunksUntilCancel === 0) {
    await agent.notify(calls.session.cancel, { sessionId: params.sessionId });
  }
}

function permit({ params: { toolCall, options } }) {
  const { optionId } = options.find(({ kind }) => kind.startsWith("allow"));
  const offered = options.map((option) => option.optionId);
  seen.push({ permission: toolCall.title, options: offered, answer: optionId });
  return { outcome: { outcome: "selected", optionId } };
}

async function readTextFile({ params: { path, line, limit } }) {
  const lines = (await readFile(inside(path), "utf8")).split(/(?<=\n)/);
  const start = (line ?? 1) - 1;
  const content = lines.slice(start, limit == null ? undefined : start + limit).join("");
  seen.push({ read: path, content });
  return { content };
}

async function writeTextFile({ params: { path, content } }) {
  await writeFile(inside(path), content);
  seen.push({ write: path, content });
  return {};
}

async function createTerminal({ params }) {
  const command = [params.command, ...(params.args ?? [])];
  const variables = (params.env ?? []).map(({ name, value }) => [name, value]);
  const child = spawn(command[0], command.slice(1), {
    cwd: inside(params.cwd ?? cwd),
    env: { ...process.env, ...Object.fromEntries(variables) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const terminal = { child, output: "", ended: once(child, "close") };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (terminal.output += text));
  }
  await once(child, "spawn");
  const terminalId = `terminal-${++created}`;
  terminals.set(terminalId, terminal);
  seen.push({ terminal: terminalId, command });
  return { terminalId };
}

async function waitForExit({ params: { terminalId } }) {
  const [exitCode, signal] = await terminals.get(terminalId).ended;
  seen.push({ terminal: terminalId, exit: exitCode ?? signal });
  return exitCode === null ? { signal } : { exitCode };
}

function terminalOutput({ params: { terminalId } }) {
  const { child, output } = terminals.get(terminalId);
  seen.push({ terminal: terminalId, output });
  const exitStatus = child.exitCode === null ? {} : { exitStatus: { exitCode: child.exitCode } };
  return { output, truncated: false, ...exitStatus };
}

function killTerminal({ params: { terminalId } }) {
  terminals.get(terminalId).child.kill("SIGKILL");
  return {};
}

async function releaseTerminal({ params: { terminalId } }) {
  const { child, ended } = terminals.get(terminalId);
  child.kill("SIGKILL");
  await ended;
  terminals.delete(terminalId);
  seen.push({ terminal: terminalId, released: true });
  return {};
}

async function play(agent) {
  const { agentInfo, protocolVersion } = await agent.request(calls.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    clientInfo: { name: "demo-client", title: "Demo client", version: "1.0" },
  });
  seen.push({ agent: agentInfo?.name, version: protocolVersion });
  const { sessionId } = await agent.request(calls.session.new, { cwd, mcpServers: [] });
  seen.push({ session: sessionId });
  for (const scenario of values.scenario) {
    seen.push({ prompt: scenario });
    chunksUntilCancel = scenario === "slow" ? 3 : -1;
    const prompt = [{ type: "text", text: scenario }];
    const { stopReason } = await agent.request(calls.session.prompt, { sessionId, prompt });
    seen.push({ stop: stopReason });
  }
}

const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit");
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await acp
  .client({ name: "demo-client" })
  .onNotification(served.session.update, update)
  .onRequest(served.session.requestPermission, permit)
  .onRequest(served.fs.readTextFile, readTextFile)
  .onRequest(served.fs.writeTextFile, writeTextFile)
  .onRequest(served.terminal.create, createTerminal)
  .onRequest(served.terminal.output, terminalOutput)
  .onRequest(served.terminal.waitForExit, waitForExit)
  .onRequest(served.terminal.kill, killTerminal)
  .onRequest(served.terminal.release, releaseTerminal)
  .connectWith(stream, play);
child.stdin.end();
const [code] = await exited;
seen.push({ exited: code });

const lines = seen.map((event) => JSON.stringify(event)).join(",\n");
console.log(`[\n${lines}\n]`.replaceAll(cwd, "$CWD"));
process.exitCode = code === 0 ? 0 : 1;
