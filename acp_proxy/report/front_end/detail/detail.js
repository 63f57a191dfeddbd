// The pane about one frame or event: its facts, what it says, its JSON, its bytes and the frame beside it.
import {rowsOfCallAt, seqButton} from "../cards/card.js";
import {clear, h} from "../shell/dom.js";
import {markedText, showBytes} from "./hex.js";
import {JsonText, JsonTree} from "./json_tree.js";
import {LARGEST_READ, saidElements} from "./said.js";
import {countInWords, durationInWords, fromBase64, sizeInWords, visibleText} from "./values.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/recording.js").FiredFault} FiredFault */
/** @typedef {"exchange"|"call"|"turn"} Within */
/** @typedef {{name: string, title: string, show: (container: HTMLElement, row: number, state: State) => Promise<void>}} DetailPane */

const MOST_ARROWS = 30;
const LONGEST_ARROW = 80;
const LARGEST_COPIED = 64 * 1024 * 1024;
const SENDERS_IN_WORDS = new Map([["to-agent", "client → agent"], ["to-client", "agent → client"], ["stderr", "agent's stderr"]]);
const NEWLINES = new Map([["\n", "\\n"], ["\r\n", "\\r\\n"], ["", "none"]]);
const WITHOUT_PAYLOADS = "This report was made without payloads (--no-payloads), so the line itself is not in it.";

/** @type {DetailPane[]} */
const DETAIL_PANES = [
  {name: "said", title: "Said", show: showSaid},
  {name: "tree", title: "Tree", show: showTree},
  {name: "bytes", title: "Bytes", show: showLineBytes},
  {name: "pair", title: "Pair", show: showPair},
];

/**
 * What a rule of a plan of faults did to a frame, in words.
 * @param {FiredFault} fired
 * @param {number} size bytes of the frame with its newline
 * @param {boolean} isChanged whether other bytes were delivered
 * @returns {string}
 */
export function faultInWords(fired, size, isChanged) {
  const name = fired.rule === fired.action ? fired.rule : `${fired.rule} (${fired.action})`;
  const hasBytes = fired.delivered !== null || fired.base64 !== null;
  if (fired.made) return `${name}: made up this line`;
  if (!hasBytes) return fired.size > 0 ? `${name}: delivered ${countInWords(fired.size, "other byte")}` : `${name}: nothing was delivered`;
  if (!isChanged) return `${name}: the same bytes were delivered`;
  return `${name}: delivered ${countInWords(fired.size, "other byte")} instead of ${size.toLocaleString("en")}`;
}

/**
 * The names and values of all that is known of a row besides its line.
 * @param {Recording} recording
 * @param {number} row
 * @returns {Promise<[string, string][]>}
 */
async function factsOf(recording, row) {
  const frame = await recording.frame(row);
  const t = Number(frame.t_ns);
  const started = Date.parse(recording.meta.started_at);
  const clock = Number.isNaN(started) ? "" : `${new Date(started + t / 1e6).toISOString().replace("T", " ").replace("Z", " UTC")}, `;
  const time = `${clock}${(t / 1e9).toFixed(6)} s after the start`;
  if ("event" in frame) return [["number", `${frame.seq}`], ["time", time], ["event", `${frame.event}`]];
  const {fired} = await recording.cells(row);
  const changed = (recording.numbers("flags")[row] & 4) !== 0;
  const pair = recording.pair(row);
  const latency = durationInWords(recording.numbers("latency_ns")[row]);
  const isRequest = frame.kind === "request";
  const answer = pair < 0 ? (isRequest ? "none" : "") : `#${recording.numbers("seq")[pair]}, after ${latency}`;
  const spread = Number(frame.t_ns) - Number(frame.t_first_ns);
  const size = Number(frame.size);
  const stream = SENDERS_IN_WORDS.get(String(frame.stream));
  return /** @type {[string, unknown][]} */ ([
    ["number", frame.seq], ["time", time], ["arrived", spread > 0 ? `over ${durationInWords(spread)}` : ""],
    ["stream", `${frame.stream} (${stream})`], ["kind", frame.kind], ["method", frame.method], ["id", frame.rpc_id],
    ["exchange", frame.exchange], ["session", frame.session], ["turn", frame.turn], ["tool call", frame.tool_call],
    ["terminal", frame.terminal], ["size", `${countInWords(size, "byte")}${size >= 1000 ? ` (${sizeInWords(size)})` : ""}`],
    ["newline", NEWLINES.get(String(frame.newline)) ?? frame.newline], ["delivered", frame.delivered], ["fault", frame.fault],
    ...fired.map((one) => ["fired", faultInWords(one, size + String(frame.newline ?? "").length, changed)]),
    ["not a message", frame.parse_error], [isRequest ? "answer" : "answers", answer],
  ]).filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [name, visibleText(String(value))]);
}

/**
 * The rows to step through from a row.
 * @param {Recording} recording
 * @param {number} row
 * @param {Within} within
 * @returns {number[]}
 */
export function rowsWithin(recording, row, within) {
  if (within === "exchange") return [row, recording.pair(row)].filter((one) => one >= 0).sort((a, b) => a - b);
  if (within === "call") return rowsOfCallAt(recording, row);
  const turns = recording.numbers("turn");
  const span = Number.isNaN(turns[row]) ? null : recording.rowsOfTurn(turns[row]);
  const rows = [];
  for (let at = span?.[0] ?? 0; span !== null && at <= span[1]; at++) if (turns[at] === turns[row]) rows.push(at);
  return rows;
}

/**
 * A sequence diagram of the exchange or the turn around a row, in Mermaid's notation; runs of chunks are one arrow.
 * @param {Recording} recording
 * @param {number} row
 * @returns {Promise<string>}
 */
export async function mermaidAround(recording, row) {
  const [runs, seqs] = [recording.numbers("run"), recording.numbers("seq")];
  const turn = rowsWithin(recording, row, "turn").filter((one) => recording.text("stream", one)?.startsWith("to-") && (Number.isNaN(runs[one]) || runs[one] === one));
  const near = Math.max(0, Math.min(turn.findIndex((one) => one >= row) - (MOST_ARROWS >> 1), turn.length - MOST_ARROWS));
  const rows = turn.length > 0 ? turn.slice(near, near + MOST_ARROWS) : rowsWithin(recording, row, "exchange");
  const lines = ["sequenceDiagram", "  participant client", "  participant agent"];
  if (near > 0) lines.push(`  note over client,agent: ${near} earlier`);
  for (const one of rows) {
    const kind = recording.text("kind", one);
    const arrow = kind === "response" || kind === "error" ? "-->>" : "->>";
    const ends = recording.text("stream", one) === "to-agent" ? ["client", "agent"] : ["agent", "client"];
    const text = `#${seqs[one]} ${recording.text("method", one) ?? kind} ${(await recording.cells(one)).text}`;
    lines.push(`  ${ends.join(arrow)}: ${mermaidText(text)}`);
  }
  if (near + rows.length < turn.length) lines.push(`  note over client,agent: ${turn.length - near - rows.length} more`);
  return `${lines.join("\n")}\n`;
}

/**
 * Text as Mermaid takes it anywhere: what is not a letter, digit or harmless sign becomes its code.
 * @param {string} text
 */
function mermaidText(text) {
  const cut = [...visibleText(text)].slice(0, LONGEST_ARROW).join("") + (text.length > LONGEST_ARROW ? "…" : "");
  return cut.replace(/\s+/g, " ").replace(/[^\p{L}\p{N} ._/…,()?!+=*'-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}

/**
 * The command that prints a frame.
 * @param {string} name of the recording
 * @param {number} seq
 * @returns {string}
 */
export function commandFor(name, seq) {
  const quoted = /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(name) ? name : `'${name.replaceAll("'", `'"'"'`)}'`;
  return `acp-proxy inspect log ${quoted} --seq ${seq}`;
}

/**
 * Copies a text; where the browser forbids it, shows it selected.
 * @param {HTMLElement} box for the text and the message
 * @param {string} text
 */
async function copyText(box, text) {
  try {
    await navigator.clipboard.writeText(text);
    clear(box, `copied (${countInWords(text.length, "character")})`);
  } catch {
    const area = h("textarea", {readonly: true, rows: "4", "aria-label": "text to copy"});
    area.value = text;
    clear(box, "press Ctrl+C to copy: ", area);
    area.focus();
    area.select();
  }
}

/**
 * Fills the detail pane, and keeps it at the row that is selected.
 * @param {HTMLElement} container an empty element
 * @param {State} state
 * @returns {{show: (row: number) => Promise<void>, step: (by: number, within: Within) => void}}
 */
export function mountDetail(container, state) {
  const {recording} = state;
  let [version, areFactsOpen] = [0, false];
  let pane = DETAIL_PANES[0];

  const step = (/** @type {number} */ by, /** @type {Within} */ within) => {
    const rows = state.row < 0 ? [] : rowsWithin(recording, state.row, within);
    const next = rows[rows.indexOf(state.row) + by];
    if (next !== undefined) state.select(next);
  };

  const heading = h("h2", {class: "detail-title"});
  const summary = h("p", {class: "detail-summary"});
  const steps = h("div", {class: "detail-steps"});
  const copied = h("div", {class: "copied", role: "status"});
  const facts = h("dl", {class: "facts"});
  const all = h("details", {}, h("summary", {}, "all facts"), facts);
  all.addEventListener("toggle", () => (areFactsOpen = all.open));
  const tabs = DETAIL_PANES.map((one) => h("button", {
    type: "button", role: "tab", id: `detail-tab-${one.name}`, "aria-controls": "detail-panel",
    on: {click: () => void choose(one)},
  }, one.title));
  const tabList = h("div", {class: "detail-tabs", role: "tablist", "aria-label": "parts of the detail"}, ...tabs);
  const panel = h("div", {class: "detail-panel", role: "tabpanel", id: "detail-panel", tabindex: "0"});
  const copies = h("div", {class: "detail-copies"}, "copy as ",
    copyButton("command", () => Promise.resolve(commandFor(recording.meta.name, recording.numbers("seq")[state.row]))),
    copyButton("JSON", copiedLine),
    copyButton("mermaid", () => mermaidAround(recording, state.row)));
  const empty = h("p", {class: "note"}, "Choose a row to see what it says.");
  clear(container, empty);

  tabList.addEventListener("keydown", (event) => {
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (DETAIL_PANES.indexOf(pane) + move + DETAIL_PANES.length) % DETAIL_PANES.length;
    void choose(DETAIL_PANES[next]);
    tabs[next].focus();
  });

  /**
   * @param {string} name
   * @param {() => Promise<string>} text
   */
  function copyButton(name, text) {
    const copy = async () => copyText(copied, await text());
    return h("button", {type: "button", on: {click: () => void copy().catch((error) => clear(copied, String(error.message ?? error)))}}, name);
  }

  async function copiedLine() {
    if (!recording.hasPayloads) throw new Error(WITHOUT_PAYLOADS);
    if (recording.lineLength(state.row) > LARGEST_COPIED) throw new Error("the line is too large to be copied");
    return new TextDecoder().decode(await recording.line(state.row));
  }

  /** @param {DetailPane} chosen */
  async function choose(chosen) {
    pane = chosen;
    await show(state.row);
  }

  /** @param {Within} within */
  function stepButtons(within) {
    const rows = rowsWithin(recording, state.row, within);
    const at = rows.indexOf(state.row);
    if (rows.length < 2) return null;
    const button = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ word) => h("button", {
      type: "button", "aria-label": `${word} in the ${within}`, "aria-disabled": rows[at + by] === undefined ? "true" : null,
      on: {click: () => step(by, within)},
    }, sign);
    return h("span", {class: "step"}, button(-1, "‹", "previous"), ` ${within} ${at + 1}/${rows.length} `, button(1, "›", "next"));
  }

  /** @param {number} row */
  async function show(row) {
    const mine = ++version;
    if (row < 0) return clear(container, empty);
    if (!container.contains(panel)) clear(container, heading, summary, steps, all, copies, copied, tabList, panel);
    const found = await factsOf(recording, row);
    const fresh = h("div", {});
    try {
      await pane.show(fresh, row, state);
    } catch (error) {
      fresh.append(h("p", {class: "trouble"}, `This cannot be shown: ${error instanceof Error ? error.message : String(error)}`));
    }
    if (mine !== version) return;
    // A button that was pressed keeps the focus although it is made anew.
    const focused = document.activeElement?.getAttribute("aria-label");
    clear(heading, ...titleOf(recording, row));
    clear(summary, summaryOf(found), ...(recording.problems.get(row) ?? []).filter(Boolean).map((text) => h("span", {class: "trouble problem"}, `✗ ${visibleText(text)}`)));
    if (steps.contains(document.activeElement)) {
      queueMicrotask(() => [...steps.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === focused)?.focus());
    }
    clear(steps, stepButtons("exchange"), stepButtons("call"), stepButtons("turn"));
    clear(facts, ...found.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    clear(copied);
    all.open = areFactsOpen;
    DETAIL_PANES.forEach((one, index) => {
      tabs[index].setAttribute("aria-selected", String(one === pane));
      tabs[index].setAttribute("tabindex", one === pane ? "0" : "-1");
    });
    panel.setAttribute("aria-labelledby", `detail-tab-${pane.name}`);
    clear(panel, fresh);
    panel.scrollTop = 0;
  }

  state.on("row", () => void show(state.row));
  void show(state.row);
  return {show, step};
}

/**
 * @param {Recording} recording
 * @param {number} row
 */
function titleOf(recording, row) {
  const seq = recording.numbers("seq")[row];
  const name = recording.text("update", row) ?? recording.text("method", row) ?? recording.text("kind", row) ?? "";
  const kind = recording.text("stream", row) === "event" ? "event" : recording.text("kind", row) ?? "";
  return [h("span", {class: "mono"}, `#${seq} ${visibleText(name)}`), " ", name === kind ? "" : h("span", {class: "badge"}, kind)];
}

/** @param {[string, string][]} facts */
function summaryOf(facts) {
  const fact = new Map(facts);
  const time = /([\d.]+ s) after/.exec(fact.get("time") ?? "")?.[1];
  const sender = /\((.*)\)/.exec(fact.get("stream") ?? "")?.[1];
  const answer = fact.get("answer") ?? fact.get("answers");
  const words = [sender, `at ${time}`, fact.get("size")?.replace(/ \(.*/, ""), fact.get("turn") === undefined ? "" : `turn ${fact.get("turn")}`];
  if (answer !== undefined) words.push(fact.has("answer") ? (answer === "none" ? "not answered" : `answered by ${answer}`) : `answers ${answer}`);
  const odd = facts.filter(([name, value]) => name === "fired" || name === "not a message" || (name === "delivered" && value !== "full"));
  return [...words, ...odd.map(([name, value]) => (name === "fired" ? `fault ${value}` : `${name}: ${value}`))].filter(Boolean).join(" · ");
}

/**
 * @param {HTMLElement} container
 * @param {number} row
 * @param {State} state
 */
async function showSaid(container, row, state) {
  container.append(...(await saidElements(state, row)));
  const members = state.recording.meta.members?.[row] ?? [];
  for (const member of members) {
    const words = [member.kind, member.method].filter(Boolean).join(" ");
    container.append(h("div", {class: "block"}, h("div", {class: "block-label"}, visibleText(words)), h("div", {class: "text"}, visibleText(member.text ?? ""))));
  }
}

/**
 * @param {HTMLElement} container
 * @param {number} row
 * @param {State} state
 */
async function showTree(container, row, {recording}) {
  if (!recording.hasPayloads) return container.append(h("p", {class: "note"}, WITHOUT_PAYLOADS));
  if (recording.lineLength(row) > LARGEST_READ) {
    return container.append(h("p", {class: "note"}, `The line has ${sizeInWords(recording.lineLength(row))}: too long for a tree. "Bytes" shows it piece by piece.`));
  }
  const json = new JsonText(new TextDecoder().decode(await recording.line(row)));
  if (json.start.length === 0) return container.append(h("p", {class: "note"}, "The line is not JSON; see its bytes."));
  const tree = new JsonTree(json, 0, "JSON of the line");
  container.append(h("button", {type: "button", on: {click: () => tree.openAll()}}, "open all"), tree.box);
}

/**
 * @param {HTMLElement} container
 * @param {number} row
 * @param {State} state
 */
async function showLineBytes(container, row, {recording}) {
  if (recording.hasPayloads) showBytes(container, recording.pieces(row), recording.lineLength(row));
  else container.append(h("p", {class: "note"}, WITHOUT_PAYLOADS));
  const {fired} = await recording.cells(row);
  const line = recording.hasPayloads && recording.lineLength(row) <= LARGEST_READ ? new TextDecoder().decode(await recording.line(row)) : null;
  for (const one of fired) {
    const bytes = one.delivered === null ? fromBase64(one.base64) : new TextEncoder().encode(one.delivered);
    if (bytes === null || one.made || one.delivered?.trimEnd() === line) continue;
    container.append(h("h3", {}, `delivered in its place, by ${visibleText(one.rule)}`));
    if (bytes.length === 0) container.append(h("p", {class: "note"}, "nothing: it was cut to 0 bytes"));
    else showBytes(container, singlePiece(bytes), bytes.length);
  }
}

/** @param {Uint8Array} bytes */
async function* singlePiece(bytes) {
  yield bytes;
}

/**
 * @param {HTMLElement} container
 * @param {number} row
 * @param {State} state
 */
async function showPair(container, row, state) {
  const {recording} = state;
  const kind = recording.text("kind", row);
  const pair = recording.pair(row);
  if (pair < 0) {
    const words = kind === "request" ? "This request has no answer in the recording." : kind === "response" || kind === "error"
      ? "The request that this answers is not in the recording." : "A notification, a line or an event has no answer.";
    return container.append(h("p", {class: kind === "request" ? "trouble" : "note"}, words));
  }
  const [request, answer] = kind === "request" ? [row, pair] : [pair, row];
  const latency = durationInWords(recording.numbers("latency_ns")[row]);
  container.append(h("p", {}, `${kind === "request" ? "answered" : "answers what was asked"} ${latency} ${kind === "request" ? "later" : "before"}`));
  const boxes = await Promise.all([request, answer].map(async (one) => {
    const {text} = await recording.cells(one);
    const box = h("div", {class: one === row ? "pair-half here" : "pair-half"},
      h("p", {}, seqButton(state, one), ` ${recording.text("kind", one)}${one === row ? " (this frame)" : ""}`), h("p", {class: "said-line"}, markedText(text)));
    await showTree(box, one, state);
    return box;
  }));
  container.append(h("div", {class: "pair"}, ...boxes));
}
