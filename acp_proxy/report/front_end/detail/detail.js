// The pane about one frame or event: its facts, what it says, its JSON, its bytes and the frame beside it.
import {rowsOfCallAt, seqButton} from "../cards/card.js";
import {clear, h, setAttribute} from "../shell/dom.js";
import {markedText, showBytes} from "./hex.js";
import {JsonText, JsonTree} from "./json_tree.js";
import {LARGEST_READ, saidElements} from "./said.js";
import {countInWords, durationInWords, fromBase64, shellWord, sizeInWords, visibleText} from "./values.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/recording.js").FiredFault} FiredFault */
/** @typedef {"exchange"|"call"|"turn"} Within */
/** @typedef {{name: string, title: string, show: (container: HTMLElement, row: number, state: State) => Promise<void>}} DetailPane */

const MOST_ARROWS = 30;
const LONGEST_ARROW = 80;
const SENDERS_IN_WORDS = new Map([["to-agent", "client → agent"], ["to-client", "agent → client"], ["stderr", "agent's stderr"]]);
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
  const {fired} = await recording.cells(row);
  const [t, size, newline] = [Number(frame.t_ns), Number(frame.size), String(frame.newline ?? "")];
  const started = Date.parse(recording.meta.started_at);
  const clock = Number.isNaN(started) ? "" : `${new Date(started + t / 1e6).toISOString().replace("T", " ").replace("Z", " UTC")}, `;
  const spread = t - Number(frame.t_first_ns);
  const isChanged = (recording.numbers("flags")[row] & 4) !== 0;
  const isFrame = !("event" in frame);
  /** @type {[string, unknown][]} */
  const facts = [
    ["number", frame.seq], ["time", `${clock}${(t / 1e9).toFixed(6)} s after the start`], ["event", frame.event],
    ["arrived", spread > 0 ? `over ${durationInWords(spread)}` : ""],
    ...["stream", "kind", "method"].map((name) => /** @type {[string, unknown]} */ ([name, frame[name]])), ["id", frame.rpc_id],
    ...["exchange", "session", "turn", "tool_call", "terminal"].map((name) => /** @type {[string, unknown]} */ ([name, frame[name]])),
    ["size", isFrame ? `${countInWords(size, "byte")}${size < 1000 ? "" : ` (${sizeInWords(size)})`}` : ""],
    ["newline", isFrame ? newline.replace("\r", "\\r").replace("\n", "\\n") || "none" : ""], ["delivered", frame.delivered], ["fault", frame.fault],
    ...fired.map((one) => /** @type {[string, unknown]} */ (["fired", faultInWords(one, size + newline.length, isChanged)])),
    ["parse_error", frame.parse_error], ["answer", isFrame ? answerInWords(recording, row) : ""],
  ];
  return facts.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [name, visibleText(String(value))]);
}

/**
 * @param {Recording} recording
 * @param {number} row
 */
function answerInWords(recording, row) {
  const isRequest = recording.text("kind", row) === "request";
  const pair = recording.pair(row);
  if (pair < 0) return isRequest ? "not answered" : "";
  return `${isRequest ? "answered by" : "answers"} #${recording.numbers("seq")[pair]}, after ${durationInWords(recording.numbers("latency_ns")[row])}`;
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
  const inTurn = rowsWithin(recording, row, "turn").filter((one) => recording.text("stream", one)?.startsWith("to-") && (Number.isNaN(runs[one]) || runs[one] === one));
  const rows = inTurn.length > 0 ? inTurn : rowsWithin(recording, row, "exchange");
  const first = Math.max(0, Math.min(rows.findIndex((one) => one >= row) - (MOST_ARROWS >> 1), rows.length - MOST_ARROWS));
  const lines = ["sequenceDiagram", "participant client", "participant agent"];
  if (first > 0) lines.push(`note over client,agent: ${first} earlier`);
  for (const one of rows.slice(first, first + MOST_ARROWS)) {
    const [kind, isToAgent] = [recording.text("kind", one), recording.text("stream", one) === "to-agent"];
    const arrow = kind === "response" || kind === "error" ? "-->>" : "->>";
    const text = visibleText(`#${seqs[one]} ${recording.text("method", one) ?? kind} ${(await recording.cells(one)).text}`).replace(/\s+/g, " ");
    const cut = [...text].slice(0, LONGEST_ARROW).join("");
    // Mermaid takes any sign as its number.
    const safe = cut.replace(/[^\p{L}\p{N} ._/,()?!+=*'-]/gu, (sign) => `#${sign.codePointAt(0)};`);
    lines.push(`${isToAgent ? "client" : "agent"}${arrow}${isToAgent ? "agent" : "client"}: ${safe}${cut === text ? "" : "…"}`);
  }
  if (first + MOST_ARROWS < rows.length) lines.push(`note over client,agent: ${rows.length - first - MOST_ARROWS} more`);
  return `${lines.join("\n  ")}\n`;
}

/**
 * The command that prints a frame.
 * @param {string} name of the recording
 * @param {number} seq
 * @returns {string}
 */
export function commandFor(name, seq) {
  return `acp-proxy inspect log ${shellWord(name)} --seq ${seq}`;
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
  let version = 0;
  let pane = DETAIL_PANES[0];

  const step = (/** @type {number} */ by, /** @type {Within} */ within) => {
    const rows = rowsWithin(recording, state.row, within);
    const next = rows[rows.indexOf(state.row) + by];
    if (next !== undefined) state.select(next);
  };
  const stepper = (/** @type {Within} */ within) => {
    const button = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ word) => h("button", {
      type: "button", "aria-label": `${word} in the ${within}`, on: {click: () => step(by, within)}}, sign);
    const [previous, place, next] = [button(-1, "‹", "previous"), h("span"), button(1, "›", "next")];
    const box = h("span", {}, previous, place, next);
    const update = () => {
      const rows = rowsWithin(recording, state.row, within);
      const at = rows.indexOf(state.row);
      box.hidden = rows.length < 2;
      clear(place, ` ${within} ${at + 1}/${rows.length} `);
      setAttribute(previous, "aria-disabled", at === 0 && "true");
      setAttribute(next, "aria-disabled", at === rows.length - 1 && "true");
    };
    return {box, update};
  };
  const copied = h("div", {class: "copied", role: "status"});
  const copyButton = (/** @type {string} */ name, /** @type {() => string | Promise<string>} */ text) => {
    const copy = async () => {
      try {
        await copyText(copied, await text());
      } catch (error) {
        clear(copied, String(error));
      }
    };
    return h("button", {type: "button", on: {click: copy}}, name);
  };
  const copiedLine = async () => {
    const bytes = recording.hasPayloads ? await recording.line(state.row) : null;
    return bytes === null ? WITHOUT_PAYLOADS : new TextDecoder().decode(bytes);
  };

  const steppers = [stepper("exchange"), stepper("call"), stepper("turn")];
  const [heading, summary] = [h("h2", {class: "detail-title"}), h("p")];
  const facts = h("dl", {class: "facts"});
  const tabs = DETAIL_PANES.map((one) => h("button", {
    type: "button", role: "tab", id: `detail-tab-${one.name}`, "aria-controls": "detail-panel", on: {click: () => choose(one)}}, one.title));
  const panel = h("div", {class: "detail-panel", role: "tabpanel", id: "detail-panel", tabindex: "0"});
  const content = h("div", {hidden: true}, heading, summary,
    h("div", {class: "detail-line"}, steppers.map(({box}) => box)),
    h("details", {}, h("summary", {}, "all facts"), facts),
    h("div", {class: "detail-line note"}, "copy as",
      copyButton("command", () => commandFor(recording.meta.name, recording.numbers("seq")[state.row])),
      copyButton("JSON", copiedLine), copyButton("mermaid", () => mermaidAround(recording, state.row))),
    copied, h("div", {class: "detail-tabs", role: "tablist", "aria-label": "parts of the detail", on: {keydown: onTabKey}}, tabs), panel);
  const empty = h("p", {class: "note"}, "Choose a row to see what it says.");
  clear(container, empty, content);

  /** @param {DetailPane} chosen */
  function choose(chosen) {
    pane = chosen;
    return show(state.row);
  }

  /** @param {KeyboardEvent} event */
  function onTabKey(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? DETAIL_PANES.length - 1 : 0;
    if (by === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (DETAIL_PANES.indexOf(pane) + by) % DETAIL_PANES.length;
    void choose(DETAIL_PANES[next]);
    tabs[next].focus();
  }

  /** @param {number} row */
  async function show(row) {
    const mine = ++version;
    [content.hidden, empty.hidden] = [row < 0, row >= 0];
    if (row < 0) return;
    const fresh = h("div");
    const found = await factsOf(recording, row);
    try {
      await pane.show(fresh, row, state);
    } catch (error) {
      fresh.append(h("p", {class: "trouble"}, `This cannot be shown: ${error instanceof Error ? error.message : error}`));
    }
    // Another row may have been chosen meanwhile.
    if (mine !== version) return;
    const kind = recording.text("stream", row) === "event" ? "event" : recording.text("kind", row) ?? "";
    const name = recording.text("update", row) ?? recording.text("method", row) ?? recording.text("kind", row) ?? "";
    clear(heading, h("span", {class: "mono"}, `#${recording.numbers("seq")[row]} ${visibleText(name)}`), " ", name !== kind && h("span", {class: "badge"}, kind));
    clear(summary, summaryOf(recording, row, found), (recording.problems.get(row) ?? []).filter(Boolean).map((text) => h("span", {class: "trouble problem"}, `✗ ${visibleText(text)}`)));
    steppers.forEach(({update}) => update());
    clear(facts, found.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
    clear(copied);
    DETAIL_PANES.forEach((one, index) => {
      tabs[index].setAttribute("aria-selected", String(one === pane));
      tabs[index].tabIndex = one === pane ? 0 : -1;
    });
    setAttribute(panel, "aria-labelledby", `detail-tab-${pane.name}`);
    clear(panel, fresh);
    container.scrollTop = 0;
  }

  state.on("row", () => show(state.row));
  void show(state.row);
  return {show, step};
}

/**
 * @param {Recording} recording
 * @param {number} row
 * @param {[string, string][]} facts
 */
function summaryOf(recording, row, facts) {
  const turn = recording.numbers("turn")[row];
  const odd = facts.filter(([name, value]) => name === "fired" || name === "parse_error" || (name === "delivered" && value !== "full"));
  return [
    SENDERS_IN_WORDS.get(recording.text("stream", row) ?? ""), `at ${(recording.numbers("t_ns")[row] / 1e9).toFixed(3)} s`,
    Number.isNaN(turn) ? "" : `turn ${turn}`, answerInWords(recording, row), ...odd.map(([name, value]) => `${name === "fired" ? "fault" : name} ${value}`),
  ].filter(Boolean).join(" · ");
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
  if (recording.hasPayloads) showBytes(container, () => recording.pieces(row), recording.lineLength(row));
  else container.append(h("p", {class: "note"}, WITHOUT_PAYLOADS));
  const {fired} = await recording.cells(row);
  const line = recording.hasPayloads && recording.lineLength(row) <= LARGEST_READ ? new TextDecoder().decode(await recording.line(row)) : null;
  for (const one of fired) {
    const bytes = one.delivered === null ? fromBase64(one.base64) : new TextEncoder().encode(one.delivered);
    if (bytes === null || one.made || one.delivered?.trimEnd() === line) continue;
    container.append(h("h3", {}, `delivered in its place, by ${visibleText(one.rule)}`));
    if (bytes.length === 0) container.append(h("p", {class: "note"}, "nothing: it was cut to 0 bytes"));
    else showBytes(container, () => singlePiece(bytes), bytes.length);
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
      ? "The request that this answers is not in this report." : "Only a request has an answer.";
    return container.append(h("p", {class: kind === "request" ? "trouble" : "note"}, words));
  }
  const latency = durationInWords(recording.numbers("latency_ns")[row]);
  const boxes = (kind === "request" ? [row, pair] : [pair, row]).map(async (one) => {
    const {text} = await recording.cells(one);
    const box = h("div", {class: one === row ? "pair-half here" : "pair-half"},
      h("p", {}, seqButton(state, one), ` ${recording.text("kind", one)}${one === row ? " (this frame)" : ""}`), h("p", {class: "text"}, markedText(text)));
    await showTree(box, one, state);
    return box;
  });
  container.append(h("p", {}, `The answer came ${latency} after the request.`), h("div", {class: "pair"}, await Promise.all(boxes)));
}
