// What the page shows of each entry of a transcript, read from standard input: blocks, and kinds with frame numbers.
import { inflateSync } from "node:zlib";
import { text } from "node:stream/consumers";

import { permissionModel, readCall } from "../../acp_proxy/report/front_end/cards/card.js";
import { TerminalModel, readFrames, rowsOfTerminal } from "../../acp_proxy/report/front_end/cards/terminal.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { joinedChunks, joinedLines, planSteps, saidBlocks } from "../../acp_proxy/report/front_end/detail/said.js";
import { parsedLine } from "../../acp_proxy/report/front_end/data/values.js";

const textsOf = (blocks) => blocks.filter((block) => block.form === "text").map((block) => block.text);
const joined = (recording, { rows, text: whole }) => ({ last_seq: recording.numbers("seq")[rows.at(-1)], texts: whole === "" ? [] : [whole] });
const choice = (name, detail, state) => ({ name, detail, state });

async function message(recording, row) {
  const found = await joinedChunks(recording, row);
  return found.rows.length > 0 ? joined(recording, found) : prompt(recording, row);
}

async function prompt(recording, row) {
  return { texts: textsOf(saidBlocks(parsedLine(await recording.line(row)), recording.text("method", row), recording.text("kind", row))) };
}

const READERS = {
  message,
  thought: message,
  prompt,
  stderr: async (recording, row) => joined(recording, await joinedLines(recording, row)),
  async plan(recording, row) {
    return { choices: planSteps(parsedLine(await recording.line(row))).map((step) => choice(step.text, step.detail, step.status)) };
  },
  async tool_call(recording, row) {
    const { model } = await readCall(recording, row);
    const took = Number.isNaN(model.took) ? null : model.took;
    return { title: model.title, state: model.status, took_ns: took, texts: textsOf(model.blocks) };
  },
  async permission(recording, row) {
    const pair = recording.pair(row);
    const answer = pair < 0 ? null : parsedLine(await recording.line(pair));
    const { model: call } = await readCall(recording, row);
    const model = permissionModel(parsedLine(await recording.line(row)), answer, call.title);
    const choices = model.options.map((option) => choice(option.name, option.kind, option.isChosen ? "chosen" : ""));
    // What was answered is told in the words of `log`.
    return { title: model.title, ...(pair < 0 && { state: "not answered" }), choices };
  },
  async terminal(recording, row) {
    const id = recording.text("terminal", row) ?? recording.text("answer_terminal", row);
    const model = new TerminalModel();
    for (const frame of await readFrames(recording, rowsOfTerminal(recording, id, row))) model.add(frame);
    return { title: model.command, state: model.ending, detail: model.directory, id, remarks: [...model.remarks], texts: model.output() === "" ? [] : [model.output()] };
  },
};

const { blocks, wanted } = JSON.parse(await text(process.stdin));
const recording = await Recording.read({ bytes: async (name) => inflateSync(Buffer.from(blocks[name], "base64")) });
const found = [];
for (const { kind, seq } of wanted) found.push(await READERS[kind](recording, recording.rowOf(seq)));
process.stdout.write(JSON.stringify(found));
