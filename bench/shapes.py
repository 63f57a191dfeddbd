"""Writes conversations with a lot of one thing, to measure how the time of commands grows.

Each shape repeats one thing in an otherwise ordinary conversation. Two sizes of a shape show
whether the time of a command grows with the size or with its square.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEADER = {
    "acp_proxy": 1,
    "recording": {
        "id": "90000000",
        "name": "growth",
        "tool_version": "0",
        "started_at": "2026-01-01T00:00:00Z",
        "state": "complete",
        "redaction": "secrets",
        "cwd": "/srv/p",
        "command": ["agent"],
    },
}
"""The recording is marked as masked, so that commands do not mask it again."""
_OPTIONS = [{"optionId": "a", "name": "Allow", "kind": "allow_once"}]
_CAPABILITIES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


class Script:
    """Writes a conversation line by line, one millisecond apart."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._ids = 0
        capabilities = {"loadSession": True}
        self.ask("initialize", protocolVersion=1, clientCapabilities=_CAPABILITIES)
        self.answer(1, protocolVersion=1, agentCapabilities=capabilities, authMethods=[])
        self.session = ""

    def line(self, stream: str, message: Any) -> None:
        """Writes a line: a string unchanged, other values as JSON."""
        text = message if isinstance(message, str) else json.dumps(message, separators=(",", ":"))
        self.lines.append(json.dumps({"after_ms": 1, "stream": stream, "text": text}))

    def begin(self, session: str = "s") -> int:
        """Opens a session and sends a prompt; returns the id of the prompt."""
        self.open(session)
        return self.prompt()

    def open(self, session: str = "s") -> None:
        """Opens a session, to which all later messages belong."""
        self.session = session
        self.answer(self.ask("session/new", cwd="/srv/p", mcpServers=[]), sessionId=session)

    def prompt(self, name: int | None = None, session: str | None = None) -> int:
        """Sends a prompt of the client; returns its id."""
        prompt = [{"type": "text", "text": "Go on"}]
        session = self.session if session is None else session
        return self.ask("session/prompt", name, sessionId=session, prompt=prompt)

    def end(self, prompt: int) -> None:
        """Sends the answer to a prompt."""
        self.answer(prompt, stopReason="end_turn")

    def ask(self, method: str, name: int | None = None, **params: Any) -> int:
        """Sends a request of the client; returns its id."""
        self._ids += 1
        name = self._ids if name is None else name
        self.line("to-agent", request(name, method, **params))
        return name

    def answer(self, name: int, **result: Any) -> None:
        """Sends an answer of the agent."""
        self.line("to-client", response(name, **result))

    def update(self, kind: str, session: str | None = None, /, **members: Any) -> None:
        """Sends an update of the agent."""
        self.line("to-client", self.updated(kind, session, **members))

    def updated(self, kind: str, session: str | None = None, /, **members: Any) -> dict[str, Any]:
        """Returns a session update as a message."""
        params = {
            "sessionId": session or self.session,
            "update": {"sessionUpdate": kind, **members},
        }
        return {"jsonrpc": "2.0", "method": "session/update", "params": params}

    def chunk(self, text: str = "a word ", session: str | None = None) -> None:
        """Sends an update with a chunk of text."""
        self.update("agent_message_chunk", session, content={"type": "text", "text": text})

    def call(self, method: str, name: Any, **params: Any) -> None:
        """Sends a request of the agent."""
        self.line("to-client", request(name, method, sessionId=self.session, **params))

    def reply(self, name: Any, **result: Any) -> None:
        """Sends an answer of the client."""
        self.line("to-agent", response(name, **result))

    def permission(self, name: Any, call: str) -> None:
        """Sends a permission request for an edit of a file."""
        edit = {"rawInput": {"path": f"/srv/p/{call}"}, "kind": "edit"}
        tool_call = {"toolCallId": call, "title": f"Edit {call}", **edit}
        self.call("session/request_permission", name, toolCall=tool_call, options=_OPTIONS)

    def terminal(self, number: int) -> None:
        """Sends the agent's request for a terminal, and the client's answer."""
        self.call("terminal/create", number, command="make", args=[str(number)])
        self.reply(number, terminalId=f"t{number}")


def request(name: Any, method: str, **params: Any) -> dict[str, Any]:
    """Returns a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": name, "method": method, "params": params}


def response(name: Any, **result: Any) -> dict[str, Any]:
    """Returns a JSON-RPC response with a result."""
    return {"jsonrpc": "2.0", "id": name, "result": result}


def _batch_prompts(script: Script, size: int) -> None:
    script.open()
    prompt = [{"type": "text", "text": "Go on"}]
    ids = range(10, 10 + size)
    asked = [request(i, "session/prompt", sessionId="s", prompt=prompt) for i in ids]
    script.line("to-agent", asked)
    script.chunk()
    script.line("to-client", [response(i, stopReason="end_turn") for i in ids])


def _batch_reads(script: Script, size: int) -> None:
    prompt = script.begin()
    asked = [
        request(i, "fs/read_text_file", sessionId="s", path=f"/srv/p/{i}") for i in range(size)
    ]
    script.line("to-client", asked)
    script.line("to-agent", [response(i, content="x") for i in range(size)])
    script.end(prompt)


def _batch_chunks(script: Script, size: int) -> None:
    prompt = script.begin()
    chunks = [
        script.updated("agent_message_chunk", content={"type": "text", "text": f"{i} "})
        for i in range(size)
    ]
    script.line("to-client", chunks)
    script.end(prompt)


def _batch_answers(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("fs/read_text_file", i, path=f"/srv/p/{i}")
    script.line("to-agent", [response(i, content="x") for i in range(size)])
    script.end(prompt)


def _sessions(script: Script, size: int) -> None:
    for i in range(size):
        prompt = script.begin(f"s{i}")
        script.chunk()
        script.end(prompt)


def _open_sessions(script: Script, size: int) -> None:
    prompts = [script.begin(f"s{i}") for i in range(size)]
    for i in range(size):
        script.chunk(session=f"s{i}")
    for prompt in prompts:
        script.end(prompt)


def _open_prompts(script: Script, size: int) -> None:
    script.open()
    for _ in range(size):
        script.prompt()
        script.chunk()


def _late_prompts(script: Script, size: int) -> None:
    script.open()
    prompts = [script.prompt() for _ in range(size)]
    for prompt in prompts:
        script.chunk()
        script.end(prompt)


def _open_permissions(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.permission(i, f"c{i}")
    script.end(prompt)


def _permissions(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.permission(i, f"c{i}")
    for i in range(size):
        script.reply(i, outcome={"outcome": "selected", "optionId": "a"})
    script.end(prompt)


def _open_calls(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.update("tool_call", toolCallId=f"c{i}", title=f"Read {i}", kind="read")
    for i in range(size):
        script.update("tool_call_update", toolCallId=f"c{i}", status="in_progress")
    for i in range(size):
        script.update("tool_call_update", toolCallId=f"c{i}", status="completed")
    script.end(prompt)


def _unfinished_calls(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.update("tool_call", toolCallId=f"c{i}", title=f"Read {i}", kind="read")
        script.chunk()
    script.end(prompt)


def _call_updates(script: Script, size: int) -> None:
    prompt = script.begin()
    script.update("tool_call", toolCallId="c", title="Build", kind="execute", status="in_progress")
    for i in range(size):
        content = [{"type": "content", "content": {"type": "text", "text": f"line {i}"}}]
        script.update("tool_call_update", toolCallId="c", content=content)
    script.update("tool_call_update", toolCallId="c", status="completed")
    script.end(prompt)


def _call_id(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.update("tool_call", toolCallId="c", title=f"Read {i}", kind="read")
        script.update("tool_call_update", toolCallId="c", status="completed")
    script.end(prompt)


def _prompt_id(script: Script, size: int) -> None:
    script.open()
    for _ in range(size):
        script.prompt(7)
    for _ in range(size):
        script.chunk()
        script.end(7)


def _prompt_id_again(script: Script, size: int) -> None:
    script.open()
    for _ in range(size):
        script.prompt(7)
        script.chunk()
        script.end(7)


def _request_id(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("fs/read_text_file", 1, path=f"/srv/p/{i}")
    for _ in range(size):
        script.reply(1, content="x")
    script.end(prompt)


def _terminal_id(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("terminal/create", 2 * i, command="make", args=[str(i)])
        script.reply(2 * i, terminalId="t")
        script.call("terminal/release", 2 * i + 1, terminalId="t")
        script.reply(2 * i + 1)
    script.end(prompt)


def _terminals(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.terminal(i)
    script.end(prompt)


def _released_terminals(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.terminal(i)
    for i in range(size):
        script.call("terminal/output", size + i, terminalId=f"t{i}")
        script.reply(size + i, output=f"{i}\n", truncated=False, exitStatus={"exitCode": 0})
    for i in range(size):
        script.call("terminal/release", 2 * size + i, terminalId=f"t{i}")
        script.reply(2 * size + i)
    script.end(prompt)


def _exit_waits(script: Script, size: int) -> None:
    prompt = script.begin()
    script.terminal(0)
    for i in range(1, size):
        script.call("terminal/wait_for_exit", i, terminalId="t0")
    for i in range(1, size):
        script.reply(i, exitCode=0)
    script.end(prompt)


def _stderr(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.line("stderr", f"agent: warning {i}: the cache was not found")
    script.end(prompt)


def _stderr_turns(script: Script, size: int) -> None:
    script.open()
    for i in range(size):
        prompt = script.prompt()
        script.line("stderr", f"agent: warning {i}: the cache was not found")
        script.chunk()
        script.end(prompt)


def _depth(script: Script, size: int) -> None:
    prompt = script.begin()
    deep = '{"a":[' * (size // 2) + "1" + "]}" * (size // 2)
    update = script.updated("tool_call", toolCallId="c", title="Deep", rawInput="DEEP")
    script.line("to-client", json.dumps(update).replace('"DEEP"', deep))
    script.end(prompt)


def _open_reads(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("fs/read_text_file", i, path=f"/srv/p/{i}")
    for _ in range(size):
        script.chunk()
    for i in range(size):
        script.reply(i, content="x")
    script.end(prompt)


def _mixed_ids(script: Script, size: int) -> None:
    prompt = script.begin()
    names = [name for i in range(size // 3) for name in (i, str(i), i + 0.5)]
    for name in names:
        script.call("fs/read_text_file", name, path="/srv/p/a")
    for name in names:
        script.reply(name, content="x")
    script.end(prompt)


def _cancels(script: Script, size: int) -> None:
    prompt = script.begin()
    for _ in range(size):
        params = {"sessionId": "s"}
        script.line("to-agent", {"jsonrpc": "2.0", "method": "session/cancel", "params": params})
    script.answer(prompt, stopReason="cancelled")


def _cancelled_requests(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("fs/read_text_file", i, path="/srv/p/a")
    for i in range(size):
        params = {"requestId": i}
        script.line("to-client", {"jsonrpc": "2.0", "method": "$/cancel_request", "params": params})
    script.end(prompt)


def _orphans(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.answer(10**6 + i)
    script.end(prompt)


def _junk(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.line("to-client", f"Debug: step {i}")
    script.end(prompt)


def _methods(script: Script, size: int) -> None:
    script.open()
    for i in range(size):
        script.answer(script.ask(f"_x/{i}", sessionId="s"))


def _errors(script: Script, size: int) -> None:
    script.open()
    for i in range(size):
        error = {"code": -32603, "message": f"failed {i}"}
        name = script.prompt()
        script.line("to-client", {"jsonrpc": "2.0", "id": name, "error": error})


def _keys(script: Script, size: int) -> None:
    prompt = script.begin()
    script.update(
        "tool_call", toolCallId="c", title="Keys", rawInput={f"k{i}": i for i in range(size)}
    )
    script.end(prompt)


def _diffs(script: Script, size: int) -> None:
    prompt = script.begin()
    diffs = [
        {"type": "diff", "path": f"/srv/p/{i}", "oldText": "a\n", "newText": f"{i}\n"}
        for i in range(size)
    ]
    script.update("tool_call", toolCallId="c", title="Edit", kind="edit", content=diffs)
    script.update("tool_call_update", toolCallId="c", status="completed")
    script.end(prompt)


def _changed_lines(script: Script, size: int) -> None:
    prompt = script.begin()
    old, new = ("".join(f"{word} {i}\n" for i in range(size)) for word in ("old", "new"))
    diff = {"type": "diff", "path": "/srv/p/a", "oldText": old, "newText": new}
    script.update("tool_call", toolCallId="c", title="Edit", kind="edit", content=[diff])
    script.end(prompt)


def _writes(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.call("fs/write_text_file", i, path="/srv/p/a", content=f"{i}\n")
        script.reply(i)
    script.end(prompt)


def _plans(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        entries = [{"content": f"Step {i}", "priority": "high", "status": "pending"}]
        script.update("plan", entries=entries)
    script.end(prompt)


def _chunks(script: Script, size: int) -> None:
    prompt = script.begin()
    for i in range(size):
        script.chunk(f"word {i} ")
    script.end(prompt)


def _loads(script: Script, size: int) -> None:
    script.open()
    for _ in range(size):
        script.answer(script.ask("session/load", sessionId="s", cwd="/srv/p", mcpServers=[]))


SHAPES: dict[str, Callable[[Script, int], None]] = {
    "batch-prompts": _batch_prompts,
    "batch-reads": _batch_reads,
    "batch-chunks": _batch_chunks,
    "batch-answers": _batch_answers,
    "sessions": _sessions,
    "open-sessions": _open_sessions,
    "open-prompts": _open_prompts,
    "late-prompts": _late_prompts,
    "open-permissions": _open_permissions,
    "permissions": _permissions,
    "open-calls": _open_calls,
    "unfinished-calls": _unfinished_calls,
    "call-updates": _call_updates,
    "call-id": _call_id,
    "prompt-id": _prompt_id,
    "prompt-id-again": _prompt_id_again,
    "request-id": _request_id,
    "terminal-id": _terminal_id,
    "terminals": _terminals,
    "released-terminals": _released_terminals,
    "exit-waits": _exit_waits,
    "stderr": _stderr,
    "stderr-turns": _stderr_turns,
    "depth": _depth,
    "open-reads": _open_reads,
    "mixed-ids": _mixed_ids,
    "cancels": _cancels,
    "cancelled-requests": _cancelled_requests,
    "orphans": _orphans,
    "junk": _junk,
    "methods": _methods,
    "errors": _errors,
    "keys": _keys,
    "diffs": _diffs,
    "changed-lines": _changed_lines,
    "writes": _writes,
    "plans": _plans,
    "chunks": _chunks,
    "loads": _loads,
}
"""The functions that write a shape, by the name of the repeated thing."""


def write(path: Path, shape: str, size: int) -> None:
    """Writes the text form of a shape into a file.

    Args:
        path: the path of the file.
        shape: one of `SHAPES`.
        size: the number of repetitions.
    """
    script = Script()
    SHAPES[shape](script, size)
    lines = [json.dumps(HEADER), *script.lines]
    lines.append(json.dumps({"after_ms": 1, "event": "exit", "data": {"code": 0}}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
