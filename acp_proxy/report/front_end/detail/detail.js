// The pane about one frame or event: its meaning, its JSON, its bytes, its facts, and a plan of
// faults for it.
import { findingLines, linkedText } from "../cards/card.js";
import { decodeText } from "../data/source.js";
import { columnTerm, termed, termText, verbTerm } from "../filter/term_text.js";
import { button, clear, countInWords, div, durationInWords, failureLine, h } from "../shell/dom.js";
import { noteLine, secondsInWords, setAttribute, shellWord, span, tabList } from "../shell/dom.js";
import { blockElements, bytesElements, JsonTree, labelledBlock } from "./blocks.js";
import { saidBlocks, saidElements, whyUnread } from "./said.js";
import { attempted, fromBase64, parsedLine } from "../data/values.js";
import { DIRECTIONS } from "../filter/grammar.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/recording.js").FiredFault} FiredFault */
/** @typedef {import("../shell/dom.js").Child} Child */
/** @typedef {(row: number, state: State) => Promise<Child[]>} Show draws a part of the detail */

/** @type {Record<string, string>} */
const SENDERS_IN_WORDS = {
  "to-agent": "client → agent", "to-client": "agent → client", stderr: "agent's stderr",
};

/** @type {Show} */
const saidParts = async (row, state) => {
  const said = await saidElements(state, row);
  const members = /** @type {any[]} */ (state.recording.meta.members?.[row] ?? []);
  return [...said, ...members.map(({ kind, method, text }) =>
    labelledBlock(`${kind} ${method ?? ""}`, div("text", text ?? "")))];
};

/** @type {Show} */
const treeParts = async (row, { recording }) => {
  const line = decodeText(await recording.line(row));
  const tree = attempted(() => new JsonTree(line));
  if (tree !== null) return [button("Open all", () => tree.openAll()), tree.box];
  return [noteLine("The line is not JSON, or nested too deeply; see its bytes.")];
};

/** The long texts and diffs of a message, and its JSON. @type {Show} */
export const exchangedParts = async (row, state) => {
  const blocks = saidBlocks(parsedLine(await state.recording.line(row)));
  return [...await blockElements(state, blocks, row), (await treeParts(row, state)).at(-1)];
};

/** @type {Show} */
const bytesParts = async (row, { recording }) => {
  const { fired } = await recording.cells(row);
  const delivered = fired.flatMap(({ rule, made, delivered, base64 }) => {
    const bytes = delivered === null ? fromBase64(base64) : new TextEncoder().encode(delivered);
    if (bytes === null || made || !isReplaced(recording, row)) return [];
    const heading = h("h3", null, `delivered in its place, by ${rule}`);
    return [heading, ...bytesElements([bytes].values(), bytes.length)];
  });
  if (!recording.hasPayloads) return [noteLine(whyUnread(recording, row)), ...delivered];
  return [...bytesElements(recording.pieces(row), recording.lineLength(row)), ...delivered];
};

/** @type {Show} */
const factsParts = async (row, state) => {
  const facts = await factsOf(state.recording, row);
  return [h("dl", { class: "facts" }, facts.flatMap(([name, value]) =>
    [h("dt", null, name), termed(
      h("dd", null, name === "answer" ? linkedText(state, value) : value),
      columnTerm(state.recording, row, name === "event" ? "kind" : name))]))];
};

const DETAIL_PANES = Object.entries(
  { Said: saidParts, Tree: treeParts, Bytes: bytesParts, Facts: factsParts },
).map(([title, show]) => ({ name: title.toLowerCase(), title, show }));

/**
 * What a rule of a plan of faults did to a frame, in words.
 * @param {FiredFault} fired
 * @param {boolean} isChanged whether other bytes were delivered
 */
export function faultInWords({ rule, action, made, delivered, base64, size }, isChanged) {
  const name = rule === action ? rule : `${rule} (${action})`;
  if (made) return `${name}: made up this line`;
  if (delivered === null && base64 === null && !size) return `${name}: nothing was delivered`;
  const bytes = isChanged ? countInWords(Number(size), "other byte") : "the same bytes";
  return `${name}: delivered ${bytes}`;
}

/**
 * Whether the delivered bytes differ from the bytes of the line.
 * @param {Recording} recording @param {number} row
 */
const isReplaced = (recording, row) => (recording.numbers("flags").at(row) & 4) !== 0;

/**
 * The names and values of all facts about a row, except its line.
 * @param {Recording} recording @param {number} row @returns {Promise<[string, string][]>}
 */
async function factsOf(recording, row) {
  const { t_ns, t_first_ns, size, newline, ...frame } = await recording.frame(row);
  const spread = Number(t_ns) - Number(t_first_ns);
  const { started_at } = recording.meta;
  const date = new Date(Date.parse(started_at ?? "") + Number(t_ns) / 1e6);
  // A time without a zone is shown unchanged in every zone.
  const hasZone = /Z|[+-]\d\d:\d\d$/.test(started_at);
  const clock = () => hasZone ? date.toISOString() : date.toLocaleString("sv");
  const delay = recording.numbers("delay_ns").at(row);
  const facts = Object.entries({
    note: recording.meta.notes?.[Number(frame.seq)], ...frame,
    time: date.getTime() > 0 && `${clock()}, ${(Number(t_ns) / 1e9).toFixed(6)} s after the start`,
    arrived: spread > 0 && durationInWords(spread, "over "),
    size: typeof size === "number" && countInWords(size, "byte"),
    newline: typeof newline === "string" && (JSON.stringify(newline).slice(1, -1) || "none"),
    answer: answerInWords(recording, row),
    late: delay > 0 && `delivered ${durationInWords(delay)} after it came`,
  });
  const { fired } = await recording.cells(row);
  for (const one of fired) facts.push(["fired", faultInWords(one, isReplaced(recording, row))]);
  const known = facts.filter(([, value]) => value || value === 0);
  return known.map(([name, value]) => [name, String(value)]);
}

/** @param {Recording} recording @param {number} row */
function answerInWords(recording, row) {
  const isRequest = recording.text("kind", row) === "request";
  const pair = recording.pair(row);
  if (pair < 0) return isRequest ? recording.unanswered : "";
  const took = durationInWords(recording.numbers("latency_ns").at(row), ", after ");
  return `${isRequest ? "answered by" : "answers"} #${recording.numbers("seq").at(pair)}${took}`;
}

/**
 * The summary of a row, which is shown above its parts.
 * @param {Recording} recording @param {number} row @param {[string, string][]} facts
 */
function summaryOf(recording, row, facts) {
  const turn = recording.numbers("turn").at(row);
  const odd = facts.filter(([name, value]) =>
    /^(late|fired|parse_error)$/.test(name) || (name === "delivered" && value !== "full"));
  return [
    SENDERS_IN_WORDS[recording.text("stream", row) ?? ""],
    secondsInWords(recording.numbers("t_ns").at(row), "at ", " s"), turn > 0 && `turn ${turn}`,
    answerInWords(recording, row), ...odd.map(([name, value]) => `${name}: ${value}`),
  ].filter(Boolean);
}

/** The command that prints a frame. @param {string} name of the recording @param {number} seq */
export const commandFor = (name, seq) => `acp-proxy log ${shellWord(name)} --seq ${seq}`;

/**
 * Copies a text. If the browser forbids copying, shows the text.
 * @param {HTMLElement} box for the text and the message
 * @param {string} text
 */
const copyText = (box, text) => Promise.resolve().then(() => navigator.clipboard.writeText(text))
  .then(() => clear(box, `copied (${countInWords(text.length, "character")})`),
    () => clear(box, "Your browser forbids to copy: ", h("pre", null, text)));

/**
 * Fills the detail pane, and keeps it at the row that is selected.
 * @param {HTMLElement} container an empty element
 * @param {State} state
 */
export function mountDetail(container, state) {
  const { recording } = state;
  let [version, shownFacts, pane] = [0, "", DETAIL_PANES[0]];
  const [heading, summary] = [h("h2", { class: "detail-title" }), div("")];
  const copied = h("div", { class: "copied", role: "status" });
  /** @type {(name: string, text: () => Promise<string> | string) => HTMLElement} */
  const copyButton = (name, text) => button(name, async () => copyText(copied, await text()));
  const tabs = tabList("parts of the detail", DETAIL_PANES, () => "detail-panel", choose);
  const panel = h("div",
    { class: "detail-panel", role: "tabpanel", id: "detail-panel", tabindex: 0 });
  const copies = h("details", { class: "copies" }, h("summary", null, "Copy"),
    copyButton("Command", () => commandFor(recording.meta.name, state.seq ?? 0)),
    recording.hasPayloads && copyButton("JSON", () => recording.line(state.row).then(decodeText)));
  const fault = faultMenu(state, copyButton);
  const controls = div("detail-line", tabs.element, copies, fault.menu);
  clear(container, noteLine(recording.rows ? "" : "Nothing was recorded."));

  /** @param {string} name */
  function choose(name) {
    pane = DETAIL_PANES.find((one) => one.name === name) ?? pane;
    void show(state.row);
  }

  /** @param {number} row */
  async function show(row) {
    const mine = ++version;
    if (row < 0) return;
    shownFacts = await factsAround(recording, row);
    const [facts, empty] = [await factsOf(recording, row), await emptyParts(recording, row)];
    const shown = empty.includes(pane.name) ? DETAIL_PANES[0] : pane;
    const parts = await shown.show(row, state).catch((error) => [failureLine(error)]);
    // The reader may have selected another row meanwhile.
    if (mine !== version) return;
    if (!panel.isConnected) {
      clear(container, heading, summary, controls, copied, fault.box, panel);
    }
    const name = recording.text("update", row) ?? recording.text("method", row) ?? "event";
    const number = span("mono", `#${recording.numbers("seq").at(row)} ${name}`);
    const kind = span("badge", recording.text("kind", row));
    const [ofKind, ofStream] = ["kind", "stream"].map((one) => columnTerm(recording, row, one));
    clear(heading, termed(number, verbTerm(recording, row)), " ", termed(kind, ofKind));
    const said = summaryOf(recording, row, facts).flatMap((text, at) => [" ",
      termed(span("figure", linkedText(state, text || "")), at === 0 && ofStream)]);
    const own = new RegExp(`( "[^"]*")? \\(#${state.seq}\\)`);
    clear(summary, findingLines(state, [row], own), h("p", null, said));
    fault.update();
    clear(copied);
    tabs.show(shown.name, empty);
    setAttribute(panel, "aria-labelledby", `tab-${shown.name}`);
    clear(panel, div("", parts));
    container.scrollTop = 0;
  }

  state.on("row", () => show(state.row));
  // Shows the row again when its answer has come, or when its entry has changed.
  state.on("grew", async () => {
    const { row } = state;
    const isSame = row < 0 || (await factsAround(recording, row)) === shownFacts;
    if (!isSame && row === state.row) void show(row);
  });
  choose(pane.name);
}

/**
 * What is shown of frames beside the row's own, as text.
 * @param {Recording} recording @param {number} row
 */
const factsAround = async (recording, row) =>
  `${recording.pair(row)} ${(await recording.entries.about([row]))?.state}`;

/**
 * The names of the parts of the detail that are empty for a row.
 * @param {Recording} recording @param {number} row
 */
async function emptyParts(recording, row) {
  const { fired } = await recording.cells(row);
  if (!recording.hasPayloads) return fired.length ? ["tree"] : ["tree", "bytes"];
  const isNoJson = whyUnread(recording, row) || parsedLine(await recording.line(row)) === null;
  return isNoJson ? ["tree"] : [];
}

/** The kinds of faults, what they do, what a replay does with the frame, and own settings. */
export const FAULTS = [
  ["drop", "Drop it", "does not deliver", ""],
  ["latency", "Delay it", "delivers 10 s late", "latency_ms = 10000"],
  ["replace", "Change it", "delivers changed", ""],
];
/** The keys of the terms and the columns that a plan names. */
const PLAN_COLUMNS = { dir: "stream", kind: "kind", method: "method", session: "session" };
/** For each kind of message, the setting that changes a member. @type {Record<string, string>} */
const CHANGED = {
  request: 'set = { "/params" = "changed" }', notification: 'set = { "/params" = "changed" }',
  response: 'set = { "/result" = "changed" }', error: 'set = { "/error" = "changed" }',
};

/** Whether a plan can name a row. @param {Recording} recording @param {number} row */
export const canFail = ({ meta, rows, text }, row) => (meta.rows_in_recording ?? 0) <= rows
  && DIRECTIONS.includes(text("stream", row) ?? "") && text("fate", row) !== "dropped";

/**
 * A plan, as TOML, that fires once: at the message of a row.
 * @param {Recording} recording @param {number} row
 * @param {string} kind @param {string} how @param {string} settings
 */
export function planText(recording, row, kind, how, settings) {
  const terms = Object.entries(PLAN_COLUMNS).map(([key, name]) => {
    const value = recording.text(name, row);
    return value === null ? `not ${key}:*` : termText(key, value);
  });
  const columns = Object.values(PLAN_COLUMNS).map((name) => recording.codes(name));
  let after = 0;
  for (let at = 0; at < row; at++) {
    const isAlike = columns.every((codes) => codes.at(at) === codes.at(row));
    if (isAlike && recording.text("fate", at) !== "dropped") after += 1;
  }
  const member = CHANGED[recording.text("kind", row) ?? ""] ?? 'frame = "changed"';
  const where = terms.map((term) => JSON.stringify(term).slice(1, -1)).join("\n")
    .replaceAll("\x7f", "\\u007f");
  return [
    `# A replay ${how} #${recording.numbers("seq").at(row)}.`, "[[fault]]", `kind = "${kind}"`,
    `where = """\n${where}"""`, `after = ${after}`, "times = 1",
    kind === "replace" ? member : settings,
  ].filter(Boolean).join("\n");
}

/**
 * @param {import("../shell/state.js").State} state
 * @param {(name: string, text: () => string) => HTMLElement} copyButton
 */
export function faultMenu(state, copyButton) {
  const { recording } = state;
  let shown = -1;
  const plan = h("textarea", { wrap: "off", "aria-label": "Plan of faults", spellcheck: "false" });
  const command = () => `acp-proxy replay ${shellWord(recording.meta.name)} --faults plan.toml`;
  const box = div("fault-plan", noteLine("Save as plan.toml:"),
    plan, copyButton("Copy plan", () => plan.value),
    h("p", null, "Run: ", h("code", null, command())), copyButton("Copy command", command));
  const kinds = FAULTS.map(([kind, words, how, settings], at) => button(words, () => {
    kinds.forEach((one, other) => setAttribute(one, "aria-pressed", String(other === at)));
    plan.value = planText(recording, state.row, kind, how, settings);
    box.hidden = false;
  }));
  const menu = h("details", { class: "copies" }, h("summary", null, "Replay with a fault"), kinds);
  const update = () => {
    menu.hidden = !canFail(recording, state.row);
    box.hidden ||= menu.hidden || shown !== state.row;
    if (box.hidden) for (const one of kinds) setAttribute(one, "aria-pressed", "false");
    shown = state.row;
  };
  box.hidden = true;
  return { menu, box, update };
}
