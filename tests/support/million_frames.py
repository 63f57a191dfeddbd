"""Makes a recording of a million frames: three sessions with chats, files and permissions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from acp_proxy.recording.log_format import TO_CLIENT
from tests.support.log_writer import MS, LogWriter, line

if TYPE_CHECKING:
    from pathlib import Path

FRAMES = 1_000_000
_CHUNKS = 94
_TEXTS = ("the agent reads a file", "and writes", "some words", "about what it", "found in there")


def record_million(path: Path, frames: int = FRAMES) -> Path:
    """Records a conversation of about ``frames`` frames, the same in each run."""
    chance = random.Random(1)
    with LogWriter(path) as recorder:
        recorder.to_agent(_request(0, "initialize", protocolVersion=1, clientCapabilities={}))
        recorder.to_client(_result(0, protocolVersion=1, agentCapabilities={}, authMethods=[]))
        sessions = [f"sess-{n}" for n in range(3)]
        for n, session in enumerate(sessions, 1):
            recorder.to_agent(_request(n, "session/new", cwd="/srv", mcpServers=[]))
            recorder.to_client(_result(n, sessionId=session))
        said, turn = 8, 0
        while said < frames:
            said += _tell_turn(recorder, chance, sessions[turn % 3], turn)
            turn += 1
        recorder.end()
        recorder.close()
        recorder.finish()
    return path


def _tell_turn(recorder: LogWriter, chance: random.Random, session: str, turn: int) -> int:
    prompt = [{"type": "text", "text": f"question {turn}"}]
    recorder.to_agent(_request(turn + 10, "session/prompt", sessionId=session, prompt=prompt))
    for step in range(10):
        recorder.t_ns += chance.randrange(500) * MS
        chunks = [_chunk(chance, session, turn) for _ in range(_CHUNKS)]
        recorder.chunk(TO_CLIENT, b"".join(map(line, chunks)))
        call, number = f"call-{turn}-{step}", turn * 10 + step
        recorder.to_client(
            _update(session, sessionUpdate="tool_call", toolCallId=call, title="Read", kind="read")
        )
        path = "/srv/a.py"
        ask = _request(number, "fs/read_text_file", sessionId=session, path=path)
        recorder.to_client(ask)
        recorder.to_agent(_result(number, content="print(1)\n"))
        recorder.to_client(
            _update(session, sessionUpdate="tool_call_update", toolCallId=call, status="completed")
        )
    recorder.to_client(_result(turn + 10, stopReason="end_turn"))
    return 2 + 10 * (_CHUNKS + 4)


def _chunk(chance: random.Random, session: str, turn: int) -> dict[str, Any]:
    text = " ".join(chance.choices(_TEXTS, k=3))
    content = {"type": "text", "text": text}
    return _update(
        session,
        sessionUpdate="agent_message_chunk",
        messageId=f"msg_{turn:08}",
        content=content,
        _meta={"pad": "x" * 60},
    )


def _update(session: str, **update: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _result(number: int, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}
