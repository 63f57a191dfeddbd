// The pane about one frame or event: what it says, its JSON, its bytes, and its facts.
import { linkedText, rowsOfCallAt } from "../cards/card.js";
import { clear, h, setAttribute } from "../shell/dom.js";
import { messageOf } from "../shell/state.js";
import { tabList } from "../shell/tabs.js";
import { countInWords, durationInWords, secondsInWords, shellWord, visibleText } from "../shell/words.js";
import { showBytes } from "./hex.js";
import { JsonTree } from "./json_tree.js";
import { saidElements, whyUnread } from "./said.js";
import { fromBase64, parsedLine } from "../data/values.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/recording.js").FiredFault} FiredFault */
/** @typedef {"exchange"|"call"|"turn"} Within */
/** @typedef {{name: string, title: string, show: (container: HTMLElement, row: number, state: State) => Promise<void>}} DetailPane */

const MOST_ARROWS = 30;
const LONGEST_ARROW = 80;
const SENDERS_IN_WORDS = new Map([["to-agent", "client → agent"], ["to-client", "agent → client"], ["stderr", "agent's stderr"]]);

/** @type {DetailPane[]} */
const DETAIL_PANES = [
  { name: "said", title: "Said", show: showSaid },
  { name: "tree", title: "Tree", show: showTree },
  { name: "bytes", title: "Bytes", show: showLineBytes },
  { name: "facts", title: "Facts", show: showFacts },
];

/**
 * What a rule of a plan of faults did to a frame, in words.
 * @param {FiredFault} fired
 * @param {boolean} isChanged whether other bytes were delivered
 */
export function faultInWords(fired, isChanged) {
  const name = fired.rule === fired.action ? fired.rule : `${fired.rule} (${fired.action})`;
  if (fired.made) return `${name}: made up this line`;
  if (fired.delivered === null && fired.base64 === null && !fired.size) return `${name}: nothing was delivered`;
  return `${name}: delivered ${isChanged ? countInWords(Number(fired.size), "other byte") : "the same bytes"}`;
}

/**
 * Whether other bytes than those of its line were delivered.
 * @param {Recording} recording @param {number} row
 */
const isReplaced = (recording, row) => (recording.numbers("flags")[row] & 4) !== 0;

/**
 * The names and values of all that is known of a row besides its line.
 * @param {Recording} recording @param {number} row @returns {Promise<[string, string][]>}
 */
async function factsOf(recording, row) {
  const { t_ns, t_first_ns, size, newline, ...frame } = await recording.frame(row);
  const spread = Number(t_ns) - Number(t_first_ns);
  const { started_at } = recording.meta;
  const date = new Date(Date.parse(started_at ?? "") + Number(t_ns) / 1e6);
  // A log without a zone has the same numbers wherever it is read.
  const clock = /Z|[+-]\d\d:\d\d$/.test(started_at) ? () => date.toISOString() : () => date.toLocaleString("sv");
  const facts = Object.entries({
    ...frame,
    time: date.getTime() > 0 && `${clock()}, ${(Number(t_ns) / 1e9).toFixed(6)} s after the start`,
    arrived: spread > 0 && durationInWords(spread, "over "),
    size: typeof size === "number" && countInWords(size, "byte"),
    newline: typeof newline === "string" && (JSON.stringify(newline).slice(1, -1) || "none"),
    answer: answerInWords(recording, row),
  });
  const delay = recording.numbers("delay_ns")[row];
  if (delay > 0) facts.push(["late", `delivered ${durationInWords(delay)} after it came`]);
  for (const one of (await recording.cells(row)).fired) facts.push(["fired", faultInWords(one, isReplaced(recording, row))]);
  return facts.filter(([, value]) => value !== null && value !== false && value !== "").map(([name, value]) => [name, visibleText(String(value))]);
}

/** @param {Recording} recording @param {number} row */
function answerInWords(recording, row) {
  const isRequest = recording.text("kind", row) === "request";
  const pair = recording.pair(row);
  if (pair < 0) return isRequest ? recording.unanswered : "";
  return `${isRequest ? "answered by" : "answers"} #${recording.numbers("seq")[pair]}${durationInWords(recording.numbers("latency_ns")[row], ", after ")}`;
}

/**
 * What is to be known of a row at once.
 * @param {Recording} recording @param {number} row @param {[string, string][]} facts
 */
function summaryOf(recording, row, facts) {
  const turn = recording.numbers("turn")[row];
  const odd = facts.filter(([name, value]) => name === "late" || name === "fired" || name === "parse_error" || (name === "delivered" && value !== "full"));
  return [
    SENDERS_IN_WORDS.get(recording.text("stream", row) ?? ""), secondsInWords(recording.numbers("t_ns")[row], "at ", " s"),
    turn > 0 && `turn ${turn}`, answerInWords(recording, row), ...odd.map(([name, value]) => `${name}: ${value}`),
  ].filter(Boolean).join(" · ");
}

/**
 * The rows to step through from a row.
 * @param {Recording} recording @param {number} row @param {Within} within
 */
export function rowsWithin(recording, row, within) {
  if (within === "exchange") return [row, recording.pair(row)].filter((one) => one >= 0).sort((a, b) => a - b);
  if (within === "call") return rowsOfCallAt(recording, row);
  const turns = recording.numbers("turn");
  const [first, last] = recording.rowsOfTurn(turns[row]) ?? [0, -1];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index).filter((at) => turns[at] === turns[row]);
}

/**
 * A sequence diagram of the turn or the exchange around a row, in Mermaid's notation; runs of
 * chunks are one arrow.
 * @param {Recording} recording @param {number} row
 */
export async function mermaidAround(recording, row) {
  const runs = recording.numbers("run");
  const around = [...rowsWithin(recording, row, "turn"), ...rowsWithin(recording, row, "exchange")];
  const rows = [...new Set(around)].filter((one) => recording.text("stream", one)?.startsWith("to-") && (Number.isNaN(runs[one]) || runs[one] === one));
  const first = Math.max(0, Math.min(rows.findIndex((one) => one >= row) - MOST_ARROWS / 2, rows.length - MOST_ARROWS));
  const lines = ["sequenceDiagram", "participant client", "participant agent"];
  for (const one of rows.slice(first, first + MOST_ARROWS)) {
    const kind = recording.text("kind", one) ?? "";
    const arrow = kind === "response" || kind === "error" ? "-->>" : "->>";
    const ends = recording.text("stream", one) === "to-agent" ? `client${arrow}agent` : `agent${arrow}client`;
    const text = `#${recording.numbers("seq")[one]} ${recording.text("method", one) ?? kind} ${(await recording.cells(one)).text}`;
    // Mermaid takes any sign as its number.
    const safe = [...visibleText(text)].slice(0, LONGEST_ARROW).join("").replace(/[^\p{L}\p{N} ._/,()?!+=*'-]/gu, (sign) => `#${sign.codePointAt(0)};`);
    lines.push(`${ends}: ${safe}`);
  }
  if (rows.length > MOST_ARROWS) lines.push(`note over client,agent: ${first} before, ${rows.length - first - MOST_ARROWS} after are left out`);
  return `${lines.join("\n  ")}\n`;
}

/** The command that prints a frame. @param {string} name of the recording @param {number} seq */
export const commandFor = (name, seq) => `acp-proxy log ${shellWord(name)} --seq ${seq}`;

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
    const area = h("textarea", { readonly: true, rows: 4, "aria-label": "text to copy" }, text);
    clear(box, "press Ctrl+C to copy: ", area);
    area.select();
  }
}

/**
 * Fills the detail pane, and keeps it at the row that is selected.
 * @param {HTMLElement} container an empty element
 * @param {State} state
 */
export function mountDetail(container, state) {
  const { recording } = state;
  let [version, pair] = [0, -1];
  let pane = DETAIL_PANES[0];
  const [heading, summary] = [h("h2", { class: "detail-title" }), h("p")];
  const copied = h("div", { class: "copied", role: "status" });
  const steppers = /** @type {Within[]} */ (["call", "turn"]).map((within) => stepper(state, within));
  const copyButton = (/** @type {string} */ name, /** @type {() => Promise<string> | string} */ text) => h("button", {
    type: "button", on: { click: async () => copyText(copied, await text()) } }, name);
  const ids = { tab: "detail-tab-", panel: () => "detail-panel" };
  const tabs = tabList("parts of the detail", DETAIL_PANES, ids, choose);
  const panel = h("div", { class: "detail-panel", role: "tabpanel", id: "detail-panel", tabindex: 0 });
  const copies = h("details", { class: "copies" }, h("summary", {}, "Copy"),
    copyButton("command", () => commandFor(recording.meta.name, recording.numbers("seq")[state.row])),
    recording.hasPayloads && copyButton("JSON", async () => new TextDecoder().decode(await recording.line(state.row))),
    copyButton("mermaid", () => mermaidAround(recording, state.row)));
  const controls = h("div", { class: "detail-line" }, tabs.element, steppers.map(({ box }) => box), copies);
  const content = [heading, summary, controls, copied, panel];
  clear(container, h("p", { class: "note" }, recording.rows ? "" : "Nothing was recorded."));

  /** @param {string} name */
  function choose(name) {
    pane = DETAIL_PANES.find((one) => one.name === name) ?? pane;
    void show(state.row);
  }

  /** @param {number} row */
  async function show(row) {
    const mine = ++version;
    if (row < 0) return;
    pair = recording.pair(row);
    const fresh = h("div");
    const [found, empty] = [await factsOf(recording, row), await emptyParts(recording, row)];
    const shown = empty.includes(pane.name) ? DETAIL_PANES[0] : pane;
    try {
      await shown.show(fresh, row, state);
    } catch (error) {
      fresh.append(h("p", { class: "trouble" }, `This cannot be shown: ${messageOf(error)}`));
    }
    // Another row may have been chosen meanwhile.
    if (mine !== version) return;
    if (!panel.isConnected) clear(container, content);
    const name = recording.text("update", row) ?? recording.text("method", row) ?? "event";
    const problems = (recording.problems.get(row) ?? []).map(({ text, severity }) => {
      const [kind, sign] = severity === "warning" ? ["caution", "⚠"] : ["trouble", "✗"];
      return h("span", { class: `${kind} problem` }, `${sign} `, linkedText(state, text));
    });
    clear(heading, h("span", { class: "mono" }, `#${recording.numbers("seq")[row]} ${visibleText(name)}`), " ", h("span", { class: "badge" }, recording.text("kind", row)));
    clear(summary, linkedText(state, summaryOf(recording, row, found)), problems);
    steppers.forEach(({ update }) => update());
    clear(copied);
    tabs.show(shown.name, empty);
    setAttribute(panel, "aria-labelledby", `detail-tab-${shown.name}`);
    clear(panel, fresh);
    container.scrollTop = 0;
  }

  state.on("row", () => show(state.row));
  // Its answer has come.
  state.on("grew", () => state.row >= 0 && recording.pair(state.row) !== pair && show(state.row));
  choose(pane.name);
}

/**
 * Buttons that go to the previous and next row of an exchange, a call or a turn.
 * @param {State} state @param {Within} within
 */
function stepper(state, within) {
  /** @type {number[]} */
  let rows = [];
  const button = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ word) => h("button", {
    type: "button", "aria-label": `${word} in the ${within}`, on: { click: () => state.select(rows[rows.indexOf(state.row) + by] ?? state.row) } }, sign);
  const [previous, place, next] = [button(-1, "‹", "previous"), h("span"), button(1, "›", "next")];
  const box = h("span", {}, previous, place, next);
  const update = () => {
    rows = rowsWithin(state.recording, state.row, within);
    const at = rows.indexOf(state.row);
    box.hidden = rows.length < 2;
    const name = within === "call" ? "call" : `turn ${state.recording.numbers("turn")[state.row]}`;
    clear(place, ` ${at + 1}/${rows.length} of ${name} `);
    setAttribute(previous, "aria-disabled", at === 0 && "true");
    setAttribute(next, "aria-disabled", at === rows.length - 1 && "true");
  };
  return { box, update };
}

/** @param {HTMLElement} container @param {number} row @param {State} state */
async function showSaid(container, row, state) {
  container.append(...(await saidElements(state, row)).filter((one) => one !== false));
  for (const { kind, method, text } of state.recording.meta.members?.[row] ?? []) {
    container.append(h("div", { class: "block" }, h("div", { class: "block-label" }, visibleText(`${kind} ${method ?? ""}`)), h("div", { class: "text" }, visibleText(text ?? ""))));
  }
}

/** @param {HTMLElement} container @param {number} row @param {State} state */
async function showTree(container, row, { recording }) {
  const obstacle = whyUnread(recording, row);
  if (obstacle !== "") return container.append(h("p", { class: "note" }, obstacle));
  const text = new TextDecoder().decode(await recording.line(row));
  try {
    const tree = new JsonTree(text);
    container.append(h("button", { type: "button", on: { click: () => tree.openAll() } }, "open all"), tree.box);
  } catch {
    container.append(h("p", { class: "note" }, "The line is not JSON, or nested too deeply; see its bytes."));
  }
}

/** @param {HTMLElement} container @param {number} row @param {State} state */
async function showLineBytes(container, row, { recording }) {
  if (recording.hasPayloads) showBytes(container, () => recording.pieces(row), recording.lineLength(row));
  else container.append(h("p", { class: "note" }, whyUnread(recording, row)));
  for (const { rule, made, delivered, base64 } of (await recording.cells(row)).fired) {
    const bytes = delivered === null ? fromBase64(base64) : new TextEncoder().encode(delivered);
    if (bytes === null || made || !isReplaced(recording, row)) continue;
    container.append(h("h3", {}, `delivered in its place, by ${visibleText(rule)}`));
    showBytes(container, () => [bytes].values(), bytes.length);
  }
}

/** @param {HTMLElement} container @param {number} row @param {State} state */
async function showFacts(container, row, state) {
  const facts = await factsOf(state.recording, row);
  const list = facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, name === "answer" ? linkedText(state, value) : value)]);
  container.append(h("dl", { class: "facts" }, list));
}

/**
 * The parts of the detail that have nothing to show of a row.
 * @param {Recording} recording @param {number} row
 */
async function emptyParts(recording, row) {
  if (!recording.hasPayloads) return ["tree", (await recording.cells(row)).fired.length ? "" : "bytes"];
  if (whyUnread(recording, row) !== "") return ["tree"];
  return parsedLine(await recording.line(row)) === null ? ["tree"] : [];
}
