"""`log` marks a pause if it is a large part of a turn, and names who was waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.explain.log.folding import ChunkRun, fold
from acp_proxy.explain.pauses import Pause, Pauses
from acp_proxy.recording.recording import Lost, Origin
from acp_proxy.store.reader import RecordingReader
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
from tests.support.waiting_chat import record_waiting_chat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECOND = 1000 * MS


def pauses_of(path: Path, now_ns: int | None = None) -> list[Pause]:
    """Returns all marked pauses of a recording."""
    with RecordingReader(path) as reader:
        return [*Pauses(reader).every(now_ns)]


def record(path: Path, *steps: Callable[[LogWriter], None]) -> Path:
    """Records a handshake, and then some steps."""
    with LogWriter(path) as recorder:
        handshake(recorder)  # 2, 3
        for step in steps:
            step(recorder)
        recorder.end()
        recorder.close()
        recorder.finish()
    return path


def wait(ns: int) -> Callable[[LogWriter], None]:
    """Lets a time pass; the next record takes a millisecond of it."""

    def step(recorder: LogWriter) -> None:
        recorder.t_ns += ns - MS

    return step


def asks(*messages: Any) -> Callable[[LogWriter], None]:
    """The client sends messages."""
    return lambda recorder: recorder.to_agent(*messages)


def says(*messages: Any) -> Callable[[LogWriter], None]:
    """The agent sends messages."""
    return lambda recorder: recorder.to_client(*messages)


PROMPT = asks(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
CHUNK = says(update("s", "agent_message_chunk", content=text("ok")))
END = says(result(1, stopReason="end_turn"))


@pytest.mark.parametrize(
    ("pause_ns", "turn_ns", "is_marked"),
    [
        (SECOND, 10 * SECOND, True),
        (SECOND, 10 * SECOND + MS, False),
        (SECOND - 1, 3 * SECOND, False),
        (4 * SECOND, 40 * SECOND, True),
        (4 * SECOND, 41 * SECOND, False),
        (5 * SECOND, 400 * SECOND, True),
        (5 * SECOND - 1, 400 * SECOND, False),
    ],
)
def test_a_pause_is_marked_from_a_tenth_of_its_turn_on(
    tmp_path: Path, pause_ns: int, turn_ns: int, *, is_marked: bool
) -> None:
    """In a turn, `log` marks a pause of 5 s, or of at least 1 s and a tenth of the turn."""
    rest_ns = turn_ns - pause_ns
    steps = [step for _ in range(200) for step in (wait(rest_ns // 200), CHUNK)]
    path = record(tmp_path / "x.db", PROMPT, *steps, wait(pause_ns), END)
    marked = [pause for pause in pauses_of(path) if pause.length_ns == pause_ns]
    assert bool(marked) is is_marked


def test_a_pause_outside_of_turns_is_marked_from_five_seconds_on(tmp_path: Path) -> None:
    """Outside of a turn, `log` marks a pause of at least five seconds."""
    after = notification("session/cancel", sessionId="s")
    steps = (wait(4 * SECOND), PROMPT, END, wait(5 * SECOND), asks(after))
    assert pauses_of(record(tmp_path / "x.db", *steps)) == [
        Pause(5, 6, 5 * SECOND, "the client's next message", never_ended=False)
    ]


def test_a_running_recording_may_pause_now(tmp_path: Path) -> None:
    """In a running recording, `log` prints how long ago the last frame came."""
    recorder = record_waiting_chat(tmp_path / "x.db", finished=False)
    last = pauses_of(recorder.path, recorder.t_ns)[-1]
    recorder.abandon()
    assert (last.after, last.awaited, last.never_ended) == (None, "a person: permission", False)
    assert last.text() == "25.0 s, waiting for a person: permission"


def test_an_open_answer_never_ended(tmp_path: Path) -> None:
    """If what was waited for in a pause never came, `log` prints "never ended" at the pause."""
    calls = [
        update("s", "tool_call", toolCallId=name, title=name, status="in_progress") for name in "ab"
    ]
    cancel = asks(notification("session/cancel", sessionId="s"))
    path = record(tmp_path / "x.db", PROMPT, says(*calls), wait(3 * SECOND), cancel)
    (pause,) = pauses_of(path)
    assert pause.text() == "3.0 s, waiting for call a and 1 other, never ended"


@pytest.mark.parametrize(
    ("method", "params", "awaited"),
    [
        ("fs/read_text_file", {"path": "/a"}, "the client: fs/read_text_file"),
        ("terminal/wait_for_exit", {"terminalId": "t"}, "a program"),
        ("session/request_permission", {"toolCall": {}, "options": []}, "a person: permission"),
        ("elicitation/create", {"message": "Who?"}, "a person: form"),
    ],
)
def test_a_request_of_the_agent_names_who_answers(
    tmp_path: Path, method: str, params: dict[str, Any], awaited: str
) -> None:
    """At a pause with an open request of the agent, `log` names who must answer it."""
    ask = says(request(7, method, sessionId="s", **params))
    steps = (PROMPT, CHUNK, ask, wait(2 * SECOND), asks(result(7)), END)
    (pause,) = pauses_of(record(tmp_path / "x.db", *steps))
    assert (pause.awaited, pause.never_ended) == (awaited, False)


def test_an_open_handshake_waits_for_the_agent(tmp_path: Path) -> None:
    """If `session/new` or a login is open during a pause, `log` names who must answer it."""
    new = asks(request(1, "session/new", cwd="/srv", mcpServers=[]))
    login = asks(request(2, "authenticate", methodId="browser"))
    steps = (new, wait(6 * SECOND), says(result(1, sessionId="s")), login, wait(9 * SECOND),
             says(result(2)))  # fmt: skip
    marked = pauses_of(record(tmp_path / "x.db", *steps))
    assert [pause.awaited for pause in marked] == ["the agent", "a person: login"]


@pytest.mark.parametrize("lost", ["middle", "times"])
def test_an_import_without_times_has_no_pause(tmp_path: Path, lost: Lost) -> None:
    """`log` marks no pauses in an imported log that lacks times or messages in the middle."""
    path = record(tmp_path / "x.db", PROMPT, wait(9 * SECOND), END)
    with RecordingReader(path) as reader:
        pauses = Pauses(reader)
        assert len([*pauses.every()]) == 1
        pauses.recording = evolve(reader.recording, origin=Origin("zed", (lost,)))
        assert [*pauses.every()] == []


def test_a_pause_ends_a_run_of_chunks(tmp_path: Path) -> None:
    """`log` does not join two chunks if a marked pause is between them."""
    path = record(tmp_path / "x.db", PROMPT, CHUNK, CHUNK, wait(2 * SECOND), CHUNK, CHUNK, END)
    with RecordingReader(path) as reader:
        runs = [item for item in fold(reader.rows(), pauses=Pauses(reader))
                if isinstance(item, ChunkRun)]  # fmt: skip
    assert [(run.first["seq"], run.last) for run in runs] == [(5, 6), (7, 8)]


def test_each_pause_names_who_was_waited_for(tmp_path: Path) -> None:
    """`log` names for each pause who was waited for, such as a person or a tool call."""
    path = record_waiting_chat(tmp_path / "x.db").path
    assert [(pause.length_ns // SECOND, pause.awaited) for pause in pauses_of(path)] == [
        (31, "a person: permission"),
        (9, "call npm test 测试"),
        (6, "the agent"),
        (30, "the client's next message"),
        (25, "a person: permission"),
    ]
