// Reads the text form of a recording as text-form.md describes it, with text-form.schema.json beside it. Node 18 or
// later, nothing to install.
//
//   node text-form-reader.mjs run.jsonl      prints what each line means, as JSON
//   import { readTextForm } from './text-form-reader.mjs'
//
// Times are nanoseconds as BigInt, and bytes are Buffers. An error begins with the number of the line.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SCHEMA = JSON.parse(readFileSync(new URL('text-form.schema.json', import.meta.url)));
const LIMIT = 1n << 63n;
const KINDS = { event: 'event', fired: 'fired', stream: 'frame' }; // each kind by the member that only its lines have
const BIG = ['wall', 'origin', 'since', 'bytes', 'to-agent', 'to-client', 'stderr'];
const TOKEN = /[ \t\r\n]*("(?:[^"\\]|\\.)*"|[-+.\w]+|[{}[\],:])/gy;
const ORIGIN = {
  lost: [], resolution_ns: null, inferred_directions: 0, inferred_times: 0, skipped: 0, named_answers: [],
};

const hex = (character) => `\\u${character.charCodeAt().toString(16).padStart(4, '0')}`;
const plain = (text) => text;
const ascii = (text) => text.replace(/[\u007f-\uffff]/g, hex);
const html = (text) => text.replace(/[<>&\u2028\u2029]/g, hex);
const STYLES = { // what follows a comma and a colon, and how a string is written
  compact: ['', plain], ascii: ['', ascii], spaced: [' ', plain], 'spaced-ascii': [' ', ascii], html: ['', html],
};

function check(isTrue, problem) {
  if (!isTrue) throw new Error(problem);
}

/** Whether a value matches a part of the schema; supports only the keywords that the schema uses. */
function fits(schema, value) {
  if (schema.$ref) return fits(SCHEMA.definitions[schema.$ref.split('/').pop()], value);
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? type].flat().map((one) => (one === 'integer' && Number.isInteger(value) ? 'number' : one));
  return types.includes(type)
    && (schema.const ?? value) === value
    && (schema.enum ?? [value]).includes(value)
    && (type !== 'number' || value >= (schema.minimum ?? value))
    && (type !== 'string' || new RegExp(schema.pattern ?? '').test(value))
    && (type !== 'array' || value.every((one) => fits(schema.items ?? {}, one)))
    && (schema.required ?? []).every((name) => Object.hasOwn(value, name))
    && Object.entries(schema.properties ?? {}).every(([name, of]) => !Object.hasOwn(value, name) || fits(of, value[name]))
    && (schema.additionalProperties !== false || Object.keys(value).every((name) => Object.hasOwn(schema.properties, name)))
    && (!schema.oneOf || schema.oneOf.filter((one) => fits(one, value)).length === 1)
    && (schema.allOf ?? []).every((one) => fits(one, value))
    && !(schema.not && fits(schema.not, value));
}

/** Writes the value of `message` in a style, token by token: a JavaScript object may change the order of its members. */
function spell(line, style) {
  const [blank, write] = STYLES[style];
  let depth = 0, before = '', key = null, spelled = '';
  for (const [, token] of line.matchAll(TOKEN)) {
    if ('}]'.includes(token)) depth -= 1;
    if (depth === 1 && before && '{,'.includes(before)) [key, spelled] = [JSON.parse(token), token === '"message"' ? '' : spelled];
    else if (depth === 1 && token === ',') key = null;
    else if (key === 'message' && depth > 0 && !(depth === 1 && token === ':')) {
      if (token[0] === '"') spelled += write(JSON.stringify(JSON.parse(token)));
      else if (',:'.includes(token)) spelled += token + blank;
      else spelled += /^-?\d+[.eE]/.test(token) ? String(Number(token)) : token;
    }
    if ('{['.includes(token)) depth += 1;
    before = depth === 1 ? token : '';
  }
  return Buffer.from(spelled);
}

function bytesOf(text, base64) {
  if (base64 != null) return Buffer.from(base64, 'base64');
  if (text == null) return null;
  check(Buffer.from(text).toString() === text, 'there is half a character');
  return Buffer.from(text);
}

function nanoseconds(ms = 0) {
  const [, sign, whole, part] = /^(-?)(\d{1,20})\.?(\d{0,6})$/.exec(String(ms)) ?? [];
  check(whole, `${ms} is no time in milliseconds`);
  return BigInt(`${sign}${whole}${part.padEnd(6, '0')}`);
}

function header(value) {
  check(!(value?.acp_proxy > 1), `this is version ${value?.acp_proxy}, and the reader is for version 1`);
  check(fits(SCHEMA.definitions.header, value), 'this is no header');
  const { command: words = [], state = 'complete' } = value.recording;
  const command = typeof words === 'string' ? JSON.parse(words) : words;
  check(fits({ type: 'array', items: { type: 'string' } }, command), 'command is no list of strings');
  const { origin } = value.recording;
  return { recording: { ...value.recording, command, state, ...(origin && { origin: { ...ORIGIN, ...origin } }) } };
}

function frame(value, line) {
  const { stream, lag_ms, newline = '\n', delivered = 'full', fault = null, masked = false, style = 'compact' } = value;
  const raw = 'message' in value ? spell(line, style) : bytesOf(value.text, value.base64);
  check(!raw.includes(10), 'these are several lines');
  return { stream, lag_ns: nanoseconds(lag_ms), raw, newline, delivered, fault, masked };
}

function event({ event: kind, data: given = {} }) {
  const data = typeof given === 'string' ? JSON.parse(given) : { ...given };
  check(fits({ type: 'object' }, data), 'data is no object');
  for (const name of BIG) {
    if (typeof data[name] !== 'string' || !/^\d{1,19}$/.test(data[name])) continue;
    const digits = BigInt(data[name]);
    data[name] = digits > Number.MAX_SAFE_INTEGER ? digits : Number(digits);
  }
  return { event: kind, data };
}

function fired({ rule = null, action = null, late_ms = null, ...bytes }) {
  const [received, delivered] = ['received', 'delivered'].map((name) => bytesOf(bytes[name], bytes[`${name}_base64`]));
  const late_ns = late_ms === null ? null : nanoseconds(late_ms);
  return { rule, action, received, delivered, late_ns };
}

/** Yields the recording, and then each frame, event and fired fault, from the bytes of a text form. */
export function* readTextForm(bytes) {
  let seq = 0, now = 0n, number = 0, hasHeader = false;
  for (let start = 0, end; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(10, start) < 0 ? bytes.length : bytes.indexOf(10, start);
    number += 1;
    try {
      const line = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number > 1 }).decode(bytes.subarray(start, end));
      if (/^\s*(#|$)/.test(line)) continue;
      const value = JSON.parse(line);
      if (!hasHeader) {
        yield header(value);
        hasHeader = true;
        continue;
      }
      const kind = KINDS[Object.keys(KINDS).find((name) => value?.[name] !== undefined)];
      check(kind && fits(SCHEMA.definitions[kind], value), `this is no ${kind ?? 'frame or event'}`);
      if (kind === 'fired') {
        yield { seq: value.seq ?? seq, fired: fired(value.fired) };
        continue;
      }
      check((value.seq ?? seq + 1) > seq, `seq is not beyond ${seq}`);
      seq = value.seq ?? seq + 1;
      now += nanoseconds(value.after_ms);
      check(now < LIMIT && now >= -LIMIT, 'after_ms is out of range');
      yield { seq, t_ns: now, ...(kind === 'event' ? event(value) : frame(value, line)) };
    } catch (error) {
      throw new Error(`line ${number}: ${error.message}`);
    }
  }
  if (!hasHeader) throw new Error(`line ${Math.max(1, number)}: there is no header`);
}

/** Writes what was read as JSON: bytes as Base64, and BigInts as strings. */
export function asJson(item) {
  return JSON.stringify(item, (_, value) => (typeof value === 'bigint' ? String(value)
    : value?.type === 'Buffer' ? Buffer.from(value.data).toString('base64') : value));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const item of readTextForm(readFileSync(process.argv[2]))) console.log(asJson(item));
  } catch (error) {
    console.error(`${process.argv[2]}: ${error.message}`);
    process.exitCode = 1;
  }
}
