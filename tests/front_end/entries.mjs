// What the page shows of each entry of a transcript, read from standard input: blocks, and kinds with frame numbers.
import { inflateSync } from "node:zlib";
import { text } from "node:stream/consumers";

import { callParts } from "../../acp_proxy/report/front_end/cards/card.js";
import { outputOf, readFrames } from "../../acp_proxy/report/front_end/cards/terminal.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { entryBlocks } from "../../acp_proxy/report/front_end/detail/blocks.js";

const textsOf = (blocks) => blocks.filter(({ form }) => form === "text" || form === "markdown").map(({ text: one }) => one);
const members = (entry, ...names) => Object.fromEntries(names.map((name) => [name, entry[name]]));
const said = (recording, row, entry) => ({ ...members(entry, "last_seq", "choices"), texts: textsOf(entryBlocks(entry)) });

/** What the page takes from the entry, and what it reads from the lines. */
const READERS = {
  message: said, thought: said, prompt: said, stderr: said, plan: said,
  async tool_call(recording, row, entry) {
    const { blocks } = callParts(await readFrames(recording, recording.rowsAlike("call", row)));
    return { ...members(entry, "title", "state", "took_ns"), texts: textsOf(blocks) };
  },
  permission: (recording, row, entry) => members(entry, "title", "state", "choices"),
  async terminal(recording, row, entry) {
    const output = outputOf(await readFrames(recording, recording.entries.rowsOf(recording.entries.ofRows[row])));
    return { ...members(entry, "title", "state", "detail", "id", "remarks"), texts: output === "" ? [] : [output] };
  },
};

const { blocks, wanted } = JSON.parse(await text(process.stdin));
const recording = await Recording.read({ bytes: async (name) => inflateSync(Buffer.from(blocks[name], "base64")) });
const found = [];
for (const { kind, seq } of wanted) {
  const row = recording.rowOf(seq);
  found.push(await READERS[kind](recording, row, await recording.entries.about([row], kind)));
}
process.stdout.write(JSON.stringify(found));
