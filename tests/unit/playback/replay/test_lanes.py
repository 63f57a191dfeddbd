"""A lane of a replay remembers its latest messages, and `latest` compares two moments."""

from __future__ import annotations

from typing import Any

from acp_proxy.playback.replay.lanes import Lane, latest
from acp_proxy.recording.steps import Step


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """A step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def test_a_lane_remembers_a_limited_number_of_messages() -> None:
    """A lane of a replay remembers only the latest 200 of its messages."""
    lane = Lane("s")
    for n in range(1000):
        lane.expect(item := step(n, kind="request", method="m"))
        lane.match(item)
    assert (lane.messages, len(lane.played), lane.played[-1].seq) == (1000, 200, 999)


def test_the_latest_of_two_moments() -> None:
    """Of two messages, a replay notes the later live time and the later recorded time."""
    assert latest(None, 5, 7) == (5, 7)
    assert latest((6, 3), 5, 7) == (6, 7)
