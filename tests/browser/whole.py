"""Compares a report page's facts about a whole recording with commands and database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.browser.truth import said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.truth import Told

MOST_CALLS = 10
"""How many tool calls `stats` lists."""
TURN = ("id", "session", "prompt_seq", "end_seq", "stop_reason", "duration_ns", "updates",
        "tool_calls")  # fmt: skip
CALL = ("session", "tool_call", "frames")
CALLS = """session, tool_call, count(*) FROM frames
WHERE tool_call IS NOT NULL GROUP BY session, tool_call"""


def assert_whole(told: Told, recording: Path) -> None:
    """Asserts that a page's facts about the whole recording agree with commands and database."""
    assert_printed(told.meta, recording)
    sizes = [frame["size"] for frame in told.frames if "stream" in frame]  # with secrets masked
    assert told.meta["stats"]["bytes"] == sum(sizes)
    with contextlib.closing(sqlite3.connect(recording)) as database:
        assert_counted(told.meta, database)


def assert_printed(meta: dict[str, Any], recording: Path) -> None:
    """Asserts that summary, statistics, waterfalls and findings are those of the commands."""
    (summary,) = said("show", recording)
    (stats,) = said("stats", recording)
    (check,) = said("check", recording)
    (checked,) = check["recordings"]
    assert meta["summary"] == summary
    assert meta["stats"] == {**stats, "waterfall": None}
    results = [
        (step["rule"], step["by"], step["seq"], step["text"]) for step in checked["findings"]
    ]
    shown = meta["summary"]["problems"]
    assert [(step["rule"], step["by"], step["seq"], step["text"]) for step in shown] == results
    steps = [said("stats", recording, "--turn", str(turn["id"])) for turn in stats["turns"]]
    assert meta["waterfalls"] == [step["waterfall"] for (step,) in steps]


def assert_counted(meta: dict[str, Any], database: sqlite3.Connection) -> None:
    """Asserts that a page counts as many frames, turns, calls and requests as the database."""
    summary, stats = meta["summary"], meta["stats"]

    def select(sql: str) -> list[Any]:
        return database.execute(f"SELECT {sql}").fetchall()

    assert [(stats["frames"],)] == select("count(*) FROM frames")
    assert summary["frames"] == dict(select("stream, count(*) FROM frames GROUP BY stream"))
    turns = select(f"{', '.join(TURN)} FROM turns ORDER BY id")
    assert [tuple(turn[name] for name in TURN) for turn in summary["turns"]] == turns
    assert [turn["id"] for turn in stats["turns"]] == [turn[0] for turn in turns]
    assert meta["last_turn"] == len(turns)
    calls = {(*call,) for call in select(CALLS)}
    assert stats["tool_call_count"] == len(calls)
    told = {tuple(call[name] for name in CALL) for call in stats["tool_calls"]}
    assert len(told) == min(len(calls), MOST_CALLS)
    assert told <= calls
    assert_problems(summary, select("request_seq, response_seq, outcome FROM exchanges"))


def assert_problems(summary: dict[str, Any], exchanges: list[tuple[int, int | None, str]]) -> None:
    """Asserts that a page names the errors and missing answers that the database has."""
    errors = {answered for _, answered, outcome in exchanges if outcome == "error"}
    missing = {asked for asked, _, outcome in exchanges if outcome == "unanswered"}
    assert sum(tally["count"] for tally in summary["error_codes"]) == summary["errors"]
    assert summary["errors"] == len(errors)
    assert {request["seq"] for request in summary["unanswered"]} == missing
    ends = [turn["end_seq"] for turn in summary["turns"] if turn["end_seq"] is not None]
    for problem in summary["problems"]:
        seqs = set(problem["seqs"])
        match problem["rule"]:
            case "answer.error":
                assert seqs & errors
            case "wait.unanswered":
                assert seqs & missing
            case "turn.update-late":
                assert problem["seq"] > min(ends)
    assert summary["problem_counts"] == Counter(it["rule"] for it in summary["problems"])
