"""`log` takes titles and options from other frames, and names error codes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.cli.screens.styled_text import Ink
from acp_proxy.explain.hints import CallSpans, HintReader
from acp_proxy.explain.log.timeline import frame_line
from acp_proxy.explain.show.summary import summarize
from acp_proxy.explain.stats.statistics import gather, waterfall
from acp_proxy.explain.transcript.entries import EntryKind, TranscriptEntry
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.store.copies.text_import import import_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.audit_conversation import ALLOW, Talk
from tests.support.command_line import run
from tests.support.log_writer import (
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
    from collections.abc import Callable
    from pathlib import Path


OPTIONS = [
    {"optionId": "o1", "name": "Allow", "kind": "allow_once"},
    {"optionId": "o2", "name": "Never", "kind": "reject_always"},
]
CALL = "toolu_01ABCDEFGHJK0123456789XyZ"


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """Records two concurrent tool calls, a permission, and a call that fails."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 4
        recorder.to_client(
            update("s", "tool_call", toolCallId=CALL, title="pytest -q", status="pending"),  # 5
            update("s", "tool_call", toolCallId="b", title="Read a.py", status="pending"),  # 6
            request(7, "session/request_permission", sessionId="s",
                    toolCall={"toolCallId": CALL}, options=OPTIONS),  # 7
        )  # fmt: skip
        recorder.to_agent(result(7, outcome={"outcome": "selected", "optionId": "o1"}))  # 8
        failed = {"type": "content", "content": text("command not found")}
        recorder.to_client(
            update("s", "tool_call_update", toolCallId="b", status="completed"),  # 9
            update("s", "tool_call_update", toolCallId=CALL, status="failed", content=[failed]),
        )
        recorder.to_client(result(1, stopReason="end_turn"))  # 11
        recorder.end()
        recorder.close()
        recorder.finish()
    return recorder.path


def texts(path: Path) -> dict[int, str]:
    """Returns the text that `log` prints for each frame, by the frame's number."""
    with RecordingReader(path) as reader:
        hints_of = HintReader(reader).of
        return {row["seq"]: frame_line(row, hints=hints_of(row)).text for row in reader.frames()}


def test_each_update_of_a_tool_call_has_its_title_and_a_short_id(worked: Path) -> None:
    """`log` prints the tool call's title and a short id at each update of a tool call."""
    said = texts(worked)
    assert said[5] == "pytest -q (…789XyZ) [pending]"
    assert said[9] == "Read a.py (b) [completed]"
    assert said[10] == "pytest -q (…789XyZ) [failed] command not found"


def test_a_permission_and_its_answer_are_described(worked: Path) -> None:
    """`log` prints a permission request with its call's title, and its answer with the option."""
    said = texts(worked)
    assert said[7] == "pytest -q (…789XyZ): Allow (allow_once) | Never (reject_always)"
    assert said[8] == "selected allow_once 'Allow'"


def test_the_title_is_found_outside_of_the_filter(worked: Path) -> None:
    """`log` prints the title of a tool call even if a filter leaves out its first message."""
    out = run("inspect", "log", worked, "seq:9").stdout
    assert "Read a.py (b) [completed]" in out


def test_a_failed_tool_call_is_red(worked: Path) -> None:
    """`log` prints a failed tool call in red."""
    with RecordingReader(worked) as reader:
        tones = {row["seq"]: frame_line(row).tone for row in reader.frames()}
    assert tones[10] == "trouble"
    assert tones[9] == "plain"
    out = run("inspect", "log", worked, "seq:10", FORCE_COLOR="1").stdout
    assert f"\x1b[38;5;{Ink.TROUBLE:d}mpytest" in out


def test_a_tool_call_is_named_alike_everywhere(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`show`, `stats`, `audit`, `diff` and `search` print the same label for a tool call."""
    label = "pytest -q (…789XyZ)"
    red = f"\x1b[38;5;{Ink.TROUBLE:d}m"
    for command in ("show", "stats"):
        shown = run("inspect", command, worked, FORCE_COLOR="1").stdout
        assert label in shown
        assert f"{red}failed" in shown
    assert label in run("inspect", "audit", worked).stdout
    other = worked.with_name("other.jsonl")
    exported = run("inspect", "export", worked).stdout
    other.write_text(exported.replace('"status":"failed"', '"status":"completed"'))
    compared = run("inspect", "diff", worked, other).stdout
    assert f"{label} [failed]" in compared
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 120)
    output = run("inspect", "search", "not found", worked).stdout
    assert label in output
    assert json.loads(run("inspect", "search", "--json", "not found", worked).stdout)[
        "tool_call"
    ].endswith("789XyZ")


@pytest.mark.parametrize(
    ("dialect", "code", "said"),
    [
        ("v1", -32000, "-32000 (authentication required) no"),
        ("draft-1.0", -32000, "-32000 (session not found) no"),
        ("v1", -32002, "-32002 (resource not found) no"),
        ("draft-1.0", -32002, "-32002 (permission denied) no"),
        ("v1", 5, "5 no"),
    ],
)
def test_an_error_code_has_the_name_of_its_dialect(
    tmp_path: Path, dialect: str, code: int, said: str
) -> None:
    """`log` prints the name that the dialect has for an error code."""
    with LogWriter(tmp_path / "x.db", dialect=dialect) as recorder:
        recorder.to_agent(request(1, "session/list"))
        recorder.to_client(error(1, code, "no"))
    assert texts(recorder.path)[3] == said


def test_a_permission_of_the_draft_has_the_name_of_its_tool(tmp_path: Path) -> None:
    """`log` names the tool in a permission request of the 1.0 draft."""
    with LogWriter(tmp_path / "x.db", dialect="draft-1.0") as recorder:
        data = {"id": "tc_123", "tool": "fs/write_text_file", "status": "pending"}
        recorder.to_client(
            notification("session/update", sessionId="s", type="tool_call", data=data),
            request(9, "session/request_permission", sessionId="s", operation="file_write",
                    resource="/w/a", toolCallId="tc_123"),
        )  # fmt: skip
    assert texts(recorder.path)[3] == "file_write /w/a: (fs/write_text_file, tc_123)"


READ = {"title": "Read a", "kind": "read"}
WRITE = {"title": "Write a", "kind": "edit"}
RUN = {"title": "ls", "kind": "execute"}


def used_again() -> Talk:
    """A read, a write with permission, and in the next turn a command: all with one id."""
    conversation = Talk()
    conversation.call("c", **READ)  # 6
    conversation.ends("c")
    conversation.call("c", **WRITE)  # 8
    conversation.permission(ALLOW, {"toolCallId": "c"})  # 9 and 10
    conversation.ends("c", "failed")
    conversation.to_client(result(3, stopReason="end_turn"))
    conversation.prompt()
    conversation.call("c", **RUN)  # 14
    conversation.ends("c", "in_progress")
    return conversation


def view(conversation: Talk, tmp_path: Path) -> list[tuple[Any, ...]]:
    """Returns the rows of the SQL view of tool calls."""
    path = import_text_form(iter(conversation.text_form()), tmp_path / "talk.jsonl", tmp_path)
    sql = "SELECT title, kind, status, turn, first_seq, last_seq, frames, permission"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"{sql} FROM tool_calls").fetchall()


def test_each_call_has_frames_of_its_own() -> None:
    """If a tool call id is used again, `CallSpans` returns a range of frames for each call."""
    with used_again().reader() as reader:
        spans = CallSpans(reader)
        ranges = [spans.span("s", "c", seq) for seq in (15, 6, 11, 8, 7)]
    assert ranges == [(14, LAST_NUMBER), (0, 7), (8, 13), (8, 13), (0, 7)]


def test_log_gives_each_update_the_title_of_its_call() -> None:
    """If two tool calls have one id, `log` prints each update with the title of the right call."""
    with used_again().reader() as reader:
        hints_of = HintReader(reader).of
        lines = {row["seq"]: frame_line(row, hints=hints_of(row)).text for row in reader.frames()}
    assert lines[7] == "Read a (c) [completed]"
    assert lines[9].startswith("Write a (c): Allow")
    assert lines[11] == "Write a (c) [failed]"
    assert lines[15] == "ls (c) [in_progress]"


def test_show_counts_each_call() -> None:
    """If several tool calls have one id, `show` counts each of them."""
    with used_again().reader() as reader:
        summary = summarize(reader)
    assert [(call.kind, call.statuses) for call in summary.tool_calls] == [
        ("edit", {"failed": 1}), ("execute", {"in_progress": 1}), ("read", {"completed": 1}),
    ]  # fmt: skip
    assert [(call.seq, call.title) for call in summary.failed_calls] == [(11, "Write a")]
    assert [turn.tool_calls for turn in summary.turns] == [2, 1]
    assert [call.title for call in summary.questions] == ["Write a"]


def test_show_counts_the_calls_of_an_earlier_recording(tmp_path: Path) -> None:
    """If an older version stored a wrong number of tool calls, `show` prints the right one."""
    path = import_text_form(iter(used_again().text_form()), tmp_path / "talk.jsonl", tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turns SET tool_calls = 1")
    with RecordingReader(path) as reader:
        assert [turn.tool_calls for turn in summarize(reader).turns] == [2, 1]


def test_stats_counts_each_call() -> None:
    """If two tool calls have one id, `stats` prints the times of each call."""
    with used_again().reader() as reader:
        statistics = gather(reader)
        steps = waterfall(reader, statistics.turns[0]).steps
    calls = sorted(statistics.tool_calls, key=lambda call: call.start_ns)
    assert [(c.title, c.kind, c.status, c.turn, c.frames) for c in calls] == [
        ("Read a", "read", "completed", 1, 2), ("Write a", "edit", "failed", 1, 4),
        ("ls", "execute", "in_progress", 2, 2),
    ]  # fmt: skip
    assert statistics.tool_call_count == 3
    assert [(s.title, s.status, s.seq, s.failed) for s in steps if s.kind == "tool_call"] == [
        ("Read a", "completed", 6, False), ("Write a", "failed", 8, True),
    ]  # fmt: skip


def test_the_view_says_the_same(tmp_path: Path) -> None:
    """The SQL view `tool_calls` of a recording has a row for each of several calls with one id."""
    assert view(used_again(), tmp_path) == [
        ("Read a", "read", "completed", 1, 6, 7, 2, None),
        ("Write a", "edit", "failed", 1, 8, 11, 4, "allow_once"),
        ("ls", "execute", "in_progress", 2, 14, 15, 2, None),
    ]


def test_a_transcript_shows_each_call() -> None:
    """If two tool calls have one id, a transcript has an entry for each."""
    with used_again().reader() as reader:
        items = [*TranscriptReader(reader).read()]
    entries = [entry for entry in items if isinstance(entry, TranscriptEntry)]
    entries = [entry for entry in entries if entry.kind is EntryKind.TOOL_CALL]
    assert [(entry.seq, entry.last_seq, entry.title, entry.state) for entry in entries] == [
        (6, 7, "Read a", "completed"), (8, 11, "Write a", "failed"), (14, 15, "ls", "in_progress"),
    ]  # fmt: skip


def history(conversation: Talk) -> None:
    """Loads the session again; its history repeats two tool calls with one id."""
    conversation.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    for call in (READ, WRITE):
        conversation.call("c", **call)
        conversation.ends("c")
    conversation.to_client(result(9))


def live(conversation: Talk) -> None:
    """Uses one id for two tool calls in a turn."""
    for call in (READ, WRITE):
        conversation.call("c", **call)
        conversation.ends("c")
    conversation.to_client(result(3, stopReason="end_turn"))


@pytest.mark.parametrize(("parts", "count"), [([live, history], 2), ([history], 2)])
def test_a_history_repeats_calls(
    parts: list[Callable[[Talk], None]], count: int, tmp_path: Path
) -> None:
    """`show` does not count the tool calls in the history of a loaded session again."""
    conversation = Talk()
    for part in parts:
        part(conversation)
    if live not in parts:  # a prompt was open
        conversation.lines.pop(4)
    with conversation.reader() as reader:
        assert gather(reader).tool_call_count == count
        assert sum(tool_call.count for tool_call in summarize(reader).tool_calls) == (
            2 if live in parts else 0
        )
    assert len(view(conversation, tmp_path)) == count


def test_calls_outside_of_turns_are_counted() -> None:
    """`show` counts tool calls outside of turns."""
    conversation = Talk()
    conversation.lines.pop()
    conversation.call("c", **READ)
    conversation.ends("c")
    conversation.call("c", **WRITE)
    with conversation.reader() as reader:
        summary = summarize(reader)
        assert gather(reader).tool_call_count == 2
    assert [tool_call.kind for tool_call in summary.tool_calls] == ["edit", "read"]


def test_calls_of_a_recording_that_grows(tmp_path: Path) -> None:
    """If a running recording reuses a tool call id, `CallSpans` finds the frames of each call."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s", "tool_call", toolCallId="c", status="completed"))  # 2
        with RecordingReader(recorder.path) as reader:
            spans = CallSpans(reader)
            assert spans.span("s", "c", 2) == (0, LAST_NUMBER)
        recorder.to_client(update("s", "tool_call_update", toolCallId="c"))
        recorder.to_client(update("s", "tool_call", toolCallId="c"))  # 4
        with RecordingReader(recorder.path) as reader:
            spans.reader = reader
            assert spans.span("s", "c", 4) == (4, LAST_NUMBER)
            assert spans.span("s", "c", 3) == (0, 3)


def test_a_status_at_the_end_of_a_large_line(tmp_path: Path) -> None:
    """If a huge line ends a tool call, `CallSpans` takes a later use of its id for a new call."""
    large = [{"type": "content", "content": {"type": "text", "text": "x" * (2 << 20)}}]
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(2):
            call = {"sessionUpdate": "tool_call", "toolCallId": "c", "content": large}
            recorder.to_client(
                notification("session/update", sessionId="s", update={**call, "status": "failed"})
            )
    with RecordingReader(recorder.path) as reader:
        assert CallSpans(reader).span("s", "c", 3) == (3, LAST_NUMBER)


def test_titles_of_very_many_calls_with_one_id() -> None:
    """If a hundred tool calls have one id, `log` still prints each with its own title."""
    conversation = Talk()
    for n in range(120):
        conversation.call("c", title=f"Read {n}")
        conversation.ends("c")
    with conversation.reader() as reader:
        spans = CallSpans(reader)
        titles = [spans.title("s", "c", seq) for seq in range(7, 6 + 240, 2)]
    assert titles == [f"Read {n}" for n in range(120)]
