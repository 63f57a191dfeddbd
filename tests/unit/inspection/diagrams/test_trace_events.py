"""A recording as a trace: slices that begin and end, in the process of who had to act."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from acp_proxy.filters import parse
from acp_proxy.inspection.diagrams.trace_events import Trace
from acp_proxy.store.reader import RecordingReader
from tests.browser.hostile import TEXTS, Hostile
from tests.captures import all_text_forms
from tests.conversations import HEADER, lines_of, reader_of, steps
from tests.log_writer import (
    MS,
    LogWriter,
    line,
    notification,
    record_conversation,
    request,
    result,
    text,
    update,
)
from tests.shipped import SHIPPED
from tests.traces import check_trace

if TYPE_CHECKING:
    from pathlib import Path


def trace_of(reader: RecordingReader, words: str = "") -> dict[str, Any]:
    """The trace of a recording, decoded; it is checked."""
    parts = Trace(reader, parse(words)).parts() if words else Trace(reader).parts()
    trace: dict[str, Any] = json.loads(b"".join(parts))
    check_trace(trace)
    return trace


def slices_of(path: Path, words: str = "") -> dict[str, list[str]]:
    """The slices of each thread with their times in milliseconds."""
    with RecordingReader(path) as reader:
        found = check_trace(trace_of(reader, words)).slices
    return {
        thread: [f"{first / 1000:.0f}+{(last - first) / 1000:.0f} {name}"
                 for name, first, last in slices]
        for thread, slices in found.items()
    }  # fmt: skip


def test_requests_turns_and_calls_are_slices(tmp_path: Path) -> None:
    """Each in the process of the party that had to act, and what was sent in that of its sender."""
    assert slices_of(record_conversation(tmp_path / "x.db")) == {
        "client: ed 1.2 / connection: sent": ["1+0 initialize", "3+0 session/new"],
        "agent: ag 3.4 / connection: sent": ["2+0 initialize ✓", "16+0 invalid", "18+2 invalid"],
        "agent: ag 3.4 / connection": ["1+1 initialize", "3+1 session/new"],
        "agent: ag 3.4 / s-1: sent": ["4+0 session/new ✓", "8+0 session/request_permission",
                                      "10+0 fs/read_text_file", "14+0 session/prompt ✓"],
        "agent: ag 3.4 / s-1": ["7+6 Edit", "5+9 Turn 1", "15+7 session/set_mode, unanswered"],
        "client: ed 1.2 / s-1: sent": ["5+0 session/prompt", "9+0 session/request_permission ✓",
                                       "11+0 fs/read_text_file ✗", "15+0 session/set_mode"],
        "person / s-1": ["8+1 session/request_permission"],
        "files / s-1": ["10+1 fs/read_text_file"],
    }  # fmt: skip


def test_notifications_and_events_are_instants(tmp_path: Path) -> None:
    """Each with the number of its frame, and what a timeline says of it."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        events = trace_of(reader)["traceEvents"]
    instants = [e for e in events if e["ph"] == "i"]
    assert [e["args"]["seq"] for e in instants] == [1, 7, 8, 13, 14, 18, 19, 21, 22, 23]
    assert instants[2]["name"] == "tool_call"
    assert instants[2]["args"]["text"] == "Edit (c-1) [pending]"
    assert instants[2]["ts"] == 7000
    flows = [(e["ph"], e["id"], e["name"]) for e in events if e["ph"] in "sf"]
    assert flows[:2] == [("s", 1, "initialize"), ("f", 1, "initialize")]
    assert len(flows) == 10


def test_runs_and_bytes(tmp_path: Path) -> None:
    """A run of chunks is one slice; each stream has a counter of its bytes in each second."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(*(update("s", "agent_message_chunk", content=text("x")) for _ in "abc"))
        recorder.t_ns = 3500 * MS
        recorder.to_client(notification("x/y"))
    with RecordingReader(tmp_path / "x.db") as reader:
        events = trace_of(reader)["traceEvents"]
    (run,) = [e for e in events if e["ph"] == "X"]
    assert (run["name"], run["ts"], run["dur"]) == ("agent_message_chunk ×3", 1000, 2000)
    size = len(line(update("s", "agent_message_chunk", content=text("x")))) - 1
    assert run["args"] == {"seq": 2, "text": "xxx", "last_seq": 4, "frames": 3, "size": 3 * size}
    counts = [(e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C"]
    last = len(line(notification("x/y"))) - 1
    assert counts == [(0, 3 * size), (1e6, 0), (3e6, last), (4e6, 0)]


def test_what_never_ended_is_named_so(tmp_path: Path) -> None:
    """A request, a turn and a tool call end with the recording, or the call with its turn."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for n, session in enumerate("ab"):
            recorder.to_agent(request(n, "session/prompt", sessionId=session, prompt=[text("go")]))
            recorder.to_client(update(session, "tool_call", toolCallId="c", title="Run"))
        recorder.to_client(request(7, "terminal/wait_for_exit", sessionId="a", terminalId="t"))
        recorder.to_client(result(1, stopReason="end_turn"))
    assert slices_of(tmp_path / "x.db")["agent / a"] == ["2+4 Run", "1+5 Turn 1, never ended"]
    assert slices_of(tmp_path / "x.db")["agent / b"] == ["4+2 Run", "3+3 Turn 2"]
    assert slices_of(tmp_path / "x.db")["terminals / a"] == [
        "5+1 terminal/wait_for_exit, unanswered"
    ]
    with RecordingReader(tmp_path / "x.db") as reader:
        ends = [e["args"] for e in trace_of(reader)["traceEvents"] if e["ph"] == "E"]
    assert [end for end in ends if end.get("unfinished")] == [{"unfinished": True}] * 2


def test_a_filter_leaves_whole_slices(tmp_path: Path) -> None:
    """A request ends when its answer came, though the answer is not there."""
    path = record_conversation(tmp_path / "x.db")
    found = slices_of(path, "method:fs/* kind:request")
    assert found["files / s-1"] == ["10+1 fs/read_text_file"]
    with RecordingReader(path) as reader:
        events = trace_of(reader, "kind:response")["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "C"}


def test_it_says_what_it_is(tmp_path: Path) -> None:
    """Its name, when it began, and whether secrets are masked."""
    path = record_conversation(tmp_path / "x.db")
    known = {"name": "x", "started_at": "2025-06-15T15:06:40.000000+00:00"}
    with RecordingReader(path) as reader:
        assert trace_of(reader)["metadata"] == {**known, "masked": True}
    with RecordingReader(path, unredacted=True) as reader:
        trace = json.loads(b"".join(Trace(reader, metadata={"filter": "a"}).parts()))
        assert trace["metadata"] == {**known, "masked": False, "filter": "a"}


def test_faults_are_marks_of_the_proxy() -> None:
    """With what the rule did; the frame itself is where it is without faults."""
    rows = [
        HEADER,
        {"stream": "to-client", "message": notification("x/y"), "fault": "f", "delivered": "none"},
        {"fired": {"rule": "f", "action": "drop", "received": "x"}},
    ]
    with reader_of([json.dumps(row).encode() + b"\n" for row in rows]) as reader:
        (fault,) = [e for e in trace_of(reader)["traceEvents"] if e["ph"] == "i" and e["pid"] == 6]
    assert (fault["name"], fault["args"]["seq"]) == ("f (drop): nothing was delivered", 1)


@pytest.mark.parametrize("path", [*SHIPPED, *all_text_forms()], ids=lambda path: path.stem)
def test_every_slice_of_every_recording_ends(path: Path) -> None:
    """On the thread on which it began, in the right order; each frame is there."""
    with RecordingReader(path) as reader:
        events = trace_of(reader)["traceEvents"]
        count = reader.count()
    sent = [e["args"].get("frames", 1) for e in events if e["ph"] in "iX" and e["pid"] != 6]
    assert sum(sent) == count


def test_hostile_texts_are_names(tmp_path: Path) -> None:
    """Of any length, with half a surrogate pair, with what commands a terminal."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number, payload in enumerate(TEXTS.values()):
            Hostile(recorder).talk(f"{number} {payload}")
    with RecordingReader(tmp_path / "x.db", unredacted=True) as reader:
        events = trace_of(reader)["traceEvents"]
    assert all(len(event.get("name", "")) <= 250 for event in events)
    assert not any("\x1b" in json.dumps(event, ensure_ascii=False) for event in events)


@given(steps)
def test_slices_of_any_conversation_end(words: list[tuple[str, int]]) -> None:
    """However its sessions, turns and requests overlap."""
    with reader_of(lines_of(words)) as reader:
        trace_of(reader)


def test_messages_of_a_batch_begin_and_end_slices() -> None:
    """And answers in any order, also at the same time."""
    asked = [request(n, "x/y") for n in range(3)]
    answered = [result(n) for n in (2, 0)]
    rows = [HEADER, {"stream": "to-client", "message": asked},
            {"stream": "to-agent", "message": answered}]  # fmt: skip
    with reader_of([json.dumps(row).encode() + b"\n" for row in rows]) as reader:
        trace = trace_of(reader)
    slices = check_trace(trace).slices
    names = {thread: [name for name, _, _ in found] for thread, found in slices.items()}
    assert names["client / connection"] == ["x/y", "x/y"]
    assert names["client / connection, 2"] == ["x/y, unanswered"]


def test_memory_is_flat() -> None:
    """What is kept does not grow with the frames."""

    def peak(count: int) -> int:
        rows = [json.dumps(HEADER).encode() + b"\n"]
        for _ in range(count):
            for stream, message in (("to-client", request(1, "x/y")), ("to-agent", result(1))):
                row = {"stream": stream, "after_ms": 1, "message": message}
                rows.append(json.dumps(row).encode() + b"\n")
        with reader_of(rows) as reader:
            tracemalloc.start()
            for _ in Trace(reader).parts():
                pass
            _, found = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return found

    peak(10)
    assert peak(1000) < 2 * peak(200)
