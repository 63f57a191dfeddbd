"""Tests which lines `diff` compares, and how it measures latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import Change, Counts, DiffOptions, Expect, MethodLatency
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    MS,
    LogWriter,
    handshake,
    line,
    notification,
    request,
    result,
    text,
    update,
)
from tests.support.scenario_runs import IN, OUT, Run, compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from acp_proxy.diff.diff_result import Diff

HELLO = update("s-1", "agent_message_chunk", content=text("Hello"))
HELP = update("s-1", "agent_message_chunk", content=text("Help!"))
FRAMES = 6


def told(recorder: LogWriter) -> None:
    """Records a session without problems."""
    handshake(recorder)
    recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))
    recorder.to_client(result(1, sessionId="s-1"), HELLO, update("s-1", "plan", entries=[]))


def compared(
    directory: Path,
    a: Callable[[LogWriter], None],
    b: Callable[[LogWriter], None],
    pauses: tuple[tuple[int, int], ...] = (),
) -> Diff:
    """Compares two recorded conversations."""
    paths = []
    for name, tell in (("a", a), ("b", b)):
        with LogWriter(directory / f"{name}.db") as recorder:
            tell(recorder)
            recorder.end()
            recorder.close()
            recorder.finish()
        paths.append(recorder.path)
    with RecordingReader(paths[0]) as of_a, RecordingReader(paths[1]) as of_b:
        return diff(of_a, of_b, DiffOptions(pauses=pauses))


def made_up(recorder: LogWriter) -> None:
    """Records the same session with frames that faults created."""
    handshake(recorder)
    recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))
    for stream, said in (
        (TO_CLIENT, notification("session/update", sessionId="s-1", update={"x": 1})),
        (TO_CLIENT, "no message"),
        (TO_AGENT, notification("session/cancel", sessionId="s-1")),
    ):
        recorder._record(capture_log.PART, stream, line(said))
        fields = {"rule": "r", "action": "stray-stdout", "at": recorder.t_ns}
        recorder.event(capture_log.MADE, stream, **fields)
    recorder.to_client(result(1, sessionId="s-1"), HELLO, update("s-1", "plan", entries=[]))


def spoiled(recorder: LogWriter) -> None:
    """Records the same session with frames that faults dropped and changed."""
    handshake(recorder)
    recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))
    recorder.to_client(result(1, sessionId="s-1"), HELLO)
    recorder._record(capture_log.PART, TO_CLIENT, line(HELP))
    recorder.event(capture_log.FAULT, TO_CLIENT, rule="r", action="corrupt", delivered="full")
    recorder.to_client(update("s-1", "plan", entries=[]))
    recorder.event(capture_log.FAULT, TO_CLIENT, rule="r", action="drop", delivered="none")


@pytest.mark.parametrize("other", [made_up, spoiled])
def test_a_recording_is_compared_as_it_was_received(
    tmp_path: Path, other: Callable[[LogWriter], None]
) -> None:
    """If faults changed frames, `diff` compares the frames as they were before the change."""
    result = compared(tmp_path, told, other)
    assert (result.counts, result.a.frames, result.b.frames) == (Counts(), FRAMES, FRAMES)
    (tmp_path / "turned").mkdir()
    result = compared(tmp_path / "turned", other, told)
    assert (result.counts, result.a.frames, result.b.frames) == (Counts(), FRAMES, FRAMES)


def test_stderr_blank_lines_and_events_are_not_compared(tmp_path: Path) -> None:
    """`diff` does not compare lines on stderr, blank lines and events."""

    def noisy(recorder: LogWriter) -> None:
        recorder.stderr("warning")
        recorder.chunk(TO_CLIENT, b"\n\r\n  \n")
        recorder.chunk(TO_AGENT, b"\n")
        recorder.chunk(STDERR, b"\n")
        recorder.event(capture_log.NOTE, text="a note")
        told(recorder)

    result = compared(tmp_path, told, noisy)
    assert (result.counts, result.a.frames, result.b.frames) == (Counts(), FRAMES, FRAMES)


def test_an_empty_line_is_no_frame() -> None:
    """`diff` does not count an empty line in a stream as a frame."""
    for expect in Expect:
        result, _ = compare(Run(0).end(), Run(1).add(IN, "").add(OUT, " ").end(), expect=expect)
        assert (result.counts, result.a.frames, result.b.frames) == (Counts(), 6, 6)
    assert compare(Run(0), Run(0).add(IN, ""), exact=True)[0].is_equal


def test_each_side_has_its_own_number_of_frames() -> None:
    """The result of `diff` contains the number of frames of each recording."""
    result, (entry,) = compare(Run(0).end(), Run(1).tell("plan").end())
    assert (entry.change, result.a.frames, result.b.frames) == (Change.ONLY_B, 6, 7)


# Latencies


def asked(recorder: LogWriter, method: str, *waits_ms: int) -> None:
    """Records requests that are answered after some time."""
    for place, wait in enumerate(waits_ms):
        recorder.to_agent(request(f"{method}-{place}", method))
        recorder.t_ns += wait * MS - MS
        recorder.to_client(result(f"{method}-{place}"))


def test_latencies_are_compared_by_method(tmp_path: Path) -> None:
    """`diff` compares the median latency of each method."""

    def a(recorder: LogWriter) -> None:
        asked(recorder, "x/even", 40, 10, 30, 20)
        asked(recorder, "x/odd", 90, 50, 70)
        asked(recorder, "x/only_a", 5)
        recorder.to_agent(request("never", "x/never"))

    def b(recorder: LogWriter) -> None:
        asked(recorder, "x/only_b", 7, 9)
        asked(recorder, "x/odd", 3)
        asked(recorder, "x/even", 2, 4, 6, 8, 10, 12)
        recorder.to_client(request("one", "x/odd"))
        recorder.t_ns += MS
        recorder.to_agent(result("one"))

    outcome = compared(tmp_path, a, b)
    to_agent = "to-agent"
    assert outcome.latency == (
        MethodLatency("x/even", to_agent, 4, 6, 20 * MS, 6 * MS, 40 * MS, 12 * MS),
        MethodLatency("x/odd", to_agent, 3, 1, 70 * MS, 3 * MS, 90 * MS, 3 * MS),
        MethodLatency("x/only_a", to_agent, 1, 0, 5 * MS, None, 5 * MS, None),
        MethodLatency("x/only_b", to_agent, 0, 2, None, 7 * MS, None, 9 * MS),
        MethodLatency("x/odd", "to-client", 0, 1, None, 2 * MS, None, 2 * MS),
    )
    assert outcome.counts.total > 0


def test_exchanges_that_were_open_in_a_pause_have_no_latency(tmp_path: Path) -> None:
    """`diff` reports no latency of a request that was open while `verify` delayed the client."""

    def told(recorder: LogWriter) -> None:
        asked(recorder, "x/held", 5000)
        asked(recorder, "x/both", 5000, 7)
        asked(recorder, "x/quick", 3)

    paused = ((2 * MS, 4000 * MS), (9000 * MS, 9500 * MS))
    result = compared(tmp_path, told, told, pauses=paused)
    assert [(row.method, row.a_count, row.b_count, row.b_max_ns) for row in result.latency] == [
        ("x/both", 2, 1, 7 * MS),
        ("x/quick", 1, 1, 3 * MS),
    ]


def test_latencies_are_no_difference(tmp_path: Path) -> None:
    """`diff` treats two recordings as equal if they differ only in latency."""
    result = compared(
        tmp_path,
        lambda recorder: asked(recorder, "x/y", 1, 2, 3),
        lambda recorder: asked(recorder, "x/y", 3000, 2000, 1000),
    )
    assert result.is_equal
    assert result.latency == (
        MethodLatency("x/y", "to-agent", 3, 3, 2 * MS, 2000 * MS, 3 * MS, 3000 * MS),
    )
