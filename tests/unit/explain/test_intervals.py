"""Tests who has to act, and how `show` and `stats` count silences and the parts of turns."""

from __future__ import annotations

from acp_proxy.explain.intervals import Intervals
from acp_proxy.explain.stats.turn_times import Part
from acp_proxy.explain.waits import LONG_NS, Party
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.jsonrpc import Direction, read
from acp_proxy.recording.recording import FrameRun
from tests.support.labelled_transcripts import frame

SECOND = 10**9
HOUR = 3600 * SECOND


def waits_after(*lines: tuple[int, str, bytes]) -> Intervals:
    """Feeds messages, each with its time and stream, and returns the intervals after them."""
    connection = Connection()
    waits = Intervals(connection)
    for seq, (t_ns, stream, line) in enumerate(lines):
        message = read(line)
        transition = connection.feed(seq, t_ns, Direction(stream), message)
        run = FrameRun(seq, t_ns, stream, message.kind, None, seq, t_ns)
        waits.take(run, message, transition)
    return waits


def test_only_the_longest_hangs_are_kept() -> None:
    """`show` lists only the twenty longest silences and counts all of them."""
    lines: list[tuple[int, str, bytes]] = []
    t_ns = 0
    for n in range(50):
        lines.append((t_ns, "to-agent", frame(f"#{n} x")))
        t_ns += LONG_NS[Party.AGENT] + n
        lines.append((t_ns, "to-client", frame(f"#{n} result 1")))
    waits = waits_after(*lines)
    assert waits.silences.long_count == 50
    assert [s.from_seq for s in waits.silences.long] == [2 * n for n in range(30, 50)]
    assert waits.silences.longest is not None
    assert waits.silences.longest.from_seq == 98
    assert waits.open(t_ns) == []


def test_an_answer_to_nothing_changes_nothing() -> None:
    """For `show`, a response that answers no request neither ends nor begins a silence."""
    waits = waits_after(
        (0, "to-client", frame("#7 result 1")),
        (1, "to-agent", frame('#8 error {"code": 1}')),
        (2, "to-agent", b"no message"),
    )
    waits.end_silences(HOUR)
    assert waits.silences.longest is None


def test_an_open_permission_counts_as_waiting_for_a_person() -> None:
    """While a permission request is open, `stats` counts the turn as waiting for a person."""
    waits = waits_after(
        (0, "to-agent", frame('#1 session/prompt {"sessionId": "s"}')),
        (1 * SECOND, "to-client", frame('#5 session/request_permission {"sessionId": "s"}')),
    )
    person, agent = sorted(waits.open(HOUR), key=lambda wait: wait.request.awaited, reverse=True)
    assert (person.request.awaited, person.waited_ns) == (Party.PERSON, HOUR - SECOND)
    assert (agent.request.awaited, agent.silent_ns) == (Party.AGENT, None)
    (turn,), whole = waits.turn_times(HOUR)
    assert {part: turn.part_ns(part) for part in Part if turn.part_ns(part)} == {
        Part.SILENT: SECOND,
        Part.PERSON: HOUR - SECOND,
    }
    assert whole.in_turns_ns == HOUR


def test_a_silence_has_no_session_that_only_the_answer_names() -> None:
    """`show` names no session for a silence between `session/new` and its answer."""
    waits = waits_after(
        (0, "to-agent", frame("#1 session/new {}")),
        (HOUR, "to-client", frame('#1 result {"sessionId": "s"}')),
    )
    assert waits.silences.longest is not None
    assert waits.silences.longest.request.session is None
