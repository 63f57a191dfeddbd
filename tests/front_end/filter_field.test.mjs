// The field of the filter: terms are written and added, and words are completed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { completionOf } from "../../acp_proxy/report/front_end/filter/filter_field.js";
import { parseFilter } from "../../acp_proxy/report/front_end/filter/grammar.js";
import { FilterRows } from "../../acp_proxy/report/front_end/filter/rows.js";
import { termText, termsIn, withTerm } from "../../acp_proxy/report/front_end/filter/term_text.js";
import { sourceOf } from "./blocks.mjs";

const HELP = [["is:failed", "errors"], ["is:unanswered", "requests"], ["method:prompt", "a method"], ["kind:error or turn:1", "terms"]];
const NAMES = ["s", "s 1", 'a"b', "a*", "[x]", "?", "a\u200bb", "a\\b", "(or)", "é"];

const recordingOf = (rows) => Recording.read(sourceOf(rows.map((row, at) => ({ seq: at + 1, t_ns: at, ...row }))));

test("the term of a value matches this value alone", async () => {
  const recording = await recordingOf(NAMES.map((session) => ({ stream: "to-agent", session })));
  for (const [row, name] of NAMES.entries()) {
    const judge = parseFilter(termText("session", name), new FilterRows(recording));
    assert.deepEqual(NAMES.filter((_, at) => judge(at) > 0), [NAMES[row]], termText("session", name));
  }
});

test("a term is added once, and a plain filter is divided into its terms", () => {
  assert.deepEqual(termsIn('turn:1 and session:"a or b"'), ["turn:1", 'session:"a or b"']);
  assert.deepEqual(termsIn(" a or b "), ["a or b"]);
  assert.deepEqual(termsIn("not a"), ["not a"]);
  const cases = [
    ["", "b", "b"], ["a", "b", "a b"], ["a b", "b", "a b"], ["not b", "b", "not b b"], ["a or c", "b", "(a or c) b"], ["(a or c) d", "b", "((a or c) d) b"],
  ];
  for (const [filter, term, expected] of cases) assert.equal(withTerm(filter, term), expected);
});

test("a word is completed by keys, and after a key by values, the most frequent first", async () => {
  const recording = await recordingOf([
    { stream: "to-agent", kind: "request", method: "a/new", turn: 1 }, { stream: "to-agent", kind: "request", method: "a/prompt", turn: 2 },
    { stream: "to-client", kind: "response", method: "a/prompt", turn: 2 }, { stream: "event", kind: "started" },
  ]);
  const offered = (text, caret = text.length) => completionOf(recording, HELP, text, caret).offers.map((offer) => offer.text);
  assert.deepEqual(offered(""), ["is:", "method:", "kind:"]);
  assert.deepEqual(offered("x (k"), ["kind:"]);
  assert.deepEqual(offered("method:"), ["method:a/prompt", "method:a/new"]);
  assert.deepEqual(offered("method:NE"), ["method:a/new"]);
  assert.deepEqual(offered('method:"ne'), ["method:a/new"]);
  assert.deepEqual(offered("kind:"), ["kind:request", "kind:response", "kind:event"]);
  assert.deepEqual(offered("dir:"), ["dir:to-agent", "dir:to-client"]);
  assert.deepEqual(offered("turn:"), ["turn:2", "turn:1", "turn:last"]);
  assert.deepEqual(offered("kind:event"), []);
  assert.deepEqual(offered("constructor:"), []);
  const { start, end } = completionOf(recording, HELP, "a kind:re turn:1", 8);
  assert.deepEqual([start, end], [2, 9]);
});
