"""A sequence diagram draws each message as an arrow, and pauses and events as notes."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.wording import plain
from acp_proxy.explain.log.sequence_diagram import (
    LONGEST,
    SequenceDiagram,
    arrow,
    escaped,
    note,
    participant,
)
from acp_proxy.recording.filters import parse
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.drawn_conversations import HEADER, reader_of
from tests.support.log_writer import LogWriter, record_conversation, request, result, text, update

if TYPE_CHECKING:
    from pathlib import Path


SECOND = 10**9


def drawn(path: Path, **more: Any) -> list[str]:
    """Returns the lines of a recording's diagram, without their margin."""
    with RecordingReader(path) as reader:
        return [line.strip() for line in SequenceDiagram(reader, **more).lines()]


def test_every_message_and_event_is_drawn(tmp_path: Path) -> None:
    """The diagram of `export --format mermaid` has arrows for messages and notes for events."""
    assert drawn(record_conversation(tmp_path / "x.db")) == [
        "sequenceDiagram",
        "title x",
        "participant P as Person",
        "participant F as Files",
        "participant C as Client: ed 1.2",
        "participant A as Agent: ag 3.4",
        "Note over C,A: 1 start: agent: agent --acp",
        "C->>A: 2 initialize: protocol 1 ed 1.2",
        "A-->>C: 3 initialize ✓ 1 ms: protocol 1 ag 3.4",
        "C->>A: 4 session/new: /srv/project",
        "A-->>C: 5 session/new ✓ 1 ms: s-1",
        "Note over C,A: Turn 1 · end_turn · 9 ms · 1 tool call",
        "C->>A: 6 session/prompt: hello 你好",
        "A-)C: 7 agent_message_chunk: Hi",
        "A-)C: 8 tool_call: Edit (c-1) [pending]",
        "A->>P: 9 session/request_permission: Edit (c-1): y (allow_once)",
        "P-->>A: 10 session/request_permission ✓ 1 ms: selected allow_once",
        "A->>F: 11 fs/read_text_file: /srv/project/a.py",
        "F--xA: 12 fs/read_text_file ✗ 1 ms: -32001 no such file",
        "Note right of A: 13 stderr: agent: careful",
        "A-)C: 14 tool_call_update: Edit (c-1) [completed]",
        "A-->>C: 15 session/prompt ✓ 9 ms: end_turn",
        "C-xA: 16 session/set_mode unanswered: code",
        "A-)C: 17 invalid: (not JSON at character 0: expecting value) not json",
        "A-)C: 18 blank",
        "Note over C,A: 19 eof: to-agent ended: end of file",
        "A-)C: 20 invalid: [no newline] (not JSON at character 0: expecting value) unfi…",
        "Note over C,A: 21 eof: to-client ended: end of file",
        "Note over C,A: 22 eof: stderr ended: end of file",
        "Note over C,A: 23 exit: the agent exited with 3",
    ]


def test_runs_are_one_line_and_pauses_a_note(tmp_path: Path) -> None:
    """A diagram of `export` draws consecutive chunks as one arrow, and a long pause as a note."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(*(update("s", "agent_message_chunk", content=text("x")) for _ in "abc"))
        recorder.t_ns += 6 * SECOND
        recorder.stderr("one")
        recorder.stderr("two")
    assert drawn(tmp_path / "x.db")[5:] == [
        "Note over C,A: Turn 1 · never ended",
        "C-xA: 2 session/prompt unanswered: go",
        "A-)C: 3–5 agent_message_chunk ×3, 2 ms: xxx",
        "Note over C,A: 6.0 s, waiting for the agent, never answered",
        "Note right of A: 6–7 stderr ×2: one",
    ]


def test_a_diagram_is_capped(tmp_path: Path) -> None:
    """If `export --format mermaid --max` leaves frames out, the last note counts them."""
    path = record_conversation(tmp_path / "x.db")
    with RecordingReader(path) as reader:
        diagram = SequenceDiagram(reader, most=9)
        lines = [line.strip() for line in diagram.lines()]
    assert diagram.left_out == 15
    assert lines[5] == "Note over C,A: 1 start: agent: agent --acp"
    assert lines[-2] == "A-)C: 8 tool_call: Edit (c-1) [pending]"
    assert lines[-1] == "Note over C,A: 15 frames and events are left out (--max 9)"
    with RecordingReader(path) as reader:
        partly = SequenceDiagram(reader, parse("dir:to-agent"), most=2)
        assert len(list(partly.lines())) == 7
        assert partly.left_out == 4
        assert not any("waiting" in line for line in SequenceDiagram(reader, most=30).lines())


def test_the_messages_of_a_batch_are_drawn() -> None:
    """The diagram of `export --format mermaid` draws a JSON-RPC batch, and then its messages."""
    batch = [request(n, "x/y") for n in range(30)]
    lines = [{**HEADER}, {"stream": "to-agent", "message": batch}]
    with reader_of([json.dumps(line).encode() + b"\n" for line in lines]) as reader:
        drawn = [line.strip() for line in SequenceDiagram(reader).lines()][4:]
    assert drawn[0].startswith("C-)A: 1 batch: batch of 30")
    assert drawn[1] == "C-xA: 1 x/y unanswered: no params"
    assert drawn[-1] == "Note over C,A: 10 more messages of the batch 1"
    assert len(drawn) == 22


def test_faults_are_drawn_as_received_and_as_delivered() -> None:
    """`export --format mermaid` draws a frame that a fault changed as received and as delivered."""
    message = {"jsonrpc": "2.0", "method": "x/y"}
    raw = json.dumps(message, separators=(",", ":")) + "\n"
    lines: list[Any] = [{**HEADER}]
    for rule, delivered, fired in (
        ("twin", "full", {"delivered": raw}),
        ("drop", "none", {"received": raw}),
        ("cut", "partial", {"received": raw, "delivered": "{;"}),
        ("late", "full", {"received": raw, "delivered": raw}),
    ):
        frame = {"stream": "to-client", "message": message, "fault": rule}
        lines.append({**frame, "delivered": delivered} if delivered != "full" else frame)
        lines.append({"fired": {"rule": rule, "action": "an-action", **fired}})
    lines.append({"stream": "to-client", "message": message, "delivered": "none"})
    with reader_of([json.dumps(line).encode() + b"\n" for line in lines]) as reader:
        drawn = [line.strip() for line in SequenceDiagram(reader).lines()]
    assert drawn[2:] == [
        "participant C as Client",
        "participant X as acp-proxy",
        "participant A as Agent",
        "X-)C: 1 x/y: no params, twin (an-action): made up this line",
        "A-)X: 2 x/y: no params",
        "X-xC: 2 drop (an-action): nothing was delivered",
        "A-)X: 3 x/y: no params",
        "X-)C: 3 cut (an-action): 2 other bytes were delivered: #123;#59;",
        "A-)X: 4 x/y: no params",
        "X-)C: 4 late (an-action): the same bytes were delivered",
        "A-xC: 5 x/y: [delivered: none] no params",
    ]


def test_the_default_stays_below_the_limit_of_mermaid() -> None:
    """By default, a diagram of `export --format mermaid` stays below Mermaid's own limit."""
    lines = [{**HEADER}]
    lines += [{"stream": "stderr", "text": "x"}, {"stream": "to-agent", "text": "{" * 99}] * 200
    with reader_of([json.dumps(line).encode() + b"\n" for line in lines]) as reader:
        assert len("".join(SequenceDiagram(reader).lines())) < 50_000


def test_two_sessions_are_named() -> None:
    """If a diagram of `export --format mermaid` has two sessions, each turn names its session."""
    lines: list[Any] = [{**HEADER}]
    for n, session in enumerate("ab"):
        ask = request(n, "session/prompt", sessionId=session, prompt=[text("go")])
        lines.append({"stream": "to-agent", "message": ask})
        lines.append({"stream": "to-client", "message": result(n, stopReason="end_turn")})
    with reader_of([json.dumps(line).encode() + b"\n" for line in lines]) as reader:
        notes = [line.strip() for line in SequenceDiagram(reader).lines() if "Turn" in line]
    assert notes == ["Note over C,A: Turn 1 · end_turn · #60;1 µs · a",
                     "Note over C,A: Turn 2 · end_turn · #60;1 µs · b"]  # fmt: skip


@each_case(
    ("text", "written"),
    [
        ("42 session/prompt ✓ 3 ms: café, 你好", "42 session/prompt ✓ 3 ms: café, 你好"),
        ("a; b # c", "a#59; b #35; c"),
        ("%%{x}%% <br> `", "#37;#37;#123;x#125;#37;#37; #60;br#62; #96;"),
        ("$$x$$", "#36;#36;x#36;#36;"),
        ("two\nlines", "two#92;nlines"),
        ("a\u202eb", "a#92;u202eb"),
        ("wrap: it", "#119;rap: it"),
        ("NoWrap", "#78;oWrap"),
        ("x style a:b#c;", "x #115;tyle a:b#35;c#59;"),
        ("classDef a:#b", "#99;lassDef a:#35;b"),
        ("😀 \ufb02°°35¶ß", "#128512; #64258;#176;#176;35#182;ß"),
        ("  \t ", ""),
    ],
)  # fmt: skip
def test_what_means_something_is_an_entity(text: str, written: str) -> None:
    """The diagram of `export --format mermaid` escapes special characters of Mermaid."""
    assert escaped(text) == written


def test_a_long_text_is_cut() -> None:
    """The diagram of `export --format mermaid` cuts a long text of a message."""
    assert escaped("x" * LONGEST) == "x" * LONGEST
    assert escaped("x" * 100) == "x" * LONGEST + "…"
    assert escaped("ab cd", 3) == "ab…"
    assert escaped("#" * 60) == "#35;" * 40 + "…"
    assert escaped("\U00020000" * 90) == "\U00020000" * 72 + "…"


@given(st.text(max_size=7))  # an escape has up to ten characters
def test_the_text_can_be_read_back(text: str) -> None:
    """A Mermaid reader decodes the texts in a diagram of `export` to the recorded texts."""
    written = escaped(text)
    assert html.unescape(re.sub(r"#(\d+);", r"&#\1;", written)) == plain(text).strip()
    assert not re.search("[\n%`<>{}$|@]", written)


def test_statements_are_lines() -> None:
    """In a diagram of `export --format mermaid`, each arrow and note is one line."""
    assert arrow("A", "--x", "C", "1 x:\ny") == "    A--xC: 1 x:#92;ny\n"
    assert note("over A,C", "1 x") == "    Note over A,C: 1 x\n"
    assert participant("A", "Agent: #") == "    participant A as Agent: #35;\n"
