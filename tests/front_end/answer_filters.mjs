// Answers filters and searches of recordings, for a test that compares the answers with Python's.
// Reads `[{blocks: {name: base64}, filters: [text], searches: [text]}]`, writes rows or messages.
import { readFileSync } from "node:fs";

import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { applyFilter, search } from "../../acp_proxy/report/front_end/search/search.js";
import { PackedSource } from "./packed_source.mjs";

const answers = [];
for (const { blocks, filters, searches } of JSON.parse(readFileSync(0, "utf-8"))) {
  const recording = await Recording.read(new PackedSource(blocks));
  const seqs = recording.numbers("seq");
  const numbered = ({ rows }) => Array.from(rows, (row) => seqs.at(row));
  const found = { filters: [], searches: [] };
  for (const text of filters) {
    found.filters.push(await applyFilter({ recording }, text).then(numbered, (error) => error.message));
  }
  for (const text of searches) {
    found.searches.push(numbered({ rows: await search({ recording }, text, {}) }));
  }
  answers.push(found);
}
process.stdout.write(JSON.stringify(answers));
