"""Compares the views of a report page with the output of commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from acp_proxy.base.wording import duration
from tests.browser.truth import said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

SEQUENCE_KINDS = ("sequence-frame", "sequence-turn", "sequence-gap", "sequence-delivery")
ROWS = """async ({ view, turn, cells }) => {
  const { state } = window.acpReport;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  state.set("view", view);
  if (turn !== null) state.set("turn", turn);
  await frame();
  const list = document.querySelector(`.view-${view} [aria-rowcount]`);
  const body = list;
  const rows = new Map();
  const expected = Number(list.ariaRowCount) - 1;
  const cellOf = (row, name) => row.querySelector(name)?.textContent ?? null;
  body.scrollTop = 0;
  for (let tries = 0; rows.size < expected && tries < 500; tries++) {
    await frame();
    for (const row of list.querySelectorAll(".list-drawn [role=row]")) {
      const texts = cells.map((name) => cellOf(row, name));
      rows.set(Number(row.ariaRowIndex), [row.className, row.ariaLabel, ...texts]);
    }
    body.scrollTop += body.clientHeight / 2;
  }
  return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
}"""
CALLS = """() => {
  const { recording } = window.acpReport;
  const firsts = [...new Set(recording.numbers("call"))].filter((seq) => seq >= 0);
  return firsts.map((seq) => recording.rowOf(seq)).map((row) =>
    [recording.text("session", row), recording.text("tool_call", row)]);
}"""
"""The tool calls in the order of their first frames."""
ANSWERS = """async () => {
  const { recording } = window.acpReport;
  const [asked, seqs] = ["request_seq", "seq"].map((name) => recording.numbers(name));
  const found = {};
  for (let row = 0; row < recording.rows; row++) {
    if (asked.at(row) < seqs.at(row)) found[asked.at(row)] = (await recording.cells(row)).text;
  }
  return found;
}"""
"""The text of each answer, by the number of its request."""
ALL_CALLS = """(count) => document.querySelector(".view-calls [role=status]").textContent
  .startsWith(`${count.toLocaleString("en")} tool call`)"""
POINTS = {"kind-stderr", "kind-signal", "kind-exit"}
"""The classes of a waterfall's rows that are not messages."""
USUAL = ("unanswered", "result", "completed", "failed", "in_progress", "pending")
"""Outcomes of a step that a waterfall shows only by a colour, or not at all."""
LATE, UNENDED = "ends after the turn", "never ended"
"""The words of a waterfall for a step that was open at the end of its turn."""
ENDED = ("completed", "failed", "cancelled", "denied", "rejected")


def rows_of(page: Visit, view: str, *cells: str, turn: int | None = None) -> list[list[str]]:
    """Returns all rows of a view, each with its CSS classes, its label and some cells."""
    results: list[list[str]] = page.ask(ROWS, {"view": view, "turn": turn, "cells": [*cells]})
    return results


def assert_views(page: Visit, recording: Path) -> None:
    """Asserts that three views agree with commands: sequence, waterfall and tool calls."""
    assert_sequence(page, recording)
    assert_waterfall(page, recording)
    assert_calls(page, recording)


def assert_sequence(page: Visit, recording: Path) -> dict[int, list[str]]:
    """Asserts that the sequence diagram has each frame of `log` once, with its name.

    Returns:
        The label of each frame, and a second label if the frame was delivered later.
    """
    words: dict[int, list[str]] = {}
    order: list[int] = []
    for classes, label, number in rows_of(page, "sequence", ".sequence-when b"):
        kind = next(it for it in classes.split() if it in SEQUENCE_KINDS)
        if kind == "sequence-frame":
            seqs = [int(seq) for seq in re.findall("[0-9]+", number)]
            order += range(seqs[0], seqs[-1] + 1)
            words |= {seq: [label] for seq in order if seq not in words}
        elif kind == "sequence-delivery":
            words[int(re.findall("#([0-9]+)", label)[0])].append(label)
    told = said("log", recording)
    assert order == [row["seq"] for row in told]
    for row in told:
        label = words[row["seq"]][0]
        if row.get("stream") in ("to-agent", "to-client"):
            assert (update_of(row).get("sessionUpdate") or row["method"] or row["kind"]) in label
            is_in = row["stream"] == "to-client"
            names = ("agent → ", "proxy → client") if is_in else (" → agent", "client → proxy")
            assert any(name in label for name in names)
        else:
            assert row.get("event", "stderr") in label
    return words


def update_of(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a frame's update, or the tool call of a permission request, or an empty object."""
    message = row.get("message")
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return {}
    return params.get("update") or params.get("toolCall") or {}


def assert_waterfall(page: Visit, recording: Path) -> None:
    """Asserts that the waterfall of each turn has the steps of `stats --turn`."""
    (stats,) = said("stats", recording)
    answers: dict[str, str] = page.ask(ANSWERS)
    logged = said("log", recording)
    for turn in stats["turns"]:
        (told,) = said("stats", recording, "--turn", str(turn["id"]))
        cells = [f".waterfall-{name}" for name in ("step", "time", "outcome")]
        rows = rows_of(page, "waterfall", *cells, ".visually-hidden", turn=turn["id"])
        steps = [step_in_words(step, answers) for step in told["waterfall"]["steps"]]
        results = [
            (
                name.removeprefix("└ "),
                took,
                outcome.replace(LATE, UNENDED),
                start.partition(" from ")[2],
            )
            for classes, _, name, took, outcome, start in rows
            if not POINTS & {*classes.split()}
        ]
        assert_points([row for row in rows if POINTS & {*row[0].split()}], turn, logged)
        rows = [row for row in rows if not POINTS & {*row[0].split()}]
        assert sorted(results) == sorted(steps)
        parts: list[list[Any]] = [[]]
        """Steps of the turn itself, and those below each tool call."""
        for row, step in zip(rows, results, strict=True):
            if row[2].startswith("└ "):
                parts[-1].append(step)
            else:
                parts[0].append(step)
                parts.append([])
        for part in parts:
            left = iter(steps)
            assert all(step in left for step in part)


def assert_points(
    rows: list[list[str]], turn: dict[str, Any], logged: list[dict[str, Any]]
) -> None:
    """Asserts that a waterfall has the stderr, signals and exits that `log` has in the turn."""
    start = next(row["t_ns"] for row in logged if row["seq"] == turn["prompt_seq"])
    told = [
        row
        for row in logged
        if f"kind-{row.get('event', row.get('kind'))}" in POINTS
        and start <= row["t_ns"] <= start + turn["duration_ns"]
    ]
    for (classes, _, name, took, outcome, when), row in zip(rows, told, strict=True):
        kind = row.get("event", "stderr")
        assert f"kind-{kind}" in classes
        assert (name.split()[-1], took) == (kind, "")
        data = row.get("data", {})
        assert row.get("text", str(data.get("name", data.get("code")))) in outcome
        assert when.endswith(f"from {duration(row['t_ns'] - start)}")


def step_in_words(step: dict[str, Any], answers: dict[str, str]) -> tuple[str, str, str, str]:
    """Returns a step as a waterfall shows it: its name, duration, outcome and start.

    Usual outcomes are left out. The outcome of an answered permission is the text of its row.
    """
    name = f"{'✗ ' * step['failed']}{step['method'] or step['kind'].replace('_', ' ')}"
    took = "" if step["kind"] in ("prompt", "end") else duration(step["duration_ns"])
    told = (
        "failed" * step["failed"],
        UNENDED * step["open"],
        step["status"] if step["status"] not in USUAL else "",
        step["answer"] and answers[str(step["seq"])],
    )
    outcome = ", ".join(dict.fromkeys(filter(None, told)))
    return f"{name} {step['title']}", took, outcome, duration(step["start_ns"])


def assert_calls(page: Visit, recording: Path) -> None:
    """Asserts that the table of tool calls agrees with `stats` and with the frames.

    Title, kind and status are read from the frames, since `stats` also takes them from the name of
    a tool and from permission requests.
    """
    (stats,) = said("stats", recording, "--top", "1000")
    calls = {(call["session"], call["tool_call"]): call for call in stats["tool_calls"]}
    order = [(session, call) for session, call in page.ask(CALLS)]
    assert {*order} == {*calls}
    page.ask("() => acpReport.state.set('view', 'calls')")
    page.page.wait_for_function(ALL_CALLS, arg=len(order))
    cells = [f"[role=gridcell]:nth-child({number})" for number in range(4, 7)]
    rows = rows_of(page, "calls", *cells)
    frames = [row for row in said("log", recording) if row.get("tool_call")]
    for (session, call), (_, _, kind, title, shown) in zip(order, rows, strict=True):
        about = [row for row in frames if (row["session"], row["tool_call"]) == (session, call)]
        asked = [row for row in about if row["method"] == "session/request_permission"]
        told = [row for row in about if row not in asked]
        assert title == (latest(told, "title") or latest(asked, "title") or call)
        assert kind == (latest(told, "kind") or latest(asked, "kind") or "other")
        known = calls[session, call]
        status = latest(told, "status")
        assert known["status"] in (status or None, latest(asked, "status"))
        if status == "failed" and shown.endswith("rejected"):
            continue  # its permission was denied
        assert shown.endswith(status if status in ENDED else "never ended")


def latest(rows: list[dict[str, Any]], name: str) -> str:
    """Returns the last non-empty value of a member in the updates of some frames."""
    values = [update_of(row).get(name) for row in rows]
    return next((value for value in reversed(values) if value), "")
