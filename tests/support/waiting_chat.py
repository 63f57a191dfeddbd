"""Records a conversation with pauses: for the agent, a person, a terminal and a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.log_writer import (
    MS,
    LogWriter,
    error,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1000 * MS


def record_waiting_chat(path: Path, *, finished: bool = True) -> LogWriter:
    """Records a turn of a minute, and a turn in which a permission was never answered."""
    recorder = LogWriter(path)
    handshake(recorder)
    recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
    recorder.t_ns += 2 * SECOND
    recorder.to_client(result(1, sessionId="s-1"))
    recorder.t_ns += 4 * SECOND
    _long_turn(recorder)
    recorder.t_ns += 30 * SECOND
    _open_turn(recorder)
    if finished:
        recorder.end()
        recorder.close()
        recorder.finish()
        recorder.abandon()
    return recorder


def _long_turn(recorder: LogWriter) -> None:
    words = "please run the tests 请运行测试 😀 and fix what fails"
    recorder.to_agent(request(2, "session/prompt", sessionId="s-1", prompt=[text(words)]))
    recorder.t_ns += 3 * SECOND
    for _ in range(20):
        recorder.to_client(update("s-1", "agent_thought_chunk", content=text("思考 let me ")))
        recorder.t_ns += 100 * MS
    call = {"toolCallId": "c-1", "title": "npm test 测试", "kind": "execute"}
    begun = {"sessionUpdate": "tool_call", **call, "status": "pending"}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    recorder.to_client(
        notification("session/update", sessionId="s-1", update=begun),
        request(0, "session/request_permission", sessionId="s-1", toolCall=call, options=options),
    )
    recorder.t_ns += 31 * SECOND
    recorder.to_agent(result(0, outcome={"outcome": "selected", "optionId": "y"}))
    recorder.to_client(request(1, "terminal/create", sessionId="s-1", command="npm", args=["test"]))
    recorder.to_agent(result(1, terminalId="t-1"))
    recorder.to_client(
        request(2, "terminal/wait_for_exit", sessionId="s-1", terminalId="t-1"),
        request(3, "fs/read_text_file", sessionId="s-1", path="/srv/a.py"),
    )
    recorder.t_ns += 200 * MS
    recorder.to_agent(error(3, -32002, "no such file"))
    recorder.t_ns += 9 * SECOND
    recorder.to_agent(result(2, exitCode=1))
    recorder.to_client(update("s-1", "tool_call_update", toolCallId="c-1", status="failed"))
    recorder.t_ns += 6 * SECOND
    for _ in range(30):
        recorder.to_client(update("s-1", "agent_message_chunk", content=text("The tests fail. ")))
        recorder.t_ns += 200 * MS
    recorder.to_client(result(2, stopReason="end_turn"))


def _open_turn(recorder: LogWriter) -> None:
    prompt = [text("try again")]
    recorder.to_agent(request(3, "session/prompt", sessionId="s-1", prompt=prompt))
    recorder.t_ns += SECOND
    call = {"toolCallId": "c-2", "title": "rm -rf /"}
    recorder.to_client(
        update("s-1", "agent_message_chunk", content=text("ok")),
        request(5, "session/request_permission", sessionId="s-1", toolCall=call, options=[]),
    )
    recorder.t_ns += 25 * SECOND
