import assert from "node:assert/strict";
import {test} from "node:test";

import {patternTest} from "../../acp_proxy/report/front_end/filter/patterns.js";

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
