"""Makes messages and recordings for tests of JSON-RPC batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acp_proxy.store.reader import RecordingReader
from tests.support.drawn_conversations import HEADER

ASK = {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Write a"}, "options": []}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    """Returns a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def result(number: int, **value: Any) -> dict[str, Any]:
    """Returns a JSON-RPC response with a result."""
    return {"jsonrpc": "2.0", "id": number, "result": value}


def error(number: int, code: int, message: str) -> dict[str, Any]:
    """Returns a JSON-RPC response with an error."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def update(name: str, **values: Any) -> dict[str, Any]:
    """Returns an update of the session ``s``."""
    params = {"sessionId": "s", "update": {"sessionUpdate": name, **values}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def prompt(number: int, text: str) -> dict[str, Any]:
    """Returns a prompt to the session ``s``."""
    said = [{"type": "text", "text": text}]
    return request(number, "session/prompt", sessionId="s", prompt=said)


def recording(*said: tuple[str, Any]) -> RecordingReader:
    """Opens a recording of messages to the agent (``>``) and to the client (``<``)."""
    return RecordingReader(Path("batches.jsonl"), iter(lines_of(*said)))


def lines_of(*said: tuple[str, Any]) -> list[bytes]:
    """Returns the text form of messages to the agent (``>``) and to the client (``<``)."""
    streams = {">": "to-agent", "<": "to-client"}
    lines = [{"stream": streams[arrow], "message": message} for arrow, message in said]
    return [json.dumps(line).encode() + b"\n" for line in (HEADER, *lines)]


CHAT = (
    (">", [prompt(2, "Hello there"), request(3, "session/set_mode", sessionId="s", modeId="m")]),
    ("<", [update("tool_call", toolCallId="c", title="Look", kind="read", status="pending"),
           request(9, "session/request_permission", **ASK)]),
    (">", [result(9, outcome={"outcome": "cancelled"})]),
    ("<", [update("tool_call_update", toolCallId="c", status="completed"),
           error(3, -32603, "no such mode"), result(2, stopReason="end_turn")]),
)  # fmt: skip
