"""The timing of a replay decides when it sends frames, but not their order in a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.playback_options import Pacing

if TYPE_CHECKING:
    from tests.support.playbook import Record, RecordedTranscript

SLOW = """
    1 -> #0 initialize {"protocolVersion": 1}
    .. 99ms
    2 <- #0 result {"protocolVersion": 1}
    .. 10s
    3 -> #1 session/new {"cwd": "/p"}
    .. 19ms
    4 <- #1 result {"sessionId": "a"}
    .. 60s
    5 -> #2 session/prompt {"sessionId": "a", "prompt": []}
    .. 199ms
    6 <- session/update {"sessionId": "a", "update": {"n": 1}}
    .. 299ms
    7 <- session/update {"sessionId": "a", "update": {"n": 2}}
    .. 4999ms
    8 <- #2 result {"stopReason": "end_turn"}
"""
# each frame takes a millisecond itself, so the gaps are 100, 20, 200, 300 and 5000 ms


def timed(
    recorded: RecordedTranscript, pacing: Pacing, waits: str = "10s"
) -> list[tuple[str, float]]:
    """Replays a recording; returns the sent frames, each with its time in milliseconds."""
    live = recorded.replay(pacing=pacing)
    for message in (1, 3, 5):
        live.send(message)
        live.wait(waits)
    live.leave()
    assert live.mismatches == []
    return live.sent[:-1]


@pytest.mark.parametrize(
    ("pacing", "moments"),
    [
        (Pacing(), (0, 10_000, 20_000, 20_000, 20_000)),
        (Pacing(1.0), (100, 10_020, 20_200, 20_500, 25_500)),
        (Pacing(0.5), (50, 10_010, 20_100, 20_250, 22_750)),
        (Pacing(1.0, cap_ns=250 * 10**6), (100, 10_020, 20_200, 20_450, 20_700)),
    ],
    ids=["instant", "recorded", "x0.5", "idle-cap"],
)
def test_gaps_are_exact(record: Record, pacing: Pacing, moments: tuple[float, ...]) -> None:
    """With any `--timing` and `--idle-cap`, the gaps of a replay are exactly as requested."""
    assert timed(record(SLOW), pacing) == list(zip("24678", moments, strict=True))


def test_thinking_is_not_repeated_for_a_pipelining_client(record: Record) -> None:
    """If all messages come at once, `replay --timing recorded` repeats only the agent's gaps."""
    live = record(SLOW).replay(1, 3, 5, pacing=Pacing(1.0))
    live.wait("10s")
    assert live.sent == [("2", 100), ("4", 100), ("6", 300), ("7", 600), ("8", 5600)]


def test_lanes_keep_their_own_time(record: Record) -> None:
    """In a replay of two sessions, a gap in one session does not delay the other session."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        4 <- #1 result {"sessionId": "a"}
        5 -> #2 session/new {"cwd": "/q"}
        6 <- #2 result {"sessionId": "b"}
        7 -> #3 session/prompt {"sessionId": "a", "prompt": []}
        8 -> #4 session/prompt {"sessionId": "b", "prompt": []}
        .. 8ms
        9 <- session/update {"sessionId": "a", "update": {}}
        .. 9ms
        10 <- session/update {"sessionId": "b", "update": {}}
        11 <- #3 result {"stopReason": "end_turn"}
        12 <- #4 result {"stopReason": "end_turn"}
    """).replay(pacing=Pacing(1.0))
    for message in (1, 3, 5):
        live.send(message)
        live.wait("1s")
    live.send(8)
    live.wait("15ms")
    live.send(7)
    live.wait("1s")
    # 8 was at 7 ms, 9 at 16 + ..., counted from each prompt
    assert live.sent[3:] == [
        ("10", 3019),
        ("12", 3021),
        ("9", 3025),
        ("11", 3036),
    ]


def test_a_frame_that_waits_for_its_time_is_no_stall(record: Record) -> None:
    """While a replay waits for the recorded time of a frame, it reports no stall."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        .. 100s
        4 <- #1 result {"sessionId": "a"}
        5 -> #2 session/prompt {"sessionId": "a", "prompt": []}
        6 <- #2 result {"stopReason": "end_turn"}
    """).replay(pacing=Pacing(1.0))
    live.send(1, 3)
    live.wait("131s")
    assert live.sent[1:] == [("4", 100_001), ("end", 130_001)]
    assert live.mismatches == ["stall primary in a 5"]


def test_the_end_of_input_sends_waiting_frames_at_once(record: Record) -> None:
    """At the end of its input, a replay sends all waiting frames immediately."""
    live = record(SLOW).replay(pacing=Pacing(1.0))
    for message in (1, 3):
        live.send(message)
        live.wait("1s")
    assert live.send(5) == []
    assert live.leave() == ["<- 6", "<- 7", "<- 8", "<- end"]
    assert live.mismatches == []


def test_timing_changes_no_bytes(record: Record) -> None:
    """A replay sends the same bytes with every `--timing`."""
    recorded = record(SLOW)
    wanted = b"".join(recorded.raw[n] for n in (2, 4, 6, 7, 8))
    for pacing in (Pacing(), Pacing(1.0), Pacing(3.0, cap_ns=10)):
        live = recorded.replay(pacing=pacing, stall_ns=None)
        for message in (1, 3, 5):
            live.send(message)
            live.wait("100s")
        assert live.bytes == wanted
