"""A summary has the peers, the turns, the open requests and the ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.show.conversation_summary import first_prompt
from acp_proxy.explain.show.summary import summarize
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import (
    MS,
    LogWriter,
    error,
    handshake,
    line,
    record_conversation,
    request,
    result,
    text,
    write_conversation,
)

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.explain.show.summary_values import Summary


def summary_of(path: Path) -> Summary:
    """Reads a recording's summary."""
    with RecordingReader(path) as reader:
        return summarize(reader)


@pytest.fixture
def story(tmp_path: Path) -> Summary:
    """The summary of `write_conversation`."""
    return summary_of(record_conversation(tmp_path / "story.db"))


def test_both_peers_are_named(story: Summary) -> None:
    """`show` names the client, the agent and the dialect."""
    recording = story.recording
    assert (recording.client_name, recording.client_version) == ("ed", "1.2")
    assert (recording.agent_name, recording.agent_version) == ("ag", "3.4")
    assert recording.dialect == "v1"
    assert recording.dialect_reason
    assert story.path.endswith("story.db")


def test_a_fork_is_marked_on_the_session_that_it_made(tmp_path: Path) -> None:
    """`show` marks a session that was forked from another session."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/new", cwd="/a"))
        recorder.to_client(result(1, sessionId="old"))
        recorder.to_agent(request(2, "session/fork", sessionId="old", cwd="/b"))
        recorder.to_client(result(2, sessionId="new"))
    opened = {
        session.id: (session.opened, session.cwd) for session in summary_of(recorder.path).opened
    }
    assert opened == {"old": (["new"], "/a"), "new": (["fork"], "/b")}


def test_frames_are_counted_by_stream_and_kind(story: Summary) -> None:
    """`show` counts frames by stream and by kind."""
    assert story.frames == {"to-agent": 6, "to-client": 11, "stderr": 1}
    assert story.kinds == {
        "request": 6,
        "response": 4,
        "error": 1,
        "notification": 3,
        "invalid": 2,
        "blank": 1,
    }
    assert story.errors == 1
    assert story.duration_ns == 22 * MS


def test_turns_are_summarized(story: Summary) -> None:
    """`show` lists the prompt, stop reason and duration of each turn."""
    (turn,) = story.turns
    assert (turn.session, turn.prompt, turn.stop_reason) == ("s-1", "hello 你好", "end_turn")
    assert (turn.prompt_seq, turn.end_seq, turn.duration_ns) == (6, 15, 9 * MS)
    assert (turn.updates, turn.tool_calls) == (3, 1)
    assert story.sessions == ["s-1"]


def test_open_requests_have_their_age_and_direction(tmp_path: Path) -> None:
    """`show` lists each open request with its direction, its method and how long it has waited."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(request(1, "session/request_permission", toolCall={"title": "Edit"}))
        recorder.t_ns += 100 * MS
        recorder.end()
    waiting = summary_of(recorder.path).unanswered
    assert [(w.seq, w.direction, w.method, w.rpc_id) for w in waiting] == [
        (2, "to-agent", "session/prompt", "1"),
        (3, "to-client", "session/request_permission", "1"),
    ]
    assert [w.waited_ns for w in waiting] == [102 * MS, 101 * MS]
    assert [w.preview for w in waiting] == ["go", "Edit"]


def test_events_are_described_in_words(tmp_path: Path) -> None:
    """`show` tells in words of a signal, and of bytes that were not recorded or not delivered."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(capture_log.SIGNAL, signal=15, action="passed on")
        recorder.event(capture_log.GAP, reason="disk full", since=1, **{"to-agent": 5})
        recorder.chunk(capture_log.TO_AGENT, b"abc\n")
        recorder.event(capture_log.UNDELIVERED, capture_log.TO_AGENT, bytes=4)
        recorder.end()
    assert summary_of(recorder.path).events == [
        "SIGTERM was passed on to the agent",
        "not recorded: 5 bytes to-agent (disk full)",
        "4 bytes to-agent were read but could not be delivered",
    ]


def test_the_last_lines_of_stderr_are_kept(tmp_path: Path) -> None:
    """`show` prints the last five lines of stderr."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number in range(9):
            recorder.stderr(f"line {number}")
        recorder.chunk(capture_log.STDERR, b"\xff\x1b[2J\n")
    tail = summary_of(recorder.path).stderr_tail
    assert tail == ["line 5", "line 6", "line 7", "line 8", "\ufffd\\x1b[2J"]


def test_a_running_recording_is_summarized_from_its_log(tmp_path: Path) -> None:
    """`show` prints the same summary of a running recording before and after indexing."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
        live = summary_of(recorder.path)
        assert live.live
        recorder.index()
        assert summary_of(recorder.path) == live


def test_an_empty_recording_has_a_summary(tmp_path: Path) -> None:
    """If a recording has no messages, `show` counts no frames and no turns."""
    with LogWriter(tmp_path / "x.db") as recorder:
        pass
    summary = summary_of(recorder.path)
    assert (summary.frames, summary.turns, summary.duration_ns) == ({}, [], 0)


def test_requests_that_were_cancelled_are_no_errors(tmp_path: Path) -> None:
    """`show` does not count the error response to a cancelled request as an error."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "a"), request(2, "a"), request(3, "a"))
        recorder.to_client(error(1, -32800, "cancelled"), error(2, -1, "no"), result(3))
    assert summary_of(recorder.path).errors == 1


@each_case(
    ("raw", "prompt"),
    [
        (line(request(1, "session/prompt", prompt=[text("a\nb"), text("c")])), "a\\nb"),
        (line(request(1, "session/prompt", content="draft")), "draft"),
        (b'{"params": {}}', ""),
        (b'{"params": 7}', ""),
        (b"[]", ""),
        (b'{"params": {"prompt": [{"type": "text", "text": "cut o', "cut o"),
        (b"no JSON", ""),
        (None, ""),
    ],
)
def test_a_first_prompt_is_text_or_nothing(raw: bytes | None, prompt: str) -> None:
    """`list` prints the text of the first prompt, or nothing if its frame is not readable."""
    words: Any = first_prompt(raw)
    assert words.startswith(prompt)
    assert bool(words) == bool(prompt)
