"""What a lane expects, and what it remembers."""

from __future__ import annotations

from typing import Any

from acp_proxy.engine.agent.lanes import Lane, latest
from acp_proxy.engine.shared.steps import Step


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """A step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def test_a_lane_awaits_the_first_required_message() -> None:
    """A request, a reply or a cancellation that cannot be left out."""
    lane = Lane("s")
    focus = step(1, method="_focus", lane="s")
    cancel = step(2, method="session/cancel", lane="s")
    for one in (focus, cancel):
        lane.expect(one)
    before = lane.first_missing
    lane.match(cancel)
    assert (before, lane.first_missing, lane.is_overtaken) == (cancel, None, False)


def test_a_lane_is_overtaken_by_a_later_message() -> None:
    """Until the earlier one has come."""
    lane = Lane("s")
    first, second = (step(n, kind="request", method="m", lane="s") for n in (1, 2))
    lane.expect(first)
    lane.expect(second)
    overtaken = []
    for one in (second, first):
        lane.match(one)
        overtaken.append(lane.is_overtaken)
    assert overtaken == [True, False]


def test_a_lane_remembers_a_limited_number_of_messages() -> None:
    """It counts all of them."""
    lane = Lane("s")
    for n in range(1000):
        lane.expect(one := step(n, kind="request", method="m"))
        lane.match(one)
    assert (lane.messages, len(lane.played), lane.played[-1].seq) == (1000, 200, 999)


def test_the_latest_of_two_moments() -> None:
    """Each clock is compared by itself."""
    assert latest(None, 5, 7) == (5, 7)
    assert latest((6, 3), 5, 7) == (6, 7)
