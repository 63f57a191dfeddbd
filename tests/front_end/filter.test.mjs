import assert from "node:assert/strict";
import { test } from "node:test";

import { parseFilter } from "../../acp_proxy/report/front_end/filter/grammar.js";
import { parsedRaw } from "../../acp_proxy/report/front_end/data/values.js";
import { jsonText } from "../../acp_proxy/report/front_end/filter/json.js";
import { patternTest } from "../../acp_proxy/report/front_end/filter/json.js";

test("a pattern matches whole texts like fnmatchcase of Python", () => {
  const cases = [
    ["session/*", "session/new", true],
    ["session/*", "a session/new", false],
    ["*a*b*", "xaxxbx", true],
    ["*a*b*", "xbxxax", false],
    ["a*a", "a", false],
    ["?", "\u{1f600}", true],
    ["[a-c]x[!0-9]", "bxy", true],
    ["[a-c]x[!0-9]", "bx1", false],
    ["[]a]", "]", true],
    ["[z-a]", "z", false],
    ["[!z-a]", "q", true],
    ["[a-]", "-", true],
    ["[abc", "[abc", true],
    ["*\n", "a\n", true],
  ];
  for (const [pattern, text, expected] of cases) {
    assert.equal(patternTest(pattern)(text), expected, `${pattern} ${text}`);
  }
});

test("numbers are written in the form of Python, whatever their form in JSON is", () => {
  const cases = [
    ["1.0", "1.0"], ["1e5", "100000.0"], ["1E16", "1e+16"], ["1e-5", "1e-05"], ["-0", "0"], ["-0.0", "-0.0"],
    ["0.10", "0.1"], ["123456789012345678901", "123456789012345678901"], ["1e400", "Infinity"],
    ['{"a":1,"b":[1.50,true],"a":null}', '{"a": null, "b": [1.5, true]}'], ['"\\ud800é"', '"\\ud800\\u00e9"'],
  ];
  for (const [text, expected] of cases) assert.equal(jsonText(parsedRaw(text)), expected, text);
});

test("a wrong filter gives an error with the column and the allowed words", () => {
  const rows = { hasLabel: () => false, texts: [], codes: () => [], ask: () => () => 0 };
  const cases = [
    ["kind:request methd:x", "bad filter at column 14: unknown key 'methd': expected dir, method, session, kind, id, seq, size, latency, turn, call, status, is, terminal, text, fault"],
    ["😀 dir:x'\u2028", "bad filter at column 7: 'x'' is not a direction: expected to-agent, to-client"],
  ];
  for (const [text, message] of cases) assert.throws(() => parseFilter(text, rows), { message });
  assert.throws(() => parseFilter("(".repeat(101), rows), /nested more deeply than 100 levels/);
});
