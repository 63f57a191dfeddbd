import assert from "node:assert/strict";
import {test} from "node:test";

import { parseFilter } from "../../acp_proxy/report/front_end/filter/grammar.js";
import { jsonText, parseJson } from "../../acp_proxy/report/front_end/filter/json.js";
import { patternTest } from "../../acp_proxy/report/front_end/filter/patterns.js";

test("a pattern matches whole texts as fnmatchcase does", () => {
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

test("numbers are written as Python writes them, however they were sent", () => {
  const cases = [
    ["1.0", "1.0"], ["1e5", "100000.0"], ["1E16", "1e+16"], ["1e-5", "1e-05"], ["-0", "0"], ["-0.0", "-0.0"],
    ["0.10", "0.1"], ["123456789012345678901", "123456789012345678901"], ["1e400", "Infinity"], ["NaN", "NaN"],
    ['{"a":1,"b":[1.50,true],"a":null}', '{"a": null, "b": [1.5, true]}'], ['"\\ud800é"', '"\\ud800\\u00e9"'],
  ];
  for (const [text, expected] of cases) assert.equal(jsonText(parseJson(text)), expected, text);
  for (const text of ["", "[1,]", "{,}", "01", "1 2", '"\n"', '"\\x"', "[1", '{"a"}', "9".repeat(4301)]) {
    assert.equal(parseJson(text), undefined, text.slice(0, 9));
  }
});

test("a mistake is answered with its column and the nearest word", () => {
  const known = { hasLabel: () => false, lastTurn: null };
  const cases = [
    ["kind:request methd:x", "bad filter at column 14: unknown key 'methd'; did you mean method?"],
    ["turn:last", "bad filter at column 6: the last turn is that of one recording; expected a number"],
    ["😀 dir:x'\u2028", "bad filter at column 7: \"x'\" is no direction: expected to-agent, to-client"],
  ];
  for (const [text, message] of cases) assert.throws(() => parseFilter(text, known), { message });
  assert.throws(() => parseFilter("(".repeat(101), known), /nested more deeply than 100 levels/);
});
