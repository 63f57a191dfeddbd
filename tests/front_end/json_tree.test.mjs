// Cuts JSON into tokens: nothing is changed by showing it.
import assert from "node:assert/strict";
import {test} from "node:test";

import {JsonText, readableToken, unescapedToken} from "../../acp_proxy/report/front_end/detail/json_tree.js";

const shape = (json, token = 0) => {
  const kind = json.kind(token);
  if (kind !== "object" && kind !== "array") return json.raw(token);
  return [kind, ...[...json.children(token)].map(([name, value]) => [name < 0 ? "" : json.raw(name), shape(json, value)])];
};
const isWhole = (text) => new JsonText(text).error < 0;

test("numbers keep their form, objects a repeated name, strings their escapes", () => {
  const json = new JsonText(' {"a": 1.00, "a":1e400,"b":[ true,null, "\\u0041\\n" ,{}, []]} ');
  assert.equal(json.error, -1);
  assert.deepEqual(shape(json), ["object", ['"a"', "1.00"], ['"a"', "1e400"],
    ['"b"', ["array", ["", "true"], ["", "null"], ["", '"\\u0041\\n"'], ["", ["object"]], ["", ["array"]]]]]);
});

test("what JSON.parse takes is whole, and what it refuses is not", () => {
  const texts = ["{}", "[]", "1", '"x"', '[1,2]', '{"a":{"b":[]}}', "", "[", "{", "[1", "[1,", "[1,]", '{"a"', '{"a":', '{"a":1,', '{"a":1,}', "[1 2]",
    "{1:2}", "]", "1 2", '"x', "[]]", '{"a" 1}', '{,}', "[,]", "nul", ":", '["a":1]', '{"a":1]', "{]"];
  for (const text of texts) {
    let isJson = true;
    try {
      JSON.parse(text);
    } catch {
      isJson = false;
    }
    assert.equal(isWhole(text), isJson, text);
  }
});

test("a text that is cut off shows what there is", () => {
  const json = new JsonText('{"a": [1, {"b": 2}, "unfini');
  assert.equal(json.text.slice(json.error), '"unfini');
  assert.deepEqual(shape(json), ["object", ['"a"', ["array", ["", "1"], ["", ["object", ['"b"', "2"]]]]]]);
  assert.deepEqual(shape(new JsonText('{"a": 1, "b"')), ["object", ['"a"', "1"]]);
});

test("depth and size do not matter", () => {
  const deep = new JsonText("[".repeat(200_000) + "]".repeat(200_000));
  assert.equal(deep.error, -1);
  assert.equal([...deep.children(0)].length, 1);
  assert.ok(isWhole(`{"x": "${"\\n".repeat(1_000_000)}"}`));
  assert.equal([...new JsonText(`[${"0,".repeat(300_000)}0]`).children(0)].length, 300_001);
});

test("a path finds a value, the last of a repeated name", () => {
  const json = new JsonText('{"params": {"update": {"x": 1, "x": [2]}}}');
  assert.equal(json.raw(json.find(["params", "update", "x"])), "[2]");
  assert.equal(json.find(["params", "no"]), -1);
  assert.equal(json.find(["params", "update", "x", "0"]), -1);
});

test("letters are written out, and all other escapes kept", () => {
  assert.equal(readableToken('"\\u4f60 \\ud83d\\ude00 \\u202e \\ud83d \\\\u4f60 \\u0041"'), '"你 😀 \\u202e \\ud83d \\\\u4f60 \\u0041"');
  assert.equal(unescapedToken('"a\\nb\\u00e9"'), "a\nbé");
  assert.equal(unescapedToken('"\\q"'), '"\\q"');
});
