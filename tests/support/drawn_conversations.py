"""Draws recordings with Hypothesis in which sessions and turns overlap.

Hypothesis draws a list of steps. A state machine turns the list into a possible conversation: it
leaves out steps that make no sense at their point.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER: dict[str, Any] = {
    "acp_proxy": 1,
    "recording": {
        "id": "c0ffee000001",
        "name": "drawn",
        "tool_version": "0",
        "started_at": "2025-01-01T00:00:00Z",
    },
}
STEPS = (
    "open", "load", "prompt", "update", "update", "ask", "answer", "end", "end", "cancel", "mode",
    "list", "replies", "stray", "stderr", "extension", "notify",
)  # fmt: skip

steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), min_size=5, max_size=40)


def lines_of(words: list[tuple[str, int]]) -> list[bytes]:
    """Returns the text form of the conversation that drawn steps describe."""
    lines = [json.dumps(HEADER).encode() + b"\n"]
    for stream, message in _Conversation(words).messages():
        member = "text" if isinstance(message, str) else "message"
        lines.append(json.dumps({"stream": stream, member: message}).encode() + b"\n")
    return lines


def reader_of(lines: list[bytes]) -> RecordingReader:
    """Opens a recording in the text form."""
    return RecordingReader(Path("drawn.jsonl"), iter(lines))


class _Conversation:
    def __init__(self, words: list[tuple[str, int]]) -> None:
        self._words = words
        self._opened: list[str] = []
        self._prompts: dict[str, int] = {}
        self._pending: list[tuple[int, dict[str, Any]]] = []
        self._asked: list[tuple[int, str]] = []
        self._count = {"to-agent": 0, "to-client": 0}

    def messages(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        """Yields the messages of the conversation, each with its stream."""
        yield self._request("to-agent", "initialize", protocolVersion=1, clientCapabilities={})
        yield self._result("to-client", 1, protocolVersion=1, agentCapabilities={})
        for word, number in [("open", 0), *self._words]:
            session = self._opened[number % len(self._opened)] if self._opened else ""
            yield from getattr(self, f"_{word}")(session)
        yield from self._replies("")

    def _open(self, _: str) -> Iterator[tuple[str, Any]]:
        if len(self._opened) < 3:
            yield self._request("to-agent", "session/new", cwd="/", mcpServers=[])
            self._opened.append(f"s{len(self._opened) + 1}")
            yield self._result("to-client", self._count["to-agent"], sessionId=self._opened[-1])

    def _load(self, session: str) -> Iterator[tuple[str, Any]]:
        if session not in self._prompts:
            yield self._request(
                "to-agent", "session/load", sessionId=session, cwd="/", mcpServers=[]
            )
            number = self._count["to-agent"]
            yield from self._update(session)
            yield self._result("to-client", number)

    def _prompt(self, session: str) -> Iterator[tuple[str, Any]]:
        if session not in self._prompts:
            said = [{"type": "text", "text": f"prompt {self._count['to-agent']}"}]
            yield self._request("to-agent", "session/prompt", sessionId=session, prompt=said)
            self._prompts[session] = self._count["to-agent"]

    def _update(self, session: str) -> Iterator[tuple[str, Any]]:
        self._count["updates"] = self._count.get("updates", 0) + 1
        text = {"type": "text", "text": f"update {self._count['updates']}"}
        update = {"sessionUpdate": "agent_message_chunk", "content": text}
        yield self._notification("to-client", "session/update", sessionId=session, update=update)

    def _ask(self, session: str) -> Iterator[tuple[str, Any]]:
        if session in self._prompts:
            path = f"/{self._count['to-client']}"
            yield self._request("to-client", "fs/read_text_file", sessionId=session, path=path)
            self._asked.append((self._count["to-client"], session))

    def _answer(self, _: str) -> Iterator[tuple[str, Any]]:
        if self._asked:
            yield self._result("to-agent", self._asked.pop(0)[0], content="x")

    def _end(self, session: str) -> Iterator[tuple[str, Any]]:
        if session in self._prompts and not any(of == session for _, of in self._asked):
            yield self._result("to-client", self._prompts.pop(session), stopReason="end_turn")

    def _cancel(self, session: str) -> Iterator[tuple[str, Any]]:
        if session in self._prompts:
            yield self._notification("to-agent", "session/cancel", sessionId=session)

    def _mode(self, session: str) -> Iterator[tuple[str, Any]]:
        mode = f"m{self._count['to-agent']}"
        yield self._request("to-agent", "session/set_mode", sessionId=session, modeId=mode)
        yield self._result("to-client", self._count["to-agent"])

    def _list(self, _: str) -> Iterator[tuple[str, Any]]:
        yield self._request("to-agent", "session/list", cursor=str(self._count["to-agent"]))
        self._pending.append((self._count["to-agent"], {"sessions": []}))

    def _replies(self, _: str) -> Iterator[tuple[str, Any]]:
        while self._pending:
            number, result = self._pending.pop()
            yield self._result("to-client", number, **result)

    def _stray(self, _: str) -> Iterator[tuple[str, Any]]:
        self._count["strays"] = self._count.get("strays", 0) + 1
        yield "to-client", f"not JSON {self._count['strays']}"

    def _stderr(self, _: str) -> Iterator[tuple[str, Any]]:
        yield "stderr", "a word"

    def _extension(self, _: str) -> Iterator[tuple[str, Any]]:
        yield self._request("to-agent", "_x/y", n=self._count["to-agent"])
        yield self._result("to-client", self._count["to-agent"])

    def _notify(self, session: str) -> Iterator[tuple[str, Any]]:
        yield self._notification("to-agent", "_x/z", sessionId=session)

    def _request(self, stream: str, method: str, **params: Any) -> tuple[str, Any]:
        self._count[stream] += 1
        message = {"jsonrpc": "2.0", "id": self._count[stream], "method": method}
        return stream, message | {"params": params}

    def _notification(self, stream: str, method: str, **params: Any) -> tuple[str, Any]:
        return stream, {"jsonrpc": "2.0", "method": method, "params": params}

    def _result(self, stream: str, number: int, **result: Any) -> tuple[str, Any]:
        return stream, {"jsonrpc": "2.0", "id": number, "result": result}
