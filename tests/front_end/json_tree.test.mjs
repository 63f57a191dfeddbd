// Reads JSON so that nothing is changed by showing it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { RawValue, parsedRaw } from "../../acp_proxy/report/front_end/data/values.js";

const shape = (value) => (value instanceof RawValue ? String(value) : Object.entries(value).map(([name, one]) => [name, shape(one)]));

test("numbers keep their written form, and strings keep their escapes", () => {
  const json = parsedRaw(' {"a": 1.00, "b":1e400,"c":[ true,null, "\\u0041\\n{\\"" ,{}, []]} ');
  assert.deepEqual(shape(json), [["a", "1.00"], ["b", "1e400"],
    ["c", [["0", "true"], ["1", "null"], ["2", '"\\u0041\\n{\\""'], ["3", []], ["4", []]]]]);
  assert.deepEqual(["-1", '"x"', "null"].map((text) => shape(parsedRaw(text))), ["-1", '"x"', "null"]);
});
