"""An id of a tool call that is used again names another call, and every command says so."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.inspection.call_spans import CallSpans
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.measures.statistics import gather, waterfall
from acp_proxy.inspection.timeline import frame_line
from acp_proxy.inspection.transcript.transcript import TranscriptReader
from acp_proxy.inspection.transcript.values import EntryKind, TranscriptEntry
from acp_proxy.store.exchange_queries import LAST_SEQ
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_import import import_text_form
from tests.audited import ALLOW, Talk
from tests.log_writer import LogWriter, notification, request, result, update

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READ = {"title": "Read a", "kind": "read"}
WRITE = {"title": "Write a", "kind": "edit"}
RUN = {"title": "ls", "kind": "execute"}


def used_again() -> Talk:
    """A read, a write with permission, and in the next turn a command: all with one id."""
    talk = Talk()
    talk.call("c", **READ)  # 6
    talk.ends("c")
    talk.call("c", **WRITE)  # 8
    talk.permission(ALLOW, {"toolCallId": "c"})  # 9 and 10
    talk.ends("c", "failed")
    talk.to_client(result(3, stopReason="end_turn"))
    talk.prompt()
    talk.call("c", **RUN)  # 14
    talk.ends("c", "in_progress")
    return talk


def view(talk: Talk, tmp_path: Path) -> list[tuple[Any, ...]]:
    """Returns what the view says of the tool calls."""
    path = import_text_form(iter(talk.text_form()), tmp_path / "talk.jsonl", tmp_path)
    sql = "SELECT title, kind, status, turn, first_seq, last_seq, frames, permission"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"{sql} FROM tool_calls").fetchall()


def test_each_call_has_frames_of_its_own() -> None:
    """From its first frame to the one before the next call with its id."""
    with used_again().reader() as reader:
        spans = CallSpans(reader)
        found = [spans.span("s", "c", seq) for seq in (15, 6, 11, 8, 7)]
    assert found == [(14, LAST_SEQ), (0, 7), (8, 13), (8, 13), (0, 7)]


def test_log_gives_each_update_the_title_of_its_call() -> None:
    """Also in the same turn, and for a permission request."""
    with used_again().reader() as reader:
        hints_of = HintReader(reader).of
        lines = {row["seq"]: frame_line(row, hints=hints_of(row)).text for row in reader.frames()}
    assert lines[7] == "Read a (c) [completed]"
    assert lines[9].startswith("Write a (c): Allow")
    assert lines[11] == "Write a (c) [failed]"
    assert lines[15] == "ls (c) [in_progress]"


def test_show_counts_each_call() -> None:
    """With its own kind and status; a call that failed is not lost."""
    with used_again().reader() as reader:
        summary = summarize(reader)
    assert [(one.kind, one.statuses) for one in summary.tool_calls] == [
        ("edit", {"failed": 1}), ("execute", {"in_progress": 1}), ("read", {"completed": 1}),
    ]  # fmt: skip
    assert [(one.seq, one.title) for one in summary.failed_calls] == [(11, "Write a")]
    assert [turn.tool_calls for turn in summary.turns] == [2, 1]
    assert [one.title for one in summary.questions] == ["Write a"]


def test_show_counts_the_calls_of_an_earlier_recording(tmp_path: Path) -> None:
    """Its recorder has counted ids."""
    path = import_text_form(iter(used_again().text_form()), tmp_path / "talk.jsonl", tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turns SET tool_calls = 1")
    with RecordingReader(path) as reader:
        assert [turn.tool_calls for turn in summarize(reader).turns] == [2, 1]


def test_stats_counts_each_call() -> None:
    """Each has its own frames, and the steps of a turn are those of its calls."""
    with used_again().reader() as reader:
        found = gather(reader)
        steps = waterfall(reader, found.turns[0]).steps
    calls = sorted(found.tool_calls, key=lambda call: call.start_ns)
    assert [(c.title, c.kind, c.status, c.turn, c.frames) for c in calls] == [
        ("Read a", "read", "completed", 1, 2), ("Write a", "edit", "failed", 1, 4),
        ("ls", "execute", "in_progress", 2, 2),
    ]  # fmt: skip
    assert found.tool_call_count == 3
    assert [(s.title, s.status, s.seq, s.failed) for s in steps if s.kind == "tool_call"] == [
        ("Read a", "completed", 6, False), ("Write a", "failed", 8, True),
    ]  # fmt: skip


def test_the_view_says_the_same(tmp_path: Path) -> None:
    """With the permission of the call that it was asked for."""
    assert view(used_again(), tmp_path) == [
        ("Read a", "read", "completed", 1, 6, 7, 2, None),
        ("Write a", "edit", "failed", 1, 8, 11, 4, "allow_once"),
        ("ls", "execute", "in_progress", 2, 14, 15, 2, None),
    ]


def test_a_transcript_shows_each_call() -> None:
    """The second call has a card of its own, with its own status."""
    with used_again().reader() as reader:
        found = [*TranscriptReader(reader).read()]
    entries = [one for one in found if isinstance(one, TranscriptEntry)]
    entries = [one for one in entries if one.kind is EntryKind.TOOL_CALL]
    assert [(one.seq, one.last_seq, one.title, one.state) for one in entries] == [
        (6, 7, "Read a", "completed"), (8, 11, "Write a", "failed"), (14, 15, "ls", "in_progress"),
    ]  # fmt: skip


def history(talk: Talk) -> None:
    """Loads the session again, which repeats its calls."""
    talk.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    for call in (READ, WRITE):
        talk.call("c", **call)
        talk.ends("c")
    talk.to_client(result(9))


def live(talk: Talk) -> None:
    """Uses an id twice in a turn."""
    for call in (READ, WRITE):
        talk.call("c", **call)
        talk.ends("c")
    talk.to_client(result(3, stopReason="end_turn"))


@pytest.mark.parametrize(("parts", "count"), [([live, history], 2), ([history], 2)])
def test_a_history_repeats_calls(
    parts: list[Callable[[Talk], None]], count: int, tmp_path: Path
) -> None:
    """It adds none to those that were there, but has calls of its own if none were there."""
    talk = Talk()
    for part in parts:
        part(talk)
    if live not in parts:  # a prompt was open
        talk.lines.pop(4)
    with talk.reader() as reader:
        assert gather(reader).tool_call_count == count
        assert sum(one.count for one in summarize(reader).tool_calls) == (2 if live in parts else 0)
    assert len(view(talk, tmp_path)) == count


def test_calls_outside_of_turns_are_counted() -> None:
    """As in an excerpt that begins within a turn."""
    talk = Talk()
    talk.lines.pop()
    talk.call("c", **READ)
    talk.ends("c")
    talk.call("c", **WRITE)
    with talk.reader() as reader:
        summary = summarize(reader)
        assert gather(reader).tool_call_count == 2
    assert [one.kind for one in summary.tool_calls] == ["edit", "read"]


def test_calls_of_a_recording_that_grows(tmp_path: Path) -> None:
    """What has come since the last question is read as well, once."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s", "tool_call", toolCallId="c", status="completed"))  # 2
        with RecordingReader(recorder.path) as reader:
            spans = CallSpans(reader)
            assert spans.span("s", "c", 2) == (0, LAST_SEQ)
        recorder.to_client(update("s", "tool_call_update", toolCallId="c"))
        recorder.to_client(update("s", "tool_call", toolCallId="c"))  # 4
        with RecordingReader(recorder.path) as reader:
            spans.reader = reader
            assert spans.span("s", "c", 4) == (4, LAST_SEQ)
            assert spans.span("s", "c", 3) == (0, 3)


def test_a_status_at_the_end_of_a_large_line(tmp_path: Path) -> None:
    """A large update with a final status ends the call, though it is not read whole."""
    large = [{"type": "content", "content": {"type": "text", "text": "x" * (2 << 20)}}]
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(2):
            call = {"sessionUpdate": "tool_call", "toolCallId": "c", "content": large}
            recorder.to_client(
                notification("session/update", sessionId="s", update={**call, "status": "failed"})
            )
    with RecordingReader(recorder.path) as reader:
        assert CallSpans(reader).span("s", "c", 3) == (3, LAST_SEQ)


def test_titles_of_very_many_calls_with_one_id() -> None:
    """A title that was not kept is read from the recording again."""
    talk = Talk()
    for n in range(120):
        talk.call("c", title=f"Read {n}")
        talk.ends("c")
    with talk.reader() as reader:
        hints = HintReader(reader)
        titles = [hints.title_of("s", "c", seq) for seq in range(7, 6 + 240, 2)]
        assert hints.spans.title("s", "c", 7) == "Read 0"
        assert hints.spans.title("s", "c", 245) is None
    assert titles == [f"Read {n}" for n in range(120)]
