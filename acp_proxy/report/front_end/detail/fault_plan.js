// Writes plans of faults that change one message when its recording is replayed.
import { termText } from "../filter/term_text.js";
import { DIRECTIONS } from "../filter/terms.js";
import { isObject, parsedLine } from "../data/values.js";

/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {[pointer: string, value: unknown]} Leaf a member without members */

/** The columns that a plan names. The session and the direction have a count of matches. */
const PLAN_COLUMNS = ["stream", "kind", "method", "session"];
const DELAY_MS = 10_000;

/** Whether a plan can name a row. @param {Recording} recording @param {number} row */
export const canFail = ({ meta, rows, text }, row) => (meta.rows_in_recording ?? 0) <= rows
  && DIRECTIONS.includes(text("stream", row) ?? "") && text("fate", row) !== "dropped";

/**
 * A plan, as TOML, that fires once: at the message of a row.
 * @param {Recording} recording @param {number} row @param {"drop" | "latency" | "replace"} kind
 */
export async function planText(recording, row, kind) {
  const [stream, ...labels] = PLAN_COLUMNS.map((name) => recording.text(name, row));
  const [ofKind, ...others] = ["kind", "method", "session"].map((key, at) =>
    labels[at] === null ? `not ${key}:*` : termText(key, labels[at]));
  const before = rowsBefore(recording, row);
  const isChange = kind === "replace";
  const [pointer, value] = isChange ? changeable(parsedLine(await recording.line(row))) : [];
  const other = typeof value === "boolean" ? !value : typeof value === "number" ? 0 : "changed";
  let after = pointer ? 0 : before.length;
  // A message without the member does not count.
  for (const one of pointer ? before : []) {
    after += Number(hasMember(parsedLine(await recording.line(one)), String(pointer)));
  }
  return [
    `# Only frame #${recording.numbers("seq").at(row)}.`, "[[fault]]", `kind = "${kind}"`,
    `where = ${quotedToml([`dir:${stream}`, ofKind, ...others].join(" "))}`,
    `after = ${after}`, "times = 1", kind === "latency" && `latency_ms = ${DELAY_MS}`,
    pointer && `change = { ${quotedToml(pointer)} = ${JSON.stringify(other)} }`,
    isChange && !pointer && 'frame = "changed"',
  ].filter(Boolean).join("\n") + "\n";
}

/**
 * The earlier messages that match the filter of a plan.
 * @param {Recording} recording @param {number} row
 */
function rowsBefore(recording, row) {
  const columns = PLAN_COLUMNS.map((name) => recording.codes(name));
  const [fates, dropped] = [recording.codes("fate"), recording.code("dropped") || -1];
  const rows = [];
  for (let at = 0; at < row; at++) {
    const isAlike = columns.every((codes) => codes.at(at) === codes.at(row));
    if (isAlike && fates.at(at) !== dropped) rows.push(at);
  }
  return rows;
}

/**
 * The member that a plan changes: the first text with a blank, or else the first text that is no
 * id, or else any.
 * @param {unknown} message @returns {Leaf | []} empty if the message has no members
 */
function changeable(message) {
  const { params, result, error, method } = isObject(message) ? message : {};
  const all = [...leavesOf(isObject(message) ? { params, result, error, method } : message)]
    .filter(([pointer, value]) => pointer && value !== undefined && !/\p{Cs}/u.test(pointer));
  const texts = all.filter(([, value]) => typeof value === "string");
  return texts.find(([, value]) => /\s/.test(String(value)))
    ?? texts.find(([pointer]) => !/id$/i.test(pointer)) ?? all[0] ?? [];
}

/** @param {unknown} value @param {string} [pointer] @returns {Generator<Leaf>} */
function* leavesOf(value, pointer = "") {
  const members = value instanceof Object ? Object.entries(value) : [];
  if (members.length === 0) yield [pointer, value];
  for (const [name, inner] of members) {
    yield* leavesOf(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

/** @param {unknown} message @param {string} pointer */
function hasMember(message, pointer) {
  let value = /** @type {any} */ (message);
  return pointer.slice(1).split("/").every((part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = value instanceof Object && Object.keys(value).includes(name);
    value = isThere && value[name];
    return isThere;
  });
}

/** @param {string} text */
const quotedToml = (text) => JSON.stringify(text).replaceAll("\x7f", "\\u007f");
