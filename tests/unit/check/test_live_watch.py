"""The live watch of a running recording reports problems, and each silence of an agent once."""

from __future__ import annotations

import json
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.check import judgement
from acp_proxy.check.judgement import LiveWatch
from acp_proxy.explain.message_pass import MessagePass
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.log_writer import (
    ORIGIN_NS,
    LogWriter,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)
from tests.support.shipped_recordings import DIRECTORY, REPORTS, SHIPPED
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.recording.recording import RecordedEvent

S = 10**9
LIMIT_S = 120
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB3d"
HEALTHY = [
    path.parent / entry["file"]
    for path in sorted(REPORTS.glob("*/expected.json"))
    for entry in json.loads(path.read_text("utf-8"))
    if "thread" not in entry
]
LONG = {
    "call-without-a-byte-for-twelve-minutes",
    "opencode-running-call-approved-long",
    "probes-and-cancel",
}
"""Healthy conversations that ring once: two with a call of more than ten minutes without a word,
and one with a thought of more than two."""
HANGS = {
    "antigravity-prompt-never-answered": [145],
    "culprits/aion-npx-installs-too-long": [121],
    "culprits/kiro-hangs-on-an-mcp-server": [121],
    "fifth/kilo-prompt-without-a-word": [122],
    "fresh/opencode-stops-in-mid-word": [134],
    "fresh/wiki-turn-stalls-after-its-work": [160, 328],
    "third/cursor-web-search-hangs": [608],
}
"""Reported hangs, and the seconds from the start until they ring; two silences ring twice."""


def rings(reader: RecordingReader, limit_s: float) -> list[tuple[int, str]]:
    """Looks each second while a finished recording is played; returns the seconds and sentences."""
    messages, watch = MessagePass(reader), LiveWatch(reader, limit_s)
    events: list[RecordedEvent] = []
    rung: list[tuple[int, str]] = []
    coming, second = deque(messages.events), 0

    def look_until(t_ns: int) -> None:
        nonlocal second
        while second * S < t_ns:
            now_ns = second * S
            waits = messages.intervals.open(now_ns)
            if sentence := watch.stall(DiagnosisContext(reader, events, messages, waits, now_ns)):
                rung.append((second, sentence))
            second += 1

    def note_until(seq: float) -> None:
        while coming and coming[0].seq < seq:
            look_until(coming[0].t_ns)
            events.append(coming.popleft())
            messages.intervals.note(events[-1])

    for run, message, transition in messages.read(-1):
        note_until(run.seq)
        look_until(run.t_ns)
        messages.intervals.take(run, message, transition)
    note_until(float("inf"))
    return rung


@pytest.mark.parametrize(
    "path", [*SHIPPED, *captures.all_text_forms(), *HEALTHY], ids=lambda path: path.stem
)
def test_a_healthy_conversation_rings_only_if_it_is_slow(path: Path) -> None:
    """`log --until stall:120s` reports one silence in a slow healthy recording, else none."""
    with RecordingReader(path) as reader:
        assert len(rings(reader, LIMIT_S)) == (path.stem in LONG)


@pytest.mark.parametrize("path", [*captures.weighted_captures()])
def test_a_capture_never_rings(path: Path, tmp_path: Path) -> None:
    """`log --until stall` reports no silence in captured conversations of real agents."""
    with LogWriter(tmp_path / "x.db") as recorder:
        play(captures.load(path), recorder)
    with RecordingReader(tmp_path / "x.db") as reader:
        assert rings(reader, 30) == []


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_rings_once(name: str) -> None:
    """In recordings of hangs, `log --until stall` reports each silence above the limit once."""
    with RecordingReader(REPORTS / f"{name}.jsonl") as reader:
        assert [second for second, _ in rings(reader, LIMIT_S)] == HANGS[name]


def test_a_running_call_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """`log --until stall` allows a longer silence while a tool call runs."""
    with RecordingReader(DIRECTORY / "hang.db") as reader:
        assert rings(reader, 2) == []
        monkeypatch.setattr(judgement, "CALL_S", 2.0)
        ((second, sentence),) = rings(reader, 2)
    assert second == 3
    assert 'prompt #6 open: "' in sentence


# Running recordings


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[LogWriter]:
    """A log in which a session has an open prompt, frame 6."""
    with LogWriter(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16) as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        prompt = [text("fix the test with " + SECRET)]
        recorder.to_agent(request(2, "session/prompt", sessionId="s", prompt=prompt))
        yield recorder


@pytest.fixture
def reader(recorder: LogWriter) -> Iterator[RecordingReader]:
    """The recording of the log, while it runs."""
    with RecordingReader(recorder.path) as reader:
        yield reader


def look(watch: LiveWatch, reader: RecordingReader, recorder: LogWriter, seconds: int) -> Any:
    """Looks at the recording some seconds after its last record."""
    reader.refresh()
    recorder.t_ns += seconds * S
    return watch.look(ORIGIN_NS + recorder.t_ns)


def test_a_silence_rings_once(recorder: LogWriter, reader: RecordingReader) -> None:
    """If an agent is silent twice, `log --until stall` reports each of the two silences once."""
    after = partial(look, LiveWatch(reader, 60), reader, recorder)
    assert after(59) is None
    kind, sentence = after(1)
    assert kind == "stall"
    assert sentence.startswith('agent silent 60 s, prompt #6 open: "fix the test with [redacted:')
    assert after(500) is None
    recorder.to_client(update("s", "agent_message_chunk", content=text("I")))
    assert after(59) is None
    recorder.index()
    assert after(1)[1].startswith("agent silent 60 s, prompt #6 open:")


def test_only_the_agents_own_silence_rings(recorder: LogWriter, reader: RecordingReader) -> None:
    """`log --until stall` never reports an agent that waits for a person or for the client."""
    after = partial(look, LiveWatch(reader, 60), reader, recorder)
    call = {"toolCallId": "c", "title": "make"}
    recorder.to_client(update("s", "tool_call", **call, status="in_progress"))
    for method, answer in (
        ("session/request_permission", {"outcome": {"outcome": "cancelled"}}),
        ("fs/read_text_file", {"content": ""}),
        ("terminal/wait_for_exit", {"exitCode": 0}),
    ):
        recorder.to_client(request(7, method, sessionId="s", toolCall=call, options=[], path="/x"))
        assert after(10_000) is None
        recorder.to_agent(result(7, **answer))
    assert after(599) is None
    kind, sentence = after(1)
    assert kind == "stall"
    assert sentence.startswith("call make ")
    assert ', prompt #6 open: "' in sentence


def test_nothing_rings_after_the_agents_end(recorder: LogWriter, reader: RecordingReader) -> None:
    """After the agent's exit, `log --until stall` does not call the agent silent."""
    recorder.end(code=3)
    assert look(LiveWatch(reader, 60), reader, recorder, 500) is None


def test_nothing_rings_after_a_gap(recorder: LogWriter, reader: RecordingReader) -> None:
    """If a recording has a gap (unrecorded bytes), `log --until stall` reports no silence later."""
    recorder.event(capture_log.GAP, reason="full")
    assert look(LiveWatch(reader, 60), reader, recorder, 500) is None


def test_nothing_rings_at_the_size_cap(recorder: LogWriter, reader: RecordingReader) -> None:
    """After a recording has reached `--max-size`, `log --until stall` reports no silence."""
    watch = LiveWatch(reader, 60)
    assert look(watch, reader, recorder, 50) is None
    recorder.event(capture_log.NOTE, action="full", reason="the recording has reached --max-size")
    assert look(watch, reader, recorder, 500) is None


@pytest.mark.parametrize("method", ["session/request_permission", "fs/read_text_file"])
def test_a_cancel_leaves_the_same_hangs(
    recorder: LogWriter, reader: RecordingReader, method: str
) -> None:
    """After a cancel, `log --until problem` blames the client until it answers, then the agent."""
    recorder.to_client(request(7, method, sessionId="s", path="/srv/a", options=[], toolCall={}))
    recorder.to_agent(notification("session/cancel", sessionId="s"))
    watch, judge = LiveWatch(reader, 60), LiveWatch(reader, None, problem=True)
    assert look(watch, reader, recorder, 70) is None
    assert "by the client: #7:" in look(judge, reader, recorder, 0)[1]
    recorder.to_agent(result(7, outcome={"outcome": "cancelled"}, content=""))
    assert look(watch, reader, recorder, 59) is None
    assert look(watch, reader, recorder, 2)[0] == "stall"
    assert "wait.unanswered by the agent: #6:" in look(judge, reader, recorder, 0)[1]


def test_a_broken_rule_is_a_problem(recorder: LogWriter, reader: RecordingReader) -> None:
    """`log --until problem` reports a broken rule as soon as it has read the message."""
    watch = LiveWatch(reader, None, problem=True)
    assert look(watch, reader, recorder, 1) is None
    recorder.to_client(b"Loading the model\n")
    kind, sentence = look(watch, reader, recorder, 0)
    assert kind == "problem"
    assert sentence == 'frame.not-json by the agent: #7: a line is not JSON: "Loading the model"'


def test_a_hang_is_a_problem(recorder: LogWriter, reader: RecordingReader) -> None:
    """If a prompt is unanswered for a minute, `log --until problem` blames the agent."""
    watch = LiveWatch(reader, None, problem=True)
    assert look(watch, reader, recorder, 59) is None
    assert look(watch, reader, recorder, 1)[1].startswith("wait.unanswered by the agent: #6: ")


def test_a_silence_is_more_than_a_problem(recorder: LogWriter, reader: RecordingReader) -> None:
    """If an agent's silence is both a stall and a problem, `log --until` reports a stall."""
    assert look(LiveWatch(reader, 60, problem=True), reader, recorder, 70)[0] == "stall"


def test_rules_are_those_of_the_dialect(tmp_path: Path) -> None:
    """`log --until problem` reports nothing in a v2 handshake, but a bad update after it."""
    with (
        LogWriter(tmp_path / "x.db") as recorder,
        RecordingReader(recorder.path) as reader,
    ):
        watch = LiveWatch(reader, None, problem=True)
        recorder.to_agent(
            request(
                0,
                "initialize",
                protocolVersion=2,
                capabilities={},
                info={"name": "c", "version": "1"},
            )
        )
        assert look(watch, reader, recorder, 0) is None
        recorder.to_client(
            result(0, protocolVersion=2, capabilities={}, info={"name": "a", "version": "1"})
        )
        assert look(watch, reader, recorder, 0) is None
        assert reader.recording.dialect == "v2"
        recorder.to_client(notification("session/update", sessionId="nobody", update={}))
        assert look(watch, reader, recorder, 0)[0] == "problem"


def test_the_end_of_an_agent_is_a_problem(recorder: LogWriter) -> None:
    """If the agent crashes, `log --until problem` reports the crash at the end of the recording."""
    recorder.event(capture_log.EXIT, signal=6)
    recorder.close("the agent exited")
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        kind, sentence = LiveWatch(reader, 60, problem=True).look(0) or ("", "")
    assert kind == "problem"
    assert sentence.startswith("agent.")
