"""The timeline has a line for each frame and event, with time, method, latency and text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.wording import byte_size, duration
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.log.folding import ChunkRun, run_line
from acp_proxy.explain.log.timeline import (
    Cells,
    Pace,
    TimelineLine,
    event_line,
    frame_line,
    pair_of,
)
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import MS, record_conversation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lines(tmp_path: Path) -> dict[int, TimelineLine]:
    """Returns the lines of `write_conversation` by their number."""
    with RecordingReader(record_conversation(tmp_path / "story.db")) as reader:
        frames = {row["seq"]: frame_line(row) for row in reader.frames()}
        events = reader.query("SELECT * FROM events")
        return frames | {row["seq"]: event_line(row) for row in events}


@pytest.mark.parametrize(
    ("number", "cells", "text"),
    [
        (1, ("1", "0.000", "·", "start", "", "", ""), "agent: agent --acp"),
        (
            6,
            ("6", "0.005", "→", "session/prompt", "#2", "→15", "128 B"),
            "hello 你好",
        ),
        (
            7,
            ("7", "0.006", "←", "agent_message_chunk", "", "", "159 B"),
            "Hi",
        ),
        (
            10,
            ("10", "0.009", "→", "session/request_permission ✓", "#0", "↩9 1 ms", "83 B"),
            "selected y",
        ),
        (
            12,
            ("12", "0.011", "→", "fs/read_text_file ✗", "#1", "↩11 1 ms", "73 B"),
            "-32001 no such file",
        ),
        (13, ("13", "0.012", "!", "", "", "", "14 B"), "agent: careful"),
        (16, ("16", "0.015", "→", "session/set_mode", "#3", "unanswered", "97 B"), "code"),
        (18, ("18", "0.017", "←", "", "", "", "0 B"), ""),
        (23, ("23", "0.022", "·", "exit", "", "", ""), "the agent exited with 3"),
    ],
)
def test_a_line_has_its_columns(
    lines: dict[int, TimelineLine], number: int, cells: tuple[str, ...], text: str
) -> None:
    """`log` has columns for number, time, direction, method, id and size."""
    assert (lines[number].cells, lines[number].text) == (cells, text)


def test_prompts_permissions_and_errors_have_tones(lines: dict[int, TimelineLine]) -> None:
    """`log` gives prompts, permission requests and errors colours of their own."""
    tones = [(lines[n].stream, lines[n].tone) for n in (6, 7, 9, 10, 12, 13, 15, 17, 23)]
    assert tones == [
        ("to-agent", "prompt"),
        ("to-client", "plain"),
        ("to-client", "permission"),
        ("to-agent", "permission"),
        ("to-agent", "trouble"),
        ("stderr", "plain"),
        ("to-client", "plain"),
        ("to-client", "trouble"),
        ("event", "plain"),
    ]


ROW: dict[str, Any] = {
    **dict.fromkeys(("rpc_id", "parse_error", "request_seq", "response_seq", "latency_ns"), None),
    "seq": 9,
    "t_ns": 0,
    "stream": "to-client",
    "kind": "response",
    "method": "fs/read",
    "raw": b"{}",
    "size": 2,
    "newline": "\n",
    "delivered": "full",
}


@pytest.mark.parametrize(
    ("method", "took_ms", "pace"),
    [
        ("fs/read", 999, ""),
        ("fs/read", 1000, "slow"),
        ("initialize", 9_999, "slow"),
        ("initialize", 10_000, "stuck"),
        ("session/prompt", 3_600_000, ""),
        ("session/request_permission", 3_600_000, ""),
        ("terminal/wait_for_exit", 3_600_000, ""),
    ],
)
def test_only_the_answer_of_a_peer_itself_is_slow(method: str, took_ms: int, pace: Pace) -> None:
    """`log` marks a late answer as slow only if it did not wait for a person, program or model."""
    took = {"method": method, "request_seq": 4, "response_seq": 9, "latency_ns": took_ms * MS}
    assert frame_line({**ROW, **took}).pace is pace


@pytest.mark.parametrize(
    ("live", "shown"), [(True, ("open", "")), (False, ("unanswered", "stuck"))]
)
def test_an_open_request_is_unanswered_only_at_the_end(live: bool, shown: tuple[str, Pace]) -> None:
    """While the recorder runs, `log` does not call an open request unanswered."""
    line = frame_line({**ROW, "kind": "request", "request_seq": 9}, live=live)
    assert (line.cells.pair, line.pace) == shown


def test_a_run_is_one_line() -> None:
    """`log` prints joined chunks on one line with their count, size and text."""
    run = ChunkRun({**ROW, "seq": 7}, "agent_message_chunk", 63, 1500 * MS, 57, 9000, 4, "a\nbc")
    assert run_line(run) == TimelineLine(
        Cells("7–63", "0.000", "←", "agent_message_chunk ×57", "", "1.5 s", "9.0 kB"),
        "a\\nbc",
        "to-client",
    )


def test_a_long_run_shows_the_number_of_its_characters() -> None:
    """If `log` joins many chunks, it prints the number of characters of the joined text."""
    run = ChunkRun({**ROW, "seq": 7}, "agent_message_chunk", 63, 0, 57, 9000, 123456, "b" * 2000)
    assert run_line(run).text == "b" * 2000 + "… (123456 characters)"


def test_a_surrogate_pair_is_whole_in_a_run() -> None:
    """If a surrogate pair is split between two chunks, `log` joins its halves."""
    run = ChunkRun(ROW, "agent_message_chunk", 10, 0, 2, 9, 3, "\ud83d\ude00\ud83d")
    assert run_line(run).text == "😀\\ud83d"


@pytest.mark.parametrize(
    ("row", "pair"),
    [
        ({"kind": "request", "request_seq": 4, "response_seq": 9, "seq": 4}, 9),
        ({"kind": "request", "request_seq": 4, "response_seq": None, "seq": 4}, None),
        ({"kind": "error", "request_seq": 4, "response_seq": 9, "seq": 9}, 4),
        ({"kind": "notification", "request_seq": None, "response_seq": None, "seq": 5}, None),
        ({"kind": "exit", "data": "{}", "seq": 5}, None),
    ],
)
def test_a_frame_knows_its_pair(row: dict[str, Any], pair: int | None) -> None:
    """`log` prints a request with the frame number of its answer."""
    assert pair_of(row) == pair


def test_an_unusual_frame_begins_with_a_mark(lines: dict[int, TimelineLine]) -> None:
    """`log` marks a frame without a newline, and a frame that was delivered only in part."""
    assert lines[20].text.startswith("[no newline] (not JSON")
    row = {
        **dict.fromkeys(("method", "rpc_id", "parse_error", "request_seq"), None),
        "seq": 1,
        "t_ns": 0,
        "stream": "to-client",
        "kind": "notification",
        "raw": b"{}",
        "size": 2,
        "newline": "\n",
        "delivered": "partial",
    }
    assert frame_line(row).text.startswith("[delivered: partial]")


@each_case(
    ("kind", "data", "words"),
    [
        ("start", {"command": ["a", "b c"]}, "agent: a b c"),
        ("start", {"command": 7}, "agent: "),
        ("start", {}, "agent: "),
        ("eof", {"stream": "to-agent", "reason": "end of file"}, "to-agent ended: end of file"),
        (
            "signal",
            {"signal": 15, "name": "SIGTERM", "action": "passed on"},
            "SIGTERM was passed on to the agent",
        ),
        (
            "signal",
            {"signal": 9, "name": "SIGKILL", "action": "sent", "reason": "it stayed"},
            "SIGKILL was sent to the agent: it stayed",
        ),
        ("exit", {"signal": 9, "name": "SIGKILL"}, "the agent was ended by SIGKILL"),
        ("exit", {"code": 0}, "the agent exited with 0"),
        ("exit", {"code": 127, "reason": "cannot start"}, "cannot start"),
        (
            "gap",
            {"reason": "No space left on device", "to-agent": 5, "stderr": 7, "since": 1},
            "not recorded: 5 bytes to-agent, 7 bytes stderr (No space left on device)",
        ),
        (
            "undelivered",
            {"stream": "to-agent", "bytes": 9},
            "9 bytes to-agent were read but could not be delivered",
        ),
        ("note", {"text": "ähem"}, '{"text": "ähem"}'),
    ],
)
def test_events_are_described(kind: str, data: dict[str, Any], words: str) -> None:
    """`log` describes each known kind of event in a sentence."""
    assert describe_event(kind, data) == words
    row = {"seq": 1, "t_ns": 0, "kind": kind, "data": json.dumps(data)}
    assert event_line(row).text == words


@each_case(
    ("ns", "words"),
    [
        (None, ""),
        (0, "<1 µs"),
        (999, "<1 µs"),
        (1_000, "1 µs"),
        (1_500, "2 µs"),
        (12 * MS, "12 ms"),
        (1_500 * MS, "1.5 s"),
        (119_000 * MS, "119.0 s"),
        (125_000 * MS, "2 min 5 s"),
        (7_500_000 * MS, "2 h 5 min"),
    ],
)
def test_a_duration_is_in_a_suitable_unit(ns: int | None, words: str) -> None:
    """`log` prints a duration in a unit that suits its length, from µs to hours."""
    assert duration(ns) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (123_456, "123 kB"), (5 * 10**6, "5.0 MB"),
     (2_345_678_901, "2.3 GB")],
)  # fmt: skip
def test_a_size_is_short(count: int, words: str) -> None:
    """`log` prints a number of bytes with at most three digits."""
    assert byte_size(count) == words
