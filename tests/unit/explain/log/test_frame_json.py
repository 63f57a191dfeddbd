"""The JSON of frames and events is valid and documented, and keeps the bytes of messages."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.log.frame_json import event_json, facts, frame_json
from acp_proxy.recording.recording import Recording
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def frames_json(tmp_path: Path, *lines: bytes) -> list[bytes]:
    """Records lines of the agent, and returns their JSON."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for line in lines:
            recorder.chunk(2, line)
        recorder.end()
    with RecordingReader(recorder.path) as reader:
        return [frame_json(row) for row in reader.frames()]


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","method":"a","params":{"n":1.0,"m":1e2,"k":12345678901234567890123}}',
        b'{ "jsonrpc" : "2.0" , "id" : 1 , "result" : null }',
        '{"jsonrpc":"2.0","id":"é","method":"\\u00e9 \\ud83d\\ude00 你好","params":[]}'.encode(),
        b'{"jsonrpc":"2.0","id":1,"method":"a","id":2}',
        b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]',
        b"\t" + b'{"jsonrpc":"2.0","method":"a"}' + b"  ",
    ],
)
def test_a_message_is_unchanged_in_json(tmp_path: Path, message: bytes) -> None:
    """`log --json` writes a message with the exact bytes of its line."""
    (line,) = frames_json(tmp_path, message + b"\n")
    assert line.endswith(b',"message":' + message + b"}")
    assert json.loads(line)["message"] == json.loads(message)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"not json", "not json"),
        (b"", ""),
        (b'{"a":1}', '{"a":1}'),
        ("né\x1b[2J".encode(), "né\x1b[2J"),
        (b'{"jsonrpc":"2.0",\r"method":"a"}', '{"jsonrpc":"2.0",\r"method":"a"}'),
        (b'{"jsonrpc":"2.0","method":"\\ud800"}', '{"jsonrpc":"2.0","method":"\\ud800"}'),
    ],
)
def test_an_invalid_line_is_text_in_json(tmp_path: Path, raw: bytes, text: str) -> None:
    """`log --json` writes an invalid line as a string, in the member `text`."""
    (line,) = frames_json(tmp_path, raw + b"\n")
    assert json.loads(line)["text"] == text
    assert b"\n" not in line
    assert b"\r" not in line


@pytest.mark.parametrize("size", [10, 3 << 20])
def test_a_line_that_is_not_utf8_is_base64_in_json(tmp_path: Path, size: int) -> None:
    """`log --json` writes a line that is not UTF-8 as base64, in the member `base64`."""
    raw = b'{"jsonrpc":"2.0","method":"a","params":{"x":"' + b"y" * size + b"\xff" + b'"}}'
    (line,) = frames_json(tmp_path, raw[:-1000], raw[-1000:] + b"\n")
    assert base64.b64decode(json.loads(line)["base64"]) == raw


def test_a_large_invalid_line_is_text_in_json(tmp_path: Path) -> None:
    """`log --json` writes a large line that is not JSON as a string, in the member `text`."""
    raw = b'{"jsonrpc":"2.0","method":"a","params":{"x":' + b"y" * (3 << 20) + b"}}"
    (line,) = frames_json(tmp_path, raw + b"\n")
    assert json.loads(line)["text"] == raw.decode()


def test_a_line_has_one_of_three_members(tmp_path: Path) -> None:
    """`log --json` writes each frame with one of the members `message`, `text` or `base64`."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        lines = [json.loads(frame_json(row)) for row in reader.frames()]
        events = [event_json(row) for row in reader.query("SELECT * FROM events")]
    for line in lines:
        assert len({"message", "text", "base64"} & line.keys()) == 1
        assert "raw" not in line
    assert [json.loads(event)["event"] for event in events] == [
        "start",
        "eof",
        "eof",
        "eof",
        "exit",
    ]


@pytest.mark.parametrize("data", [{"name": "\udcff"}, {"é": ["你好", 1]}, {"\udcad": "x"}])
def test_an_event_is_valid_json_with_any_name(data: dict[str, Any]) -> None:
    """If a file name in an event is not UTF-8, `log --json` is still valid JSON."""
    line = event_json({"seq": 1, "t_ns": 2, "kind": "note", "data": json.dumps(data)})
    assert json.loads(line) == {"seq": 1, "t_ns": 2, "event": "note", "data": data}


def test_any_depth_can_be_printed(tmp_path: Path) -> None:
    """`log --json` can print a message that is nested a hundred thousand levels deep."""
    (line,) = frames_json(tmp_path, b"[" * 100_000 + b"]" * 100_000 + b"\n")
    assert line


START = Recording("0", "x", "0", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC).isoformat())


def test_all_facts_of_a_frame_are_listed(tmp_path: Path) -> None:
    """`log --seq` lists a frame's time, kind, method, ids, size, delivery and answer."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        rows = {row["seq"]: row for row in reader.rows()}
    known = {name: value for name, value in facts(rows[9], START) if value}
    at = datetime.fromisoformat("2025-06-15T15:06:40.008+00:00").astimezone()
    assert known.pop("time") == f"{at:%Y-%m-%d %H:%M:%S.%f %z}, 0.008000 s after the start"
    assert known == {
        "stream": "to-client",
        "kind": "request",
        "method": "session/request_permission",
        "id": "0",
        "exchange": 4,
        "session": "s-1",
        "turn": 1,
        "tool_call": "c-1",
        "size": "187 bytes",
        "newline": "\\n",
        "delivered": "full",
        "answer": "10, after 1 ms",
    }
    assert dict(facts(rows[10], START))["answers"] == "9, after 1 ms"
    assert dict(facts(rows[16], START))["answer"] == "none"
    assert dict(facts(rows[16], START, live=True))["answer"] == "none yet"
    odd = dict(facts(rows[17], START))
    assert odd["newline"] == "\\r\\n"
    assert odd["parse_error"]
    assert dict(facts(rows[20], START))["newline"] == "none"
    assert list(dict(facts(rows[23], START))) == ["time", "event"]


def test_a_slow_frame_has_the_time_of_its_arrival(tmp_path: Path) -> None:
    """If the bytes of a frame came slowly, `log --json` says how long it took to receive them."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(2, b"slow")
        recorder.chunk(2, b"ly\n")
        recorder.end()
    with RecordingReader(recorder.path) as reader:
        (row,) = reader.frames()
    assert dict(facts(row, START))["arrived"] == "over 1 ms"
