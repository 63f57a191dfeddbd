"""Messages, tool calls and requests become entries of a transcript, in every dialect."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.describe.session_texts import session_update
from acp_proxy.explain.transcript.entries import (
    FULL,
    EntryKind,
    TextForm,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.store.reader import RecordingReader
from tests.support.audit_conversation import CWD, REJECT, Talk
from tests.support.log_writer import notification, request, result, text

if TYPE_CHECKING:
    from acp_proxy.recording.filters import Filter

HEALTHY = Path(__file__).parents[3] / "data/conformance/healthy"
BEFORE = 5
"""The number of frames up to the first prompt, included."""


def items(
    conversation: Talk,
    chosen: Filter = EVERYTHING,
    limits: TextLimits = TextLimits(),  # noqa: B008
    turn: int | None = None,
) -> list[TranscriptSection | TranscriptEntry]:
    """Returns the sections and entries of a conversation's transcript."""
    with conversation.reader() as reader:
        return [*TranscriptReader(reader, chosen, limits, turn).read()]


def entries(conversation: Talk, chosen: Filter = EVERYTHING) -> list[TranscriptEntry]:
    """Returns the transcript entries of the turns, without prompts and ends of turns."""
    return [
        item
        for item in items(conversation, chosen)
        if isinstance(item, TranscriptEntry)
        and item.seq > BEFORE
        and item.kind not in (EntryKind.PROMPT, EntryKind.END)
    ]


def only(conversation: Talk) -> TranscriptEntry:
    """Returns the only transcript entry of the turns."""
    (entry,) = entries(conversation)
    return entry


def texts(entry: TranscriptEntry) -> list[tuple[str, str]]:
    """Returns the labels and texts of an entry's blocks."""
    return [(block.label, block.text.start) for block in entry.blocks]


def chunk(conversation: Talk, said: str, kind: str = "agent_message_chunk", **more: Any) -> None:
    """Adds a piece of a message."""
    conversation.update(
        kind, content=said if conversation.dialect == "draft-1.0" else text(said), **more
    )


def stop(conversation: Talk, **answer: Any) -> None:
    """Ends the turn."""
    conversation.to_client(result(3, **(answer or {"stopReason": "end_turn"})))


@pytest.mark.parametrize("dialect", ["v1", "v2", "draft-1.0"])
def test_chunks_are_joined(dialect: str) -> None:
    """A transcript joins the chunks of a message."""
    conversation = Talk(dialect)
    thought = "thought_message_chunk" if dialect == "draft-1.0" else "agent_thought_chunk"
    chunk(conversation, "Hm", thought)
    chunk(conversation, "m.", thought)
    chunk(conversation, "Hello, ")
    if dialect != "draft-1.0":
        conversation.update("usage_update", used=1, size=2)
    chunk(conversation, "world")
    all_entries = entries(conversation)
    assert [entry.kind for entry in all_entries] == [EntryKind.THOUGHT, EntryKind.MESSAGE]
    assert [texts(entry) for entry in all_entries] == [[("", "Hmm.")], [("", "Hello, world")]]
    assert (all_entries[0].seq, all_entries[0].last_seq) == (6, 7)


def test_pieces_of_a_message_between_sessions_are_joined() -> None:
    """If a message between sessions comes in chunks, a transcript joins the chunks."""
    conversation = Talk()
    for piece in ("look ", "at ", "a.py"):
        chunk(conversation, piece, "session_message_chunk", messageId="1")
    chunk(conversation, "ok", "session_message_chunk", messageId="2")
    assert [texts(entry) for entry in entries(conversation)] == [
        [("", "look at a.py")],
        [("", "ok")],
    ]


def test_a_subagent_speaks_within_the_turn_that_announced_it() -> None:
    """A transcript shows a child session's messages in the parent's turn, with the child's name."""
    with RecordingReader(HEALTHY / "subagent.jsonl") as reader:
        read = [*TranscriptReader(reader).read()]
    turn = next(at for at, it in enumerate(read) if getattr(it, "turn", None) == 1)
    shown = [it for it in read[turn:] if isinstance(it, TranscriptEntry)]
    assert [(it.kind, it.remarks) for it in shown] == [
        (EntryKind.PROMPT, []),
        (EntryKind.MESSAGE, []),
        (EntryKind.NOTICE, []),
        (EntryKind.MESSAGE, ["subagent child1"]),
        (EntryKind.TOOL_CALL, ["subagent child1"]),
        (EntryKind.PERMISSION, ["subagent child1"]),
        (EntryKind.END, []),
        (EntryKind.EVENT, []),
    ]
    assert shown[4].state == "completed"


def test_another_message_is_another_entry() -> None:
    """A transcript shows two messages with different ids as two entries."""
    conversation = Talk()
    chunk(conversation, "a", messageId="1")
    chunk(conversation, "b", messageId="2")
    conversation.update("current_mode_update", currentModeId="code")
    chunk(conversation, "c", messageId="2")
    assert [entry.title for entry in entries(conversation)] == [
        "",
        "",
        "current_mode_update: code",
        "",
    ]


def test_a_thought_of_the_draft_that_is_not_visible_is_marked() -> None:
    """In the 1.0 draft, a transcript marks a thought that the agent declared as not visible."""
    conversation = Talk("draft-1.0")
    for said, is_visible in (("a", False), ("b", False), ("c", True)):
        chunk(conversation, said, "thought_message_chunk", visible=is_visible)
    thoughts = entries(conversation)
    assert [(entry.detail, texts(entry)) for entry in thoughts] == [
        ("not visible", [("", "ab")]),
        ("", [("", "c")]),
    ]
    data = {"content": "a", "visible": False}
    shown = session_update({"type": "thought_message_chunk", "data": data})
    assert shown == "thought_message_chunk: (not visible) a"


def test_a_tool_call_is_one_entry_where_it_began() -> None:
    """The transcript entry of a tool call has the call's last status."""
    conversation = Talk()
    conversation.call("toolu_01XyZ", title="Edit a.py", kind="edit", rawInput={"path": "a.py"})
    chunk(conversation, "Meanwhile")
    diff = {"type": "diff", "path": "a.py", "oldText": "a\nb\n", "newText": "a\nc\n"}
    content = [{"type": "content", "content": text("1 file")}, diff]
    conversation.ends("toolu_01XyZ", content=content)
    call, message = entries(conversation)
    assert message.kind is EntryKind.MESSAGE
    assert (call.kind, call.title, call.state) == (EntryKind.TOOL_CALL, "Edit a.py", "completed")
    assert (call.detail, call.id, call.took_ns) == ("edit", "toolu_01XyZ", 2 * 10**9)
    assert (call.seq, call.last_seq, call.is_failed) == (6, 8, False)
    assert texts(call) == [
        ("input", '{\n  "path": "a.py"\n}'),
        ("output", "1 file"),
        ("a.py", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
    ]
    assert call.blocks[-1].form is TextForm.DIFF


def test_parallel_calls_keep_their_titles_and_what_failed() -> None:
    """A transcript has an entry for each of two parallel tool calls, with title and status."""
    conversation = Talk()
    conversation.call("a", title="Read a.py")
    conversation.call("b", title="pytest -q")
    conversation.ends("b", "failed", rawOutput="command not found")
    conversation.ends("a")
    first, second = entries(conversation)
    assert (first.title, first.state, first.is_failed) == ("Read a.py", "completed", False)
    assert (second.title, second.state, second.is_failed) == ("pytest -q", "failed", True)
    assert texts(second) == [("output", "command not found")]


def test_a_late_update_is_shown_after_its_turn() -> None:
    """If a tool call is updated after its turn, a transcript shows the late update."""
    conversation = Talk()
    conversation.call("a", title="Read a.py")
    stop(conversation)
    conversation.ends("a", "failed")
    early, late = entries(conversation)
    assert (early.state, late.state) == ("pending", "failed")
    assert (late.title, late.remarks) == ("Read a.py", ["outside of a turn"])
    assert early.remarks == [f"ended after the turn (#{late.seq})"]


def test_a_tool_call_of_v2_streams_its_content() -> None:
    """In ACP v2, a transcript joins the pieces of a tool call's content."""
    conversation = Talk("v2")
    conversation.call("a", title="Run")
    for piece in ("3 of ", "9"):
        conversation.update("tool_call_content_chunk", toolCallId="a",
                    content={"type": "content", "content": text(piece)})  # fmt: skip
    assert texts(only(conversation)) == [("output", "3 of 9")]
    patch = {"format": "git", "text": "@@ -1 +1 @@\n-a\n+b"}
    changes = [{"operation": "modify", "path": "/a.py"}]
    conversation.ends("a", content=[{"type": "diff", "changes": changes, "patch": patch}])
    assert texts(only(conversation)) == [("", "/a.py +1 −1"), ("patch", "@@ -1 +1 @@\n-a\n+b")]


def test_a_tool_call_of_the_draft() -> None:
    """In the 1.0 draft, the transcript entry of a tool call has its input and output."""
    conversation = Talk("draft-1.0")
    conversation.call("tc_1", tool="terminal/create", input={"command": "npm"})
    output = {"type": "terminal", "terminalId": "t", "command": "npm", "exitCode": 1, "stderr": "x"}
    conversation.ends("tc_1", "failed", output=output, error={"code": "E", "message": "no"})
    call = only(conversation)
    assert (call.title, call.is_failed) == ("terminal/create", True)
    assert texts(call)[1:] == [
        ("", "terminal t npm exit 1"),
        ("stderr", "x"),
        ("error", '{\n  "code": "E",\n  "message": "no"\n}'),
    ]


def test_a_permission_has_its_options_and_the_answer() -> None:
    """The transcript entry of a permission request has the chosen option."""
    conversation = Talk()
    conversation.call("a", title="Edit a.py")
    conversation.permission(REJECT, {"toolCallId": "a"})
    conversation.permission(None, {"toolCallId": "b", "title": "Run"})
    _, refused, cancelled = entries(conversation)
    assert (refused.title, refused.state, refused.took_ns) == (
        "Edit a.py",
        "denied (Reject)",
        10**9,
    )
    assert [(c.name, c.detail, c.state) for c in refused.choices] == [
        ("Allow", "allow_once", ""),
        ("Always allow", "allow_always", ""),
        ("Reject", "reject_once", "chosen"),
    ]
    assert cancelled.state == "cancelled"


def test_a_permission_of_the_draft() -> None:
    """In the 1.0 draft, the transcript entry of a permission names the operation."""
    conversation = Talk("draft-1.0")
    conversation.asks("session/request_permission", {"granted": True, "scope": "session"},
              sessionId="s", operation="file_write", resource="/a", reason="to fix it")  # fmt: skip
    entry = only(conversation)
    assert (entry.title, entry.state) == ("file_write /a", "granted session")
    assert entry.remarks == ["to fix it"]


def test_a_terminal_is_one_entry() -> None:
    """The transcript entry of a terminal has the command and the whole output."""
    conversation = Talk()
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm", args=["test"], cwd=CWD)
    for output in ("1\n", "1\n2\n"):
        conversation.asks("terminal/output", {"output": output, "truncated": False}, terminalId="t")
    conversation.asks("terminal/wait_for_exit", {"exitCode": 1}, terminalId="t")
    conversation.asks("terminal/release", {}, terminalId="t")
    entry = only(conversation)
    assert (entry.kind, entry.title, entry.detail) == (EntryKind.TERMINAL, "npm test", CWD)
    assert (entry.state, entry.is_failed, entry.remarks) == ("exit 1", True, ["released"])
    assert texts(entry) == [("output", "1\n2\n")]


def test_a_terminal_that_the_draft_pushes() -> None:
    """In the 1.0 draft, a transcript joins the pieces of terminal output."""
    conversation = Talk("draft-1.0")
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm", args=["test"])
    for number, data in enumerate(("a", "b")):
        conversation.to_agent(request(90 + number, "terminal/output", terminalId="t", data=data))
        conversation.to_client(result(90 + number, received=True))
    assert texts(only(conversation)) == [("output", "ab")]


def test_pushed_output_names_its_stream_where_it_changes() -> None:
    """If terminal output changes from stdout to stderr, a transcript says so."""
    conversation = Talk("draft-1.0")
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm")
    pushed = [("stdout", "a"), ("stdout", "b"), ("stderr", "x\n"), ("stderr", ""), ("stdout", "c")]
    for number, (stream, data) in enumerate(pushed):
        conversation.to_agent(
            request(90 + number, "terminal/output", terminalId="t", data=data, stream=stream)
        )
        conversation.to_client(result(90 + number, received=True))
    assert texts(only(conversation)) == [("output", "ab\nstderr:\nx\nstdout:\nc")]


def test_a_terminal_of_the_agent_in_v2() -> None:
    """In ACP v2, a transcript decodes and joins the base64 of terminal output."""
    conversation = Talk("v2")
    conversation.update("terminal_update", terminalId="t", command="npm test", cwd="/w")
    for data in ("ok …".encode()[:-1], "…".encode()[-1:]):
        conversation.update(
            "terminal_output_chunk", terminalId="t", data=base64.b64encode(data).decode()
        )
    conversation.update("terminal_update", terminalId="t", exitStatus={"signal": "SIGTERM"})
    entry = only(conversation)
    assert (entry.title, entry.state) == ("npm test", "signal SIGTERM")
    assert texts(entry) == [("output", "ok …")]


def test_requests_have_their_answers() -> None:
    """A transcript shows a read or written file's text, and marks an unanswered request failed."""
    conversation = Talk()
    conversation.asks("fs/read_text_file", {"content": "A\n"}, path="/a", line=3)
    conversation.asks("fs/write_text_file", {}, path="/b", content="B\n")
    conversation.asks_in_vain("fs/read_text_file", path="/c")
    conversation.asks("_x/y", None, a=1)
    read, written, failed, unanswered = entries(conversation)
    assert (read.title, texts(read)) == ("/a:3", [("/a:3", "A\n")])
    assert (written.title, texts(written)) == ("/b", [("/b", "B\n")])
    assert (failed.state, failed.is_failed) == ("-32603 (internal error) no disk", True)
    assert (unanswered.state, unanswered.is_failed) == ("not answered", True)


def test_a_plan_has_its_steps() -> None:
    """The transcript entry of a plan has its steps with their status."""
    for dialect, name, step in (
        ("v1", "entries", {"content": "Read", "priority": "high", "status": "completed"}),
        ("draft-1.0", "steps", {"description": "Read", "status": "completed"}),
    ):
        conversation = Talk(dialect)
        conversation.update("plan", **{name: [step]})
        assert [(c.name, c.state) for c in only(conversation).choices] == [("Read", "completed")]
    conversation = Talk()
    conversation.update(
        "plan_update", plan={"type": "markdown", "planId": "p", "content": "# Plan"}
    )
    assert (only(conversation).id, texts(only(conversation))) == ("p", [("", "# Plan")])


def test_sections_are_turns_and_what_is_outside() -> None:
    """A transcript has a section for each turn, and one for entries outside of turns."""
    conversation = Talk()
    stop(conversation)
    conversation.prompt()
    all_items = items(conversation)
    sections = [item for item in all_items if isinstance(item, TranscriptSection)]
    assert [(s.turn, s.state, s.is_failed) for s in sections] == [
        (None, "", False),
        (1, "end_turn", False),
        (2, "never ended", True),
    ]
    ends = [i for i in all_items if isinstance(i, TranscriptEntry) and i.kind is EntryKind.END]
    assert [(e.title, e.state, e.is_failed) for e in ends] == [
        ("end_turn", "", False),
        ("", "never answered", True),
    ]


def test_a_turn_that_failed() -> None:
    """In a transcript, a failed turn ends with its error."""
    conversation = Talk()
    conversation.to_client(
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "overloaded"}}
    )
    section, _, end = items(conversation, turn=1)
    assert isinstance(section, TranscriptSection)
    assert isinstance(end, TranscriptEntry)
    assert (section.state, section.is_failed) == ("error", True)
    assert (end.title, end.is_failed) == ("error -32603 (internal error) overloaded", True)


def test_a_turn_of_v2_ends_with_its_state() -> None:
    """In ACP v2, the turn of a transcript ends with the state update `idle`, not with an answer."""
    conversation = Talk("v2")
    stop(conversation, accepted=True)
    conversation.update("state_update", state="running")
    chunk(conversation, "Hi")
    conversation.update("state_update", state="idle", stopReason="max_tokens")
    *_, message, end = items(conversation, turn=1)
    assert isinstance(message, TranscriptEntry)
    assert isinstance(end, TranscriptEntry)
    assert (message.kind, end.kind) == (EntryKind.MESSAGE, EntryKind.END)
    assert (end.title, end.is_failed) == ("max_tokens", True)


def test_concurrent_turns_are_apart() -> None:
    """If turns of two sessions overlap, a transcript shows the entries of each turn together."""
    conversation = Talk()
    conversation.client_asks("session/new", {"sessionId": "t"}, cwd="/t")
    conversation.prompt("t")
    chunk(conversation, "of s")
    said = {"sessionUpdate": "agent_message_chunk", "content": text("of t")}
    conversation.to_client(notification("session/update", sessionId="t", update=said))
    conversation.lines.append(("stderr", "oops"))
    chunk(conversation, " and more")
    by_turn: dict[int | None, list[str]] = {}
    turn = None
    for item in items(conversation):
        if isinstance(item, TranscriptSection):
            turn = item.turn
        else:
            by_turn.setdefault(turn, []).extend(said for _, said in texts(item))
    assert by_turn == {1: ["x", "of s and more"], 2: ["x", "of t", '"oops"'], None: []}


def test_a_filter_shows_whole_entries() -> None:
    """If a filter matches one frame of a transcript's entry, the whole entry is shown."""
    conversation = Talk()
    conversation.call("a", title="Run", rawInput={"command": "ls"})
    conversation.ends("a", "failed")
    conversation.asks("fs/read_text_file", {"content": "A\n"}, path="/a")
    chunk(conversation, "one")
    chunk(conversation, "two")
    (call,) = entries(conversation, parse('text:"failed"'))
    assert (call.title, call.state, len(call.blocks)) == ("Run", "failed", 1)
    (read,) = entries(conversation, parse("kind:response method:fs/*"))
    assert (read.title, texts(read)) == ("/a", [("/a", "A\n")])
    (message,) = entries(conversation, parse("text:two"))
    assert texts(message) == [("", "two")]
    assert items(conversation, parse("text:nowhere")) == []


def test_history_is_outside_of_turns() -> None:
    """A transcript has a section for the history of a loaded session, without durations."""
    conversation = Talk()
    stop(conversation)
    conversation.to_agent(request(4, "session/load", sessionId="s", cwd=CWD, mcpServers=[]))
    chunk(conversation, "before", "user_message_chunk")
    conversation.call("a", title="Run")
    conversation.lines.append(("stderr", "warning"))
    conversation.ends("a")
    conversation.to_client(result(4))
    conversation.call("b", title="Stop")
    shown = items(conversation)
    sections = [item for item in shown if isinstance(item, TranscriptSection)]
    load, message, call, stderr, late = entries(conversation)
    assert (message.by, texts(message)) == ("client", [("", "before")])
    remarks = [entry.remarks for entry in (load, message, call, stderr, late)]
    assert remarks == [[], ["history"], ["history"], [], ["outside of a turn"]]
    assert (call.state, call.took_ns, message.took_ns) == ("completed", None, None)
    outside = [(item.seq, item.loaded_by) for item in sections if item.turn is None]
    assert outside[-2:] == [(message.seq, load.seq), (late.seq, None)]
    assert shown.index(sections[-2]) + 1 == shown.index(message)
    assert shown.index(sections[-1]) - 1 == shown.index(stderr)


def test_a_batch_is_its_messages() -> None:
    """A transcript reads each message of a JSON-RPC batch, such as the updates of a tool call."""
    conversation = Talk()
    update = {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Run"}
    completed = {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}
    conversation.to_client(
        [
            notification("session/update", sessionId="s", update=member)
            for member in (update, completed)
        ]
    )
    call = only(conversation)
    assert (call.title, call.state, call.last_seq) == ("Run", "completed", 6)


def test_long_texts_are_cut_and_the_list_of_commands_left_out() -> None:
    """Without `--full`, a transcript cuts long texts, and leaves out the list of commands."""
    conversation = Talk()
    chunk(conversation, "x" * 100)
    conversation.update("available_commands_update", availableCommands=[])
    conversation.ends("a", rawOutput="y" * 100)
    _, _, message, call, _ = items(conversation, limits=TextLimits(40, 20), turn=1)
    assert isinstance(message, TranscriptEntry)
    assert isinstance(call, TranscriptEntry)
    assert (message.blocks[0].text.left_out, call.blocks[0].text.left_out) == (60, 80)
    full = [i for i in items(conversation, limits=FULL, turn=1) if isinstance(i, TranscriptEntry)]
    assert [entry.kind for entry in full] == [
        EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.NOTICE, EntryKind.TOOL_CALL, EntryKind.END,
    ]  # fmt: skip
    assert all(block.text.left_out == 0 for entry in full for block in entry.blocks)


def test_the_raw_output_stands_beside_the_content_in_full() -> None:
    """`transcript --full` shows a tool call's raw output, too, if the call has content."""
    conversation = Talk()
    shown = [{"type": "content", "content": {"type": "text", "text": "1 file"}}]
    conversation.ends("a", content=shown, rawOutput={"count": 1})
    full = [i for i in items(conversation, limits=FULL, turn=1) if isinstance(i, TranscriptEntry)]
    (call,) = (entry for entry in full if entry.kind is EntryKind.TOOL_CALL)
    assert texts(call) == [("output", "1 file"), ("raw output", '{\n  "count": 1\n}')]
    (call,) = entries(conversation)
    assert texts(call) == [("output", "1 file")]


def test_what_is_not_acp_is_shown() -> None:
    """A transcript also shows a line outside of ACP, such as a response to no known request."""
    conversation = Talk()
    conversation.to_client(result(99, a=1))
    entry = only(conversation)
    assert (entry.kind, entry.title) == (EntryKind.NOTICE, "a=1")
