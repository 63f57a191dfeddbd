"""Writes a chat that still runs, although its agent has fallen silent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.support.log_writer import (
    MS,
    LogWriter,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

SILENT_S = 74
"""How long the agent has been silent: longer than the live window lets pass."""


def hanging_chat(path: Path) -> LogWriter:
    """Writes a chat that still runs, although its agent has been silent for `SILENT_S`."""
    length_ns = (SILENT_S + 21) * 10**9
    began_ns, wall = time.monotonic_ns() - length_ns, time.time_ns() - length_ns
    words = ["greeting-agent", "--acp"]
    chat = LogWriter(path, began_ns=began_ns, wall=wall, arg=words, cwd="/srv/greeting")
    handshake(chat)
    chat.to_agent(request(1, "session/new", cwd="/srv/greeting", mcpServers=[]))
    chat.to_client(result(1, sessionId="s-1"))
    question = "Why does the test of the greeting fail?"
    chat.to_agent(request(2, "session/prompt", sessionId="s-1", prompt=[text(question)]))
    chat.t_ns += 1_400 * MS
    _say(chat, "I will ", "run the ", "tests first.")
    call = {"toolCallId": "call-1", "title": "pytest -q", "kind": "execute"}
    chat.to_client(_begun(status="in_progress", **call))
    chat.t_ns += 2_600 * MS
    output = [{"type": "content", "content": text("1 failed: a comma is missing in 'Hello ACP'")}]
    ended = {"toolCallId": "call-1", "status": "failed", "content": output}
    chat.to_client(update("s-1", "tool_call_update", **ended))
    _say(chat, "The greeting ", "lacks a comma. ", "I will add it.")
    edit = {"toolCallId": "call-2", "title": "Edit greeting.py", "kind": "edit"}
    lines = {"oldText": 'print("Hello ACP")\n', "newText": 'print("Hello, ACP")\n'}
    diff = [{"type": "diff", "path": "/srv/greeting/greeting.py", **lines}]
    chat.to_client(_begun(status="pending", content=diff, **edit))
    options = [{"optionId": "y", "name": "Allow", "kind": "allow_once"}]
    asked = {"sessionId": "s-1", "toolCall": edit, "options": options}
    chat.to_client(request(0, "session/request_permission", **asked))
    chat.t_ns += 12_300 * MS
    chat.to_agent(result(0, outcome={"outcome": "selected", "optionId": "y"}))
    chat.t_ns += 600 * MS
    chat.to_client(update("s-1", "tool_call_update", toolCallId="call-2", status="completed"))
    chat.stderr("warning: the model answers slowly, trying again (1 of 3)")
    _say(chat, "Now I run ", "the tests ", "again.")
    return chat


def _begun(**call: Any) -> dict[str, Any]:
    begun = {"sessionUpdate": "tool_call", **call}
    return notification("session/update", sessionId="s-1", update=begun)


def _say(chat: LogWriter, *chunks: str) -> None:
    for chunk in chunks:
        chat.to_client(update("s-1", "agent_message_chunk", content=text(chunk)))
        chat.t_ns += 250 * MS
