"""Frames that a fault holds back are sent when their stream ends or too many bytes wait."""

from __future__ import annotations

from acp_proxy.faults.fault import ScheduledWrite
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.fault_playbook import FaultTranscript, check

CLIENT = Direction.TO_CLIENT


def test_nothing_is_lost_when_a_direction_ends_twice() -> None:
    """If a stream's end is reported twice, frames that a fault has held back are sent once."""
    recorded = check(["reorder after_frames=9"], "1 <- | a\n<- end\n<- 1\nend of to-client")
    assert list(recorded.engine.end(CLIENT, recorded.now)) == []


def test_held_frames_go_out_in_the_order_of_their_waiting() -> None:
    """When a stream ends, frames held back by faults are sent in the order of their delays."""
    check(
        ["reorder after_frames=9 where=text:a", "reorder after_frames=3 where=text:b"],
        """
        1 <- | a
        2 <- | b
        <- end
        <- 2
        <- 1
        end of to-client
        """,
    )


def test_held_frames_are_bounded() -> None:
    """If a fault holds back more than a megabyte of frames, the oldest of them is sent."""
    recorded = FaultTranscript(["reorder after_frames=1000"])
    line = b"x" * 400_000 + b"\n"
    out = [
        len([o for o in recorded.feed(CLIENT, line) if isinstance(o, ScheduledWrite)])
        for _ in range(5)
    ]
    assert out == [0, 0, 1, 1, 1]
    large = FaultTranscript(["reorder after_frames=1000"])
    assert not any(
        isinstance(o, ScheduledWrite) for o in large.feed(CLIENT, b"x" * 3_000_000 + b"\n")
    )


def test_a_stall_lets_out_nothing_that_is_held() -> None:
    """If a fault stalls a stream, frames that a `reorder` fault holds back are never sent."""
    check(
        ["reorder after_frames=1 where=text:a", "stall where=text:b"],
        """
        1 <- | a
        2 <- | b
        <- end
        end of to-client
        """,
    )
