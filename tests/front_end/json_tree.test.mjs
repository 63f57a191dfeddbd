// Cuts JSON into tokens: nothing is changed by showing it.
import assert from "node:assert/strict";
import {test} from "node:test";

import {JsonText, readableToken} from "../../acp_proxy/report/front_end/detail/json_tree.js";

const shape = (json, token = 0) => {
  const kind = json.kind(token);
  if (kind !== "object" && kind !== "array") return json.raw(token);
  return [kind, ...[...json.children(token)].map(([name, value]) => [name < 0 ? "" : json.raw(name), shape(json, value)])];
};

test("numbers keep their form, objects a repeated name, strings their escapes", () => {
  const json = new JsonText(' {"a": 1.00, "a":1e400,"b":[ true,null, "\\u0041\\n{\\"" ,{}, []]} ');
  assert.deepEqual(shape(json), ["object", ['"a"', "1.00"], ['"a"', "1e400"],
    ['"b"', ["array", ["", "true"], ["", "null"], ["", '"\\u0041\\n{\\""'], ["", ["object"]], ["", ["array"]]]]]);
  assert.deepEqual(["-1", '"x"', "null"].map((text) => shape(new JsonText(text))), ["-1", '"x"', "null"]);
});

test("what is no JSON is refused", () => {
  for (const text of ["", "[", "[1,]", '{"a"', "1 2", "nul"]) assert.throws(() => new JsonText(text), SyntaxError);
});

test("depth and size do not matter", () => {
  const deep = new JsonText("[".repeat(200_000) + "]".repeat(200_000));
  assert.equal([...deep.children(0)].length, 1);
  assert.equal(new JsonText(`{"x": "${"\\n".repeat(1_000_000)}"}`).start.length, 3);
  assert.equal([...new JsonText(`[${"0,".repeat(300_000)}0]`).children(0)].length, 300_001);
});

test("letters are written out, and all other escapes kept", () => {
  assert.equal(readableToken('"\\u4f60 \\ud83d\\ude00 \\u202e \\ud83d \\\\u4f60 \\u0041"'), '"你 😀 \\u202e \\ud83d \\\\u4f60 \\u0041"');
});
