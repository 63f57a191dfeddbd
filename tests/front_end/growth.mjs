// Compares a page that grew block by block with one that was built at once, and prints the differences.
// Reads `[{name, stages: [{name: base64}]}]`: the blocks of ever longer parts of one recording.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import { readIndexBlock } from "../../acp_proxy/report/front_end/data/columns.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { decodeBase64, inflate, pause } from "../../acp_proxy/report/front_end/data/source.js";
import { debtsOf, lanesOf, openSpans, sequenceItems } from "../../acp_proxy/report/front_end/pictures/lanes.js";
import { timeAxis } from "../../acp_proxy/report/front_end/pictures/time_axis.js";
import { applyFilter, search } from "../../acp_proxy/report/front_end/search/search.js";
import { buildItems } from "../../acp_proxy/report/front_end/shell/virtual_list.js";
import { State } from "../../acp_proxy/report/front_end/shell/state.js";
import { MemorySource, indexBlock, jsonBytes } from "./blocks.mjs";

// The first ones are about what later rows change: answers, turns, names that another one begins with.
const FILTERS = [
  "", "is:unanswered", "latency:>=0s", "turn:last", "session:s-1", "not session:s-1", "call:c", "kind:batch or id:2",
  "is:failed", "text:e", "params.update.sessionUpdate=agent_message_chunk", "method:session",
];
const QUERIES = ["e", "one two three", "wordwordword", "stopReason", "no such text"];

const isEqual = (a, b) => isDeepStrictEqual(a, b);

/** Inflated blocks of a report. */
async function sourceOf(blocks) {
  const inflated = {};
  for (const [name, text] of Object.entries(blocks)) inflated[name] = await inflate(decodeBase64(text));
  return new MemorySource(inflated);
}

/** The columns of some rows of a recording, with what was known when they were its last ones. */
async function columnsFrom(source, recording, first) {
  const { columns } = readIndexBlock(await source.bytes("i0"));
  const valuesOf = (name, kind) => {
    const values = Array.from({ length: recording.rows - first }, (_, at) =>
      kind === "text" ? recording.text(name, first + at) : recording.numbers(name).at(first + at));
    if (name !== "run") return values.map((value) => (Number.isNaN(value) ? null : value));
    return values.map((run, at) => (Number.isNaN(run) || run === first + at ? null : run - first - at));
  };
  return Object.fromEntries([...columns].map(([name, { kind }]) => [name, valuesOf(name, kind)]));
}

/** The lines of a list, in which every fourth run is open. */
function itemsOf({ recording, shown, grewFrom }, old = undefined) {
  return buildItems(recording, shown, { has: (run) => run % 4 === 0 }, old, old && grewFrom);
}

function axisOf(recording) {
  return timeAxis(recording.numbers("t_ns").toArray(), debtsOf(recording, openSpans(recording)), recording.pauses);
}

/** A page that is given one block after the other. */
class GrowingPage {
  async begin(meta) {
    this.texts = [];
    [this.rows, this.blocks] = [0, 0];
    this.source = new MemorySource({});
    this.recording = new Recording(this.source, { ...meta, rows: 0, members: {} });
    const services = {
      applyFilter,
      // After all rows that there are, it asks whether there are more.
      search: (state, text, { hasMore, ...options }) => search(state, text, { ...options, hasMore: () => {
        this.read.set(text, this.recording.rows);
        return hasMore();
      } }),
    };
    this.read = new Map();
    /** What each page shows, as views keep it. */
    this.items = new Map();
    const stateOf = async (filter, query) => {
      const state = new State(this.recording, services);
      await state.setFilter(filter);
      await state.setQuery(query);
      this.items.set(filter + query, itemsOf(state));
      state.on("grew", () => this.items.set(filter + query, itemsOf(state, this.items.get(filter + query))));
      return [filter + query, state];
    };
    const states = [...FILTERS.map((filter) => stateOf(filter, "")), ...QUERIES.map((query) => stateOf("", query))];
    this.states = new Map(await Promise.all(states));
    // A page has but one state, which listens itself.
    this.recording.onGrown = (changed) => {
      this.states.forEach((state) => state.grow(changed));
    };
  }

  /** Returns a function that takes the rows that are new in a longer part of the recording. */
  async next(source, longer) {
    const [first, block] = [this.rows, this.blocks++];
    this.rows = longer.rows;
    const columns = await columnsFrom(source, longer, first);
    const rows = Array.from({ length: longer.rows - first }, (_, at) => first + at);
    for (const row of rows) this.source.blocks.set(`p${row}`, await longer.line(row));
    const cells = await Promise.all(rows.map((row) => longer.cells(row)));
    this.source.blocks.set(`c${block}`, jsonBytes(cells.map(({ text, rpc_id, parse_error, fired }) => [text, rpc_id, parse_error, fired])));
    const payloads = rows.map((row) => [row, 1]);
    return () => {
      this.recording.append(indexBlock(columns, this.texts, rows.length, { cells: [first], payloads }));
      this.recording.update(longer.meta);
    };
  }

  /** Settles when filters and searches know all rows. */
  async settled() {
    const isBusy = () => [...this.states.values()].some(({ applying, query }) =>
      applying !== null || (query !== "" && this.read.get(query) !== this.recording.rows));
    while (isBusy()) await pause();
  }
}

const differences = [];

async function compare(place, page, whole) {
  const { recording } = page;
  const check = (what, actual, expected) => isEqual(actual, expected) || differences.push([place, what, String(actual).slice(0, 200), String(expected).slice(0, 200)]);
  check("rows", recording.rows, whole.rows);
  for (const name of whole.decodedNumbers.keys()) check(name, [...recording.numbers(name)], [...whole.numbers(name)]);
  for (const name of whole.decodedCodes.keys()) {
    const texts = (one) => Array.from(one.codes(name), (code) => one.texts[code - 1] ?? null);
    check(name, texts(recording), texts(whole));
  }
  for (let row = 0; row < whole.rows; row++) {
    check(`cells ${row}`, await recording.cells(row), await whole.cells(row));
    check(`frame ${row}`, await recording.frame(row), await whole.frame(row));
    check(`line ${row}`, await recording.line(row), await whole.line(row));
  }
  check("problems", [...recording.problems], [...whole.problems]);
  check("pauses", [...recording.pauses], [...whole.pauses]);
  check("lanes", lanesOf(recording), lanesOf(whole));
  check("spans", openSpans(recording), openSpans(whole));
  check("axis", axisOf(recording), axisOf(whole));
  for (const [name, state] of page.states) {
    const fresh = new State(whole, { applyFilter, search });
    await fresh.setFilter(state.filter);
    await fresh.setQuery(state.query);
    fresh.searching.abort();
    check(`${name}: filter`, [...state.shown], [...fresh.shown]);
    check(`${name}: hits`, [...state.matched], [...fresh.matched]);
    check(`${name}: stops`, [...state.stops], [...fresh.stops]);
    check(`${name}: error`, state.error, fresh.error);
    check(`${name}: items`, [...page.items.get(name)], [...itemsOf(fresh)]);
    const [diagram, freshDiagram] = [[recording, state], [whole, fresh]].map(([one, { shown }]) => sequenceItems(one, shown));
    check(`${name}: sequence`, diagram, freshDiagram);
  }
}

const counts = {};
for (const { name, stages } of JSON.parse(readFileSync(0, "utf-8"))) {
  const sources = await Promise.all(stages.map(sourceOf));
  const wholes = await Promise.all(sources.map((source) => Recording.read(source)));
  const [patient, hasty] = [new GrowingPage(), new GrowingPage()];
  await Promise.all([patient, hasty].map((page) => page.begin(wholes[0].meta)));
  const blocks = [];
  for (const [n, source] of sources.entries()) {
    (await patient.next(source, wholes[n]))();
    await patient.settled();
    await compare(`${name}, block ${n}`, patient, wholes[n]);
    blocks.push(await hasty.next(source, wholes[n]));
  }
  // Here filters and searches still read when the next block comes.
  for (const take of blocks) {
    take();
    await null;
  }
  await hasty.settled();
  await compare(`${name}, in haste`, hasty, wholes.at(-1));
  const last = wholes.at(-1);
  counts[name] = {
    rows: last.rows,
    runs: wholes.slice(0, -1).filter(({ rows }) => last.numbers("run").at(rows) < rows).length,
    late: Array.from(last.numbers("response_seq")).filter((seq, row) =>
      wholes.some(({ rows }) => row < rows && last.rowOf(seq) >= rows)).length,
  };
  [patient, hasty].forEach((page) => page.states.forEach((state) => state.searching.abort()));
}
process.stdout.write(JSON.stringify({ differences, counts }));
