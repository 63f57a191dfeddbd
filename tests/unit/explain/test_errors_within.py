"""Errors in results, of MCP servers or of turns in v2, are treated like error answers."""

from __future__ import annotations

import json
from typing import Any

from acp_proxy.explain.log.timeline import frame_line
from acp_proxy.explain.show.summary import summarize
from acp_proxy.explain.transcript.entries import TranscriptEntry
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.recording.filters import parse
from tests.support.example_checker import before, reader_of

SERVER = {"type": "acp", "name": "docs", "serverId": "m1"}


def said(arrow: str, number: int | None, what: str, value: Any) -> str:
    """Returns a line in the notation that `tests.support.example_checker` reads."""
    name = "" if number is None else f"#{number} "
    return f"{arrow} {name}{what} {json.dumps(value)}"


def mcp(*sessions: str, prompted: str = "") -> list[str]:
    """Returns sessions that have declared a server, and one of them with an open turn."""
    lines = before("a v1 handshake")
    for number, session in enumerate(sessions, 1):
        params = {"cwd": "/proj/app", "mcpServers": [SERVER]}
        lines.append(said("->", number, "session/new", params))
        lines.append(said("<-", number, "result", {"sessionId": session}))
    if prompted:
        params = {"sessionId": prompted, "prompt": [{"type": "text", "text": "go"}]}
        lines.append(said("->", 9, "session/prompt", params))
    return lines


def asked(number: int, answer: dict[str, Any]) -> list[str]:
    """Returns a request to an MCP server, and the answer."""
    inner = {"serverId": "m1", "requestId": str(number), "method": "tools/call", "params": {}}
    return [said("<-", number, "mcp/message", inner), said("->", number, "result", answer)]


def sessions_of(lines: list[str]) -> list[tuple[Any, Any]]:
    """Returns the session and the turn of each message of MCP over ACP."""
    with reader_of(lines) as reader:
        return [(row["session"], row["turn"]) for row in reader.frames(parse("method:mcp/*"))]


def test_mcp_over_acp_belongs_to_the_session_that_has_declared_the_server() -> None:
    """`RecordingReader` labels MCP messages with the session that declared the MCP server."""
    told = said("->", None, "mcp/message", {"serverId": "m1", "requestId": "1", "method": "log"})
    lines = [*mcp("s", prompted="s"), *asked(1, {"result": {}}), told]
    assert sessions_of(lines) == [("s", 1)] * 3
    assert sessions_of([*mcp("s"), *asked(1, {"result": {}})]) == [("s", None)] * 2


def test_of_several_sessions_with_a_server_the_one_at_work_counts() -> None:
    """`RecordingReader` labels messages of a shared MCP server with the one session in a turn."""
    assert sessions_of([*mcp("s", "t", prompted="t"), *asked(1, {"result": {}})]) == [("t", 1)] * 2
    assert sessions_of([*mcp("s", "t"), *asked(1, {"result": {}})]) == [(None, None)] * 2


def test_a_connection_belongs_to_the_session_of_its_server() -> None:
    """`RecordingReader` labels messages of an MCP connection with the session of its server."""
    lines = [
        *mcp("s", "t", prompted="s"),
        said("<-", 1, "mcp/connect", {"serverId": "m1"}),
        said("->", 1, "result", {"connectionId": "k"}),
        said("<-", 9, "result", {"stopReason": "end_turn"}),
        said("<-", 2, "mcp/disconnect", {"connectionId": "k"}),
    ]
    assert sessions_of(lines) == [("s", 1), ("s", 1), ("s", None)]


def test_an_error_of_an_mcp_server_has_failed() -> None:
    """The filter `failed`, `log` and `show` treat an error inside an MCP message as a failure."""
    failure = {"error": {"code": -32002, "message": "no such index"}}
    lines = [*mcp("s", prompted="s"), *asked(1, failure), *asked(2, {"result": {"content": []}})]
    with reader_of(lines) as reader:
        (row,) = reader.frames(parse("failed"))
        line = frame_line(row)
        assert (line.cells.method, line.text) == ("mcp/message ✗", "MCP error -32002 no such index")
        texts = [item.text for item in summarize(reader).findings]
        assert "the client answered mcp/message with error -32002: no such index (#7)" in texts
        entries = [
            item for item in TranscriptReader(reader).read() if isinstance(item, TranscriptEntry)
        ]
        failed = [item for item in entries if item.is_failed and item.title.startswith("tools")]
        assert "MCP error -32002 no such index" in [item.state for item in failed]


def test_a_turn_of_v2_ends_with_the_words_of_its_error() -> None:
    """`show` prints the error that ended a turn of ACP v2."""
    error = {"code": -32603, "message": "no quota is left"}
    update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error"}
    params = {"sessionId": "s", "update": {**update, "error": error}}
    lines = [
        *before("a v2 handshake, session s, a prompt"),
        said("<-", None, "session/update", params),
    ]
    with reader_of(lines) as reader:
        *_, row = reader.frames(parse("method:session/update"))
        assert frame_line(row).text == "idle error: -32603 no quota is left"
        texts = [item.text for item in summarize(reader).findings]
        assert any("stop reason error: -32603 no quota is left (#9)" in item for item in texts)
        ends = [
            item for item in TranscriptReader(reader).read() if isinstance(item, TranscriptEntry)
        ]
        assert [item.title for item in ends if item.is_failed] == ["error: -32603 no quota is left"]


def test_a_turn_of_v2_may_end_with_an_error_alone() -> None:
    """In ACP v2, `show` reports the error of a turn even if the stop reason is null."""
    error = {"code": 1, "message": "RATE-LIMITED by provider"}
    update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": None, "error": error}
    lines = [
        *before("a v2 handshake, session s, a prompt"),
        said("<-", None, "session/update", {"sessionId": "s", "update": update}),
    ]
    with reader_of(lines) as reader:
        (failed,) = [
            finding for finding in summarize(reader).findings if finding.rule == "answer.error"
        ]
        assert failed.text.endswith("ended with error: 1 RATE-LIMITED by provider (#9)")
        assert failed.by == "environment"


def test_sessions_of_suggested_edits_are_no_chats() -> None:
    """`show` does not list sessions for suggested edits, which `nes/start` opens."""
    lines = [
        *mcp("s"),
        said("->", 5, "nes/start", {}),
        said("<-", 5, "result", {"sessionId": "n"}),
        said("->", 6, "nes/close", {"sessionId": "n"}),
    ]
    with reader_of(lines) as reader:
        assert [opened.id for opened in summarize(reader).opened] == ["s"]
