// The list of all recordings: order, filters, addresses, words about time, and commands.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as listed from "../../acp_proxy/report/front_end/window/listed.js";

const NOW = new Date(2026, 5, 15, 12).getTime();
const NONE = { agent: "", problem: "", since: "", text: "", q: "" };
const entry = (name, values = {}) => ({
  name, live: false, severity: "", agent: "one 1.0", prompt: "", project: "", note: "", recording: null,
  started_at: "2026-06-15T00:00:00+00:00", ...values,
});

test("running recordings come first, then the newest, and unreadable ones last", () => {
  const entries = [
    entry("unreadable", { started_at: "" }), entry("old", { started_at: "2026-01-01T00:00:00+00:00" }),
    entry("new"), entry("running", { live: true, started_at: "2025-01-01T00:00:00+00:00" }), entry("also new"),
  ];
  const names = entries.sort(listed.inOrder).map(({ name }) => name);
  assert.deepEqual(names, ["running", "also new", "new", "old", "unreadable"]);
});

test("a recording has to match all that was chosen", () => {
  const isChosen = (values, choice) => listed.isChosen(entry("a.db", values), { ...NONE, ...choice }, NOW);
  assert.ok(isChosen({}, {}));
  assert.ok(isChosen({ prompt: "Fix the Test" }, { text: "TEST  fix" }));
  assert.ok(!isChosen({ prompt: "Fix the test" }, { text: "test broken" }));
  assert.ok(isChosen({ project: "acp", recording: { name: "monday" } }, { text: "acp monday a.db" }));
  assert.ok(isChosen({ recording: { agent_name: "one" } }, { agent: "one" }));
  assert.ok(!isChosen({ recording: { agent_name: "one" } }, { agent: "two" }));
  const outcomes = { failed: { severity: "error" }, warned: { severity: "warning" }, fine: {} };
  for (const [problem, values] of Object.entries(outcomes)) {
    const found = Object.keys(outcomes).filter((name) => isChosen(values, { problem: name }));
    assert.deepEqual(found, [problem]);
    assert.ok(!isChosen(values, { problem: "running" }));
    assert.ok(isChosen({ ...values, live: true }, { problem: "running" }));
  }
  assert.ok(!isChosen({ live: true }, { problem: "fine" }));
});

test("today begins at midnight of the reader, and an unknown time is in no period", () => {
  const isWithin = (time, since) => listed.isChosen(
    entry("a", { started_at: time && new Date(...time).toISOString() }), { ...NONE, since }, NOW);
  assert.ok(isWithin([2026, 5, 15, 0, 0], "today"));
  assert.ok(!isWithin([2026, 5, 14, 23, 59], "today"));
  assert.ok(isWithin([2026, 5, 8, 13], "week"));
  assert.ok(!isWithin([2026, 5, 8, 11], "week"));
  assert.ok(!isWithin("", "week"));
  assert.ok(isWithin("", ""));
});

test("an age is written as `acp-proxy list` writes it", () => {
  const minutes = [0, 1, 59, 60, 60 * 24 - 1, 60 * 24, 60 * 24 * 7 - 1, 60 * 24 * 7, -1];
  const words = ["just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 d ago", "6 d ago", "", ""];
  assert.deepEqual(minutes.map((count) => listed.timeAgo(count * 60_000)), words);
  assert.equal(listed.dateOf(new Date(2025, 0, 5)), "2025-01-05");
  const year = new Date().getFullYear();
  assert.equal(listed.dateOf(new Date(year, 0, 5, 14, 5)), "01-05 14:05");
});

test("the choice is read from an address and written to it", () => {
  const choice = { ...NONE, agent: "a b", since: "week", text: "x&y=#" };
  const written = listed.fragmentOf({ token: "00ff", ...choice });
  assert.equal(written, "#token=00ff&agent=a+b&since=week&text=x%26y%3D%23");
  assert.deepEqual(listed.readChoice(written), choice);
  assert.deepEqual(listed.readChoice("#q=a&seq=3"), { ...NONE, q: "a" });
});

test("the address of a recording contains its name and the token only in their places", () => {
  assert.equal(listed.pageOf("00ff", "a/b?#.db"), "/r/a%2Fb%3F%23.db#token=00ff");
  assert.equal(listed.pageOf("00ff", "a", { seq: 4, q: "x y" }), "/r/a#token=00ff&seq=4&q=x+y");
});

test("a command is quoted for a shell, and refused if a word has characters that cannot be seen", () => {
  assert.equal(listed.commandLine(["acp-proxy", "show", "it's $HOME"]), "acp-proxy show 'it'\"'\"'s $HOME'");
  for (const odd of ["\n", "\r", "\x1b[2J", "\u202e", "\0", "\t"]) {
    assert.equal(listed.commandLine(["acp-proxy", `a${odd}b`]), null);
  }
});
