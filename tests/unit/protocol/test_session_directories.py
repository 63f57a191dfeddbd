"""In the 1.0 draft, a message without a session is assigned to a session by its directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.trim import trim
from acp_proxy.protocol.connection_state import SessionDirectories
from acp_proxy.recording.filters import parse
from acp_proxy.store.queries.exchanges import exchanges_by_own_session, turns
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, notification, request, result

if TYPE_CHECKING:
    from pathlib import Path


def known(**directories: str) -> SessionDirectories:
    """Returns the directories of some sessions that were opened."""
    sessions = SessionDirectories()
    for number, (session, directory) in enumerate(directories.items()):
        sessions.request(number, {"workingDirectory": directory}, None)
        sessions.answer(number, session)
    return sessions


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"path": "/a/x"}, ["a"]),
        ({"path": "/a"}, ["a"]),
        ({"path": "/a/b/x"}, ["b"]),
        ({"path": "/ab"}, []),
        ({"path": "C:\\w\\x"}, ["w"]),
        ({"path": 7, "cwd": "/a/b"}, ["b"]),
        ({"command": "ls"}, []),
    ],
)
def test_a_path_is_of_the_innermost_directory(params: dict[str, Any], expected: list[str]) -> None:
    """In the 1.0 draft, acp-proxy assigns a path to the session with the innermost directory."""
    assert known(a="/a", b="/a/b/", w="C:\\w").candidates(params) == expected


def test_everything_is_in_the_root() -> None:
    """In the 1.0 draft, acp-proxy assigns a path in no other directory to the session in `/`."""
    assert known(a="/", b="/b").candidates({"path": "/c/d"}) == ["a"]


def test_a_session_that_was_not_opened_has_no_directory() -> None:
    """In the 1.0 draft, acp-proxy ignores the directory of a session that was not opened."""
    sessions = SessionDirectories()
    sessions.request(1, {"workingDirectory": "/a"}, None)
    sessions.answer(1, None)
    assert sessions == SessionDirectories()


def _update(session: str, data: dict[str, Any]) -> dict[str, Any]:
    params = {"sessionId": session, "type": "tool_call_update", "data": data}
    return notification("session/update", **params)


CHAT = (
    ("to_agent", request(1, "session/new", workingDirectory="/a")),
    ("to_client", result(1, sessionId="a")),
    ("to_agent", request(2, "session/new", workingDirectory="/b")),
    ("to_client", result(2, sessionId="b")),
    ("to_agent", request(3, "session/prompt", sessionId="a", content=[])),
    ("to_agent", request(4, "session/prompt", sessionId="b", content=[])),
    ("to_client", request(1, "fs/read_text_file", path="/b/x")),
    ("to_agent", result(1, content="")),
    ("to_client", request(2, "terminal/create", command="ls", cwd="/b")),
    ("to_agent", result(2, terminalId="t")),
    ("to_agent", request(5, "terminal/output", terminalId="t", data="x")),
    ("to_client", result(5, received=True)),
    ("to_client", _update("b", {"id": "c", "output": {"type": "terminal", "terminalId": "t"}})),
    ("to_client", result(3, stopReason="end_turn")),
    ("to_client", result(4, stopReason="end_turn")),
)
OF_A = [2, 3, 6, 15]
OF_B = [4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 16]


def record(path: Path, *, every: int | None = None) -> Path:
    """Records the conversation, and indexes it after each ``every`` frames."""
    with LogWriter(path, dialect="draft-1.0") as recorder:
        for number, (peer, message) in enumerate(CHAT, 1):
            getattr(recorder, peer)(message)
            if every is not None and number % every == 0:
                recorder.index()
    return path


@pytest.mark.parametrize("every", [None, 1, 3])
def test_two_open_turns_are_distinguished(tmp_path: Path, every: int | None) -> None:
    """If two turns are open in the 1.0 draft, `session:a` finds no file request of session `b`."""
    with RecordingReader(record(tmp_path / "x.db", every=every)) as reader:
        for session, expected in (("a", OF_A), ("b", OF_B)):
            seqs = [row["seq"] for row in reader.frames(parse(f"session:{session}"))]
            assert seqs == expected
        turns = [row["seq"] for row in reader.frames(parse("turn:2"))]
        assert turns == OF_B[2:]


def test_a_terminal_is_found_with_all_its_messages(tmp_path: Path) -> None:
    """The filter `terminal:t` finds all messages of a recording about the terminal `t`."""
    with RecordingReader(record(tmp_path / "x.db")) as reader:
        seqs = [row["seq"] for row in reader.frames(parse("terminal:t"))]
    assert seqs == [10, 11, 12, 13, 14]


def test_a_trimmed_turn_has_no_frame_of_the_other_turn(tmp_path: Path) -> None:
    """In the 1.0 draft, `export` of one turn as a test has no file request of another turn."""
    with RecordingReader(record(tmp_path / "x.db")) as reader:
        exchanges = exchanges_by_own_session(reader)
        kept = trim(reader.heads(), exchanges, turns(reader)[:1])
    assert kept == set(OF_A)
