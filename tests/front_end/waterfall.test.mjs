import assert from "node:assert/strict";
import { test } from "node:test";

import { nestedSteps } from "../../acp_proxy/report/front_end/pictures/waterfall.js";

const call = (tool_call, start_ns, duration_ns) => ({ kind: "tool_call", seq: start_ns, tool_call, start_ns, duration_ns });
const request = (seq, start_ns) => ({ kind: "request", seq, start_ns, duration_ns: 1, tool_call: null });
const drawn = (steps, named = {}) =>
  nestedSteps(steps, (seq) => named[seq] ?? null).map(({ step, depth }) => `${" ".repeat(depth)}${step.tool_call ?? step.seq}`);

test("a request is shown below the tool call that it names", () => {
  assert.deepEqual(drawn([call("a", 0, 50), call("b", 10, 50), request(7, 20)], { 7: "a" }), ["a", " 7", "b"]);
});

test("a request without a call is shown below the only running call", () => {
  assert.deepEqual(drawn([call("a", 0, 5), call("b", 10, 50), request(7, 20)]), ["a", "b", " 7"]);
});

test("a request without a call is a separate step if no call or several calls are running", () => {
  assert.deepEqual(drawn([call("a", 0, 50), call("b", 10, 50), request(7, 20), request(8, 90)]), ["a", "b", "7", "8"]);
  assert.deepEqual(drawn([call("a", 0, 50), request(7, 20)], { 7: "of another turn" }), ["a", "7"]);
});
