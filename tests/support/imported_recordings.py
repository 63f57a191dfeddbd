"""Makes one conversation as our own recording, and as an import from logs that lack facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import evolve

from acp_proxy.recording.recording import Origin, origin_values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = "/srv/project"


def _request(id_: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def _result(id_: int, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _update(update: str, /, **values: Any) -> dict[str, Any]:
    params = {"sessionId": "s-1", "update": {"sessionUpdate": update, **values}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _say(text: str) -> dict[str, Any]:
    return _update("agent_message_chunk", content={"type": "text", "text": text})


_OPTIONS = [{"optionId": "a", "name": "Allow", "kind": "allow_once"}]
_PROMPT = {"sessionId": "s-1", "prompt": [{"type": "text", "text": "Mend the roof"}]}
FRAMES: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (1, ">", _request(0, "initialize", protocolVersion=1, clientCapabilities={
        "fs": {"readTextFile": True}})),
    (300, "<", _result(0, protocolVersion=1, agentCapabilities={})),
    (2, ">", _request(1, "session/new", cwd=HERE, mcpServers=[])),
    (5, "<", _result(1, sessionId="s-1")),
    (7000, ">", _request(2, "session/prompt", **_PROMPT)),
    (400, "<", _say("I look at the roof.")),
    (30, "<", _say(" It has a hole.")),
    (20, "<", _update("tool_call", toolCallId="c-1", title="Hammer", kind="execute",
                      status="pending")),
    (1, "<", _request(0, "session/request_permission", sessionId="s-1", options=_OPTIONS,
                      toolCall={"toolCallId": "c-1"})),
    (4000, ">", _result(0, outcome={"outcome": "selected", "optionId": "a"})),
    (3, "<", _request(1, "fs/read_text_file", sessionId="s-1", path=f"{HERE}/roof.txt")),
    (2500, ">", _result(1, content="shingles")),
    (70_000, "<", _update("tool_call_update", toolCallId="c-1", status="completed")),
    (80, "<", _result(2, stopReason="end_turn")),
    (2000, "<", _say("One more nail.")),
    (9000, ">", _request(3, "session/prompt", **_PROMPT)),
    (200, "<", _request(2, "fs/read_text_file", sessionId="s-1", path=f"{HERE}/nail.txt")),
)  # fmt: skip
"""Milliseconds since the previous frame, direction, and message. The agent is silent for a minute,
an update comes after its turn, and at the end a prompt and a request of the agent are open."""
_AFTERWARDS: tuple[dict[str, Any], ...] = (
    {"after_ms": 12_000, "stream": "stderr", "text": "roof: out of nails"},
    {"after_ms": 1, "event": "eof", "data": {"stream": "to-client", "reason": "end of file"}},
    {"after_ms": 1, "event": "exit", "data": {"code": 3}},
)


def text_form(path: Path, origin: Origin | None = None) -> Path:
    """Writes the text form of the conversation, and returns the path.

    Args:
        path: the path of the file.
        origin: the origin of an imported log; None for a recording of our own, which lacks nothing.
    """
    lines = list(_lines(path.stem, origin))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def _lines(name: str, origin: Origin | None) -> Iterator[dict[str, Any]]:
    def lost(what: str) -> bool:
        return origin is not None and what in origin.lost

    row: dict[str, Any] = {
        "id": "c0ffee000001", "name": name, "tool_version": "0.1.0", "state": "complete",
        "started_at": "2025-06-15T15:06:40+00:00", "redaction": "secrets",
    }  # fmt: skip
    if not lost("command"):
        row |= {"command": ["roofer", "--acp"], "cwd": HERE}
    if not lost("ending"):
        row |= {"ended_at": "2025-06-15T15:08:27+00:00", "exit_code": 3, "end_reason": "by itself"}
    if origin is not None:
        row["origin"] = origin_values(origin)
    yield {"acp_proxy": 1, "recording": row}
    for after_ms, arrow, message in FRAMES:
        line = {"stream": "to-agent" if arrow == ">" else "to-client", "message": message}
        if message.get("id") == 1 and lost("middle"):
            continue
        yield line if lost("times") else {"after_ms": after_ms, **line}
    for line in _AFTERWARDS:
        if not lost("stderr" if "stream" in line else "ending"):
            yield line if not lost("times") else {k: v for k, v in line.items() if k != "after_ms"}


def log_of(source: str, *lost: Any, **values: Any) -> Origin:
    """Returns the origin of an imported log that lacks these facts."""
    return evolve(Origin(source, tuple(sorted(lost))), **values)
