"""The SQL views agree with the commands in every dialect, and can read any line."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.limits import LARGE_LINE, SHOWN_VALUE
from acp_proxy.base.wording import plain
from acp_proxy.explain.message_pass import messages_of
from acp_proxy.explain.show.summary import summarize
from acp_proxy.explain.stats.statistics import gather
from acp_proxy.protocol.chunks import chunk_of, mended
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.dialects import OPENING, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import json_or_none, params_of
from acp_proxy.protocol.jsonrpc import Direction, Kind, read
from acp_proxy.protocol.tool_calls import CallState, call_of
from acp_proxy.protocol.updates import (
    AGENT_TEXT,
    FINAL,
    MESSAGES,
    RUNNING,
    THOUGHT_CHUNKS,
    TOOL_CALLS,
    UPDATE,
    USER_TEXT,
    WHOLE_MESSAGES,
    WHOLE_THOUGHT,
)
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.copies.text_import import import_text_form, read_text_form
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables import migrations
from acp_proxy.store.tables.schema import KIND_CODES
from tests.support.audit_conversation import Talk
from tests.support.captures import all_text_forms, load, weighted, weighted_captures
from tests.support.indexed_rows import new_database, stored_views
from tests.support.log_writer import LogWriter, notification, request, result, text
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from acp_proxy.explain.show.summary_values import Summary

Row = dict[str, Any]
ROOT = Path(__file__).parents[3]
RECORDINGS = sorted((ROOT.parent / "recordings").glob("*.db"))
ROLES = {"user": "user", "agent_message": "agent", "agent_thought": "thought"}
TEXT_FORMS = [*all_text_forms(), *sorted((ROOT / "data" / "reports").rglob("*.jsonl"))]
SQL = Path(migrations.__file__).with_name("stored_views.sql")


@contextlib.contextmanager
def rows_of(conversation: Iterable[bytes]) -> Iterator[sqlite3.Connection]:
    """Returns a database into which a text form was imported."""
    with new_database() as connection:
        read_text_form(conversation, Path("x.jsonl"), connection)
        yield connection


def rows(connection: sqlite3.Connection, view: str) -> list[Row]:
    """Returns the rows of an SQL view."""
    cursor = connection.execute(f"SELECT * FROM {view}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def view(path: Path, name: str) -> list[Row]:
    """Opens a recording, and returns the rows of an SQL view."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return rows(connection, name)


def test_the_views_list_the_words_of_the_protocol() -> None:
    """The words of the protocol in SQL views, such as methods, are those in the Python code."""
    sql = SQL.read_text(encoding="utf-8")
    lists = {tuple(re.findall("'([^']*)'", words)) for words in re.findall(r" IN \((.*?)\)", sql)}
    roles = [(PROMPT, USER_TEXT, "user_message"), (AGENT_TEXT, "agent_message"),
             (*THOUGHT_CHUNKS, WHOLE_THOUGHT), ("compaction_summary_chunk",)]  # fmt: skip
    assert {word for role in roles for word in role} >= {PROMPT, *MESSAGES}
    assert lists == {
        *roles, WHOLE_MESSAGES, TOOL_CALLS, RUNNING, tuple(sorted(FINAL)), (PERMISSION,), OPENING,
        OPENING[1:], (UPDATE, PROMPT, *OPENING[1:3]), (Kind.STDERR, Kind.INVALID),
    }  # fmt: skip
    assert set(re.findall(r"kind !?=? ?(?:WHEN )?(\d)", sql)) == {
        str(KIND_CODES[kind]) for kind in (Kind.NOTIFICATION, Kind.BATCH)
    }
    assert KIND_CODES[Kind.REQUEST] == 2
    assert set(re.findall(r"raw\) < (\d+)", sql)) == {str(LARGE_LINE)}
    assert set(re.findall(r"< min\((\d{3,})", sql)) == {"200", str(SHOWN_VALUE)}


# What our readers say of recordings and captured conversations


@pytest.mark.parametrize("path", [*RECORDINGS, *weighted_captures()])
def test_the_views_say_what_inspect_says(path: Path, tmp_path: Path) -> None:
    """The SQL views contain the same tool calls, permissions and messages as `stats` and `show`."""
    made = tmp_path / "x.db"
    if path.suffix == ".db":
        with RecordingReader(path, unredacted=True) as reader:
            import_text_form(write_text_form(reader), path, tmp_path, stem="x")
    else:
        with LogWriter(made) as recorder:
            play(load(path), recorder)
            recorder.finish()
    names = ("tool_calls", "permissions", "sessions", "messages", "frames")
    with contextlib.closing(sqlite3.connect(made)) as connection:
        views = {name: rows(connection, name) for name in names}
        assert_merged(connection)
    # Of a large line our readers read only the beginning, where titles and kinds may not be.
    is_large = path.suffix == ".gz"
    with RecordingReader(made, unredacted=True) as reader:
        assert_tool_calls(views["tool_calls"], reader, is_large=is_large)
        summary = summarize(reader)
        assert_permissions(views["permissions"], summary, is_large=is_large)
        assert_messages(views["messages"], reader, summary)
    assert [
        (row["id"], row["cwd"], row["opened"], row["first_seq"], row["turns"])
        for row in views["sessions"]
    ] == [(s.id, s.cwd, ", ".join(s.opened) or None, s.seq, s.turns) for s in summary.opened]
    for row in views["frames"]:
        is_json = row["kind"] not in ("stderr", "invalid", "blank")
        assert row["json"] == (row["raw"].decode() if is_json else None)
        assert row["rowid"] == row["seq"]


@pytest.mark.parametrize("path", [*weighted(TEXT_FORMS)])
def test_the_view_of_tool_calls_merges_as_we_do(path: Path) -> None:
    """The SQL view `tool_calls` merges the messages about a call as the Python code does."""
    with path.open("rb") as lines, rows_of(lines) as connection:
        assert_merged(connection)


def assert_merged(connection: sqlite3.Connection) -> None:
    """Asserts that the view shows the merged state of the last tool call with each id."""
    ((dialect,),) = connection.execute("SELECT dialect FROM recording")
    machine, calls = Connection(dialect=dialect or "auto"), dict[Any, CallState]()
    for row in rows(connection, "frames"):
        if row["stream"] == "stderr":
            continue
        message = read(row["raw"])
        transition = machine.feed(row["seq"], row["t_ns"], Direction(row["stream"]), message)
        for member, its in messages_of(message, transition):
            if its.tool_call is not None:
                key = its.session, its.tool_call
                if its.begins_call or key not in calls:
                    calls[key] = CallState()
                calls[key].take(call_of(params_of(json_or_none(member.raw or b""))))
    shown = {(row["session"], row["id"]): row for row in rows(connection, "tool_calls")}
    assert {
        key: tuple(plain(row[name] or "")[:200] for name in ("title", "kind", "status"))
        for key, row in shown.items()
    } == {key: (call.title, call.kind, call.status) for key, call in calls.items()}


def assert_tool_calls(view_rows: list[Row], reader: RecordingReader, *, is_large: bool) -> None:
    """Asserts that the view of tool calls agrees with `stats`."""
    assert {
        (row["session"], row["id"], row["seconds"]): (
            row["turn"], row["frames"], row["bytes"], row["duration_ns"],
            *(() if is_large else (plain(row["title"][:200]), row["kind"], row["status"])),
        )
        for row in view_rows
    } == {
        (call.session, call.tool_call, round(call.start_ns / 1e9, 6)): (
            call.turn, call.frames, call.bytes, call.duration_ns,
            *(() if is_large else (call.title, call.kind, call.status)),
        )
        for call in gather(reader, top=1000).tool_calls
    }  # fmt: skip


def assert_permissions(view_rows: list[Row], summary: Summary, *, is_large: bool) -> None:
    """Asserts that permissions agree with `show`.

    Without an answer, the views have the time until the end, and `show` until the client left.
    """
    asked = [q for q in summary.questions if q.method == "session/request_permission"]
    assert [
        (row["request_seq"], row["session"], row["turn"], row["chosen"],
         row["chosen"] and row["waited_ns"], is_large or plain(row["asked"])[:80])
        for row in view_rows
    ] == [
        (q.seq, q.session, q.turn, q.answer, q.answer and q.waited_ns, is_large or q.title)
        for q in asked
    ]  # fmt: skip
    assert all(row["waited_ns"] >= q.waited_ns for row, q in zip(view_rows, asked, strict=True))


def assert_messages(view_rows: list[Row], reader: RecordingReader, summary: Summary) -> None:
    """Asserts that the view of messages agrees with the chunks that Python joins."""
    assert [
        (row["first_seq"], row["last_seq"], row["session"], row["turn"], row["role"], row["text"])
        for row in view_rows
    ] == [
        (m["first"], m["last"], m["session"], m["turn"], m["role"], mended("".join(m["text"])))
        for m in joined(reader)
    ]
    said = {row["first_seq"]: plain(row["text"])[:200] for row in view_rows if row["turn"]}
    prompts = {turn.prompt_seq: turn.prompt for turn in summary.turns}
    assert {seq: said[seq] for seq in prompts} == prompts


def joined(reader: RecordingReader) -> list[Row]:
    """Returns messages whose chunks are joined in Python, in the order of their first frames."""
    messages: list[Row] = []
    last: dict[str | None, Any] = {}
    begun = set()
    for row in reader.frames():
        line = json.loads(row["raw"]) if row["kind"] in ("request", "notification") else {}
        session, method = row["session"], line.get("method")
        chunk = chunk_of(row["raw"]) if row["kind"] == "notification" else None
        if method == "session/prompt":
            prompt = line["params"]["prompt"]
            blocks = [{"text": prompt}] if isinstance(prompt, str) else prompt
            said = "".join(block.get("text", "") for block in blocks)
            messages.append(new(row, "user", said))
            last[session] = None
        elif method in ("session/load", "session/resume"):
            last[session] = None
        elif chunk is not None:
            role = ROLES[chunk.update.removesuffix("_chunk").replace("user_message", "user")]
            key = (role, chunk.message_id, row["turn"])
            if last.get(session) is not None and last[session][0] == key:
                message = last[session][1]
                message["last"] = row["seq"]
                message["text"].append(chunk.text)
            else:
                messages.append(new(row, role, chunk.text))
                last[session] = (key, messages[-1])
        elif method == "session/update" and row["tool_call"] is not None:
            begins = (session, row["turn"], row["tool_call"])
            if begins not in begun:
                last[session] = None
            begun.add(begins)
    return messages


def new(row: Any, role: str, said: str) -> Row:
    """Returns a message that begins with the chunk in a frame."""
    return {
        "first": row["seq"], "last": row["seq"], "session": row["session"], "turn": row["turn"],
        "role": role, "text": [said],
    }  # fmt: skip


# Dialects


def test_v2_updates_replace_what_was_streamed() -> None:
    """In v2, the SQL view `messages` shows a whole message in place of its earlier chunks."""
    conversation = Talk("v2")
    conversation.update("user_message", messageId="u1", content=[text("x")])
    conversation.update("agent_message_chunk", messageId="m1", content=text("dra"))
    conversation.update("agent_thought_chunk", messageId="t1", content=text("hm"))
    conversation.update("agent_message_chunk", messageId="m1", content=text("ft"))
    conversation.update("agent_message", messageId="m1", content=[text("fi"), text("nal")])
    conversation.update("agent_message_chunk", messageId="m1", content=text("ly"))
    conversation.update("agent_message", messageId="m1")
    conversation.update("agent_thought", messageId="t1", content=None)
    conversation.call("c1", title="Look", kind="read")
    conversation.permission("3", {"toolCallId": "c1"}, title="May I?")
    conversation.asks(
        "session/request_permission",
        {"outcome": {"outcome": "selected", "optionId": "1"}},
        title="And this?", options=[], subject={"toolCall": {"toolCallId": "c1"}},
    )  # fmt: skip
    conversation.update("state_update", state="idle", stopReason="end_turn")
    with rows_of(conversation.text_form()) as connection:
        messages = rows(connection, "messages")
        (call,) = rows(connection, "tool_calls")
        permissions = rows(connection, "permissions")
    assert [
        (m["first_seq"], m["last_seq"], m["frames"], m["role"], m["message_id"], m["text"])
        for m in messages
    ] == [
        (5, 5, 1, "user", None, "x"),
        (6, 6, 1, "user", "u1", "x"),
        (7, 11, 4, "agent", "m1", "finally"),
        (8, 13, 2, "thought", "t1", ""),
    ]
    assert [(p["asked"], p["chosen"], p["tool_call"]) for p in permissions] == [
        ("May I?", "reject_once", "c1"),
        ("And this?", "1", "c1"),
    ]
    assert (call["title"], call["kind"], call["status"]) == ("Look", "read", "pending")
    assert call["permission"] == "1"


def test_the_draft_has_its_own_members() -> None:
    """The SQL view `tool_calls` shows tool calls of the 1.0 draft."""
    conversation = Talk("draft-1.0")
    conversation.update("thought_message_chunk", content="hm", index=0)
    conversation.update("agent_message_chunk", content="Good ", index=0)
    conversation.update("agent_message_chunk", content="day", index=1)
    conversation.call("c1", tool="fs/write_text_file", input={})
    conversation.asks(
        "session/request_permission",
        {"granted": True, "scope": "session"},
        sessionId="s", operation="file_write", resource="/a", toolCallId="c1",
    )  # fmt: skip
    conversation.ends("c1", "denied")
    conversation.asks("session/request_permission", None, sessionId="s", operation="network_access")
    with rows_of(conversation.text_form()) as connection:
        messages = rows(connection, "messages")
        (call,) = rows(connection, "tool_calls")
        permissions = rows(connection, "permissions")
        (session,) = rows(connection, "sessions")
    assert [(m["role"], m["text"], m["frames"]) for m in messages][1:] == [
        ("thought", "hm", 1),
        ("agent", "Good day", 2),
    ]
    assert (call["title"], call["status"], call["permission"]) == (
        "fs/write_text_file", "denied", "granted",
    )  # fmt: skip
    assert [(p["asked"], p["chosen"], p["options"], p["tool_call"]) for p in permissions] == [
        ("file_write /a", "granted", None, "c1"),
        ("network_access", None, None, None),
    ]
    assert permissions[1]["waited_ns"] == 0
    assert (session["id"], session["cwd"], session["opened"]) == ("s", "/proj/app", "new")


def test_messages_of_a_batch_count_one_by_one() -> None:
    """The SQL views show prompts that are in a JSON-RPC batch."""
    conversation = Talk("v2")
    chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("a")}
    update = notification("session/update", sessionId="s", update=chunk)
    call = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "title": "T",
        "status": "failed",
    }
    ask = request(
        7, "session/request_permission", sessionId="s", title="May I?",
        options=[{"optionId": "y", "kind": "allow_always"}], toolCall={"toolCallId": "c"},
    )  # fmt: skip
    conversation.to_client(
        [update, ask, 3, notification("session/update", sessionId="s", update=call)]
    )
    conversation.to_client([update, "x"])
    conversation.to_agent([
        result(7, outcome={"outcome": "selected", "optionId": "y"}),
        request(8, "session/new", cwd="/other", mcpServers=[]),
        request(9, "session/prompt", sessionId="s", prompt=[text("more")]),
    ])  # fmt: skip
    conversation.to_client([result(8, sessionId="s2")])
    with rows_of(conversation.text_form()) as connection:
        messages = rows(connection, "messages")
        (made,) = rows(connection, "tool_calls")
        (permission,) = rows(connection, "permissions")
        sessions = rows(connection, "sessions")
    assert [(m["role"], m["text"], m["turn"], m["frames"]) for m in messages] == [
        ("user", "x", 1, 1),
        ("agent", "aa", 1, 2),
        ("user", "more", 2, 1),
    ]
    assert (made["id"], made["title"], made["status"], made["turn"]) == ("c", "T", "failed", 1)
    assert made["permission"] == "allow_always"
    assert (permission["asked"], permission["turn"], permission["chosen"]) == (
        "May I?", 1, "allow_always",
    )  # fmt: skip
    assert [(s["id"], s["cwd"], s["turns"]) for s in sessions] == [
        ("s", "/proj/app", 2),
        ("s2", "/other", 0),
    ]


# Any line


def test_half_a_character_is_joined_or_replaced() -> None:
    """The SQL views join the halves of a surrogate pair, and show a lone half as U+FFFD."""
    lone = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}'
    chunk = '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}'
    call = '{"sessionUpdate":"tool_call","toolCallId":"c","title":"a\\ud83d","status":"\\ud83d"}'
    conversation = Talk().text_form()
    for update in (
        chunk % "so \\ud83d",
        chunk % "\\ude00 \\\\",
        call,
        chunk % ("é" * 1200 + "\\ude00"),
    ):
        conversation.append(
            json.dumps({"stream": "to-client", "text": lone % update}).encode() + b"\n"
        )
    with rows_of(conversation) as connection:
        messages = rows(connection, "messages")
        (made,) = rows(connection, "tool_calls")
    assert [m["text"].rstrip("\ufffd") for m in messages[1:]] == ["so 😀 \\", "é" * 1200]
    assert messages[2]["text"].endswith("\ufffd")
    assert made["title"].startswith("a\ufffd")
    assert made["status"] is None


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON", b'{"a":', b"\xff", b'"\xe9"', b"5", b"[]", b"[[1]]", b"[null,1,\"x\",[2]]", b"",
        b'{"jsonrpc":"2.0","method":"session/update"}',
        b'{"jsonrpc":"2.0","method":"session/update","params":"x"}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":"x","data":"y"}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":'
        b'"agent_message_chunk","content":[5,"x",{"text":6}],"messageId":{"a":1}}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":7,'
        b'"toolCallId":"c","title":{"a":"\\udc00"},"status":["x"]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":{"text":"x"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"options":["x",{}'
        b'],"toolCall":"c","title":["\\ud800"]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":{"a":"\\udc00"}}}',
        b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}",
    ],
    ids=lambda line: line[:90].decode(errors="replace"),
)  # fmt: skip
@pytest.mark.parametrize("stream", ["to-agent", "to-client", "stderr"])
def test_no_line_makes_a_view_fail(tmp_path: Path, line: bytes, stream: str) -> None:
    """Every SQL view can be read, whatever the lines contain."""
    number = {"to-agent": 1, "to-client": 2, "stderr": 3}
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(number[stream], line + b"\n")
        if stream != "stderr":
            answer = b'{"jsonrpc":"2.0","id":1,"result":{"outcome":["selected"],"granted":"x"}}\n'
            recorder.chunk(3 - number[stream], answer)
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        for name in stored_views():
            rows(connection, name)
        frames = rows(connection, "frames")
    for frame in frames:
        assert frame["json"] is None or json.loads(frame["json"]) == json.loads(frame["raw"])


def test_a_tool_call_whose_id_is_used_again_ends_a_message() -> None:
    """In the SQL view `messages`, a tool call ends a message, even if the call reuses an id."""
    conversation = Talk()
    for title in ("Read a", "Write a"):
        conversation.update("agent_message_chunk", content=text(f"{title}: "))
        conversation.call("c", title=title)
        conversation.update("agent_message_chunk", content=text("it is "))
        conversation.ends("c")
        conversation.update("agent_message_chunk", content=text("done. "))
    with rows_of(conversation.text_form()) as connection:
        messages = rows(connection, "messages")
    assert [item["text"] for item in messages] == [
        "x", "Read a: ", "it is done. Write a: ", "it is done. ",
    ]  # fmt: skip
