"""A playback displays the message that it waits for after a few seconds of silence."""

from __future__ import annotations

from math import inf

from acp_proxy.playback.drivers.verifier import WaitDisplay
from acp_proxy.playback.shared.playback_options import NS_PER_S


def test_a_line_is_shown_after_three_seconds_and_renewed_each_second() -> None:
    """After three silent seconds, `verify` and `try` print each second whom they wait for."""
    shown: list[str] = []
    display = WaitDisplay(shown.append)
    for tenths in (0, 29, 30, 35, 40, 41):
        display.update(tenths * NS_PER_S // 10, 0, lambda: "the agent")
    assert shown == ["waiting 3 s for the agent", "waiting 4 s for the agent"]
    display.update(5 * NS_PER_S, 5 * NS_PER_S, lambda: "the agent")
    assert shown[2:] == [""]
    display.clear()
    assert shown[3:] == []


def test_it_returns_the_next_time_to_display() -> None:
    """`WaitDisplay.next_at` returns the end of the third silent second, then of each later one."""
    display = WaitDisplay(lambda _: None)
    assert display.next_at(NS_PER_S) == 4 * NS_PER_S
    display.update(5 * NS_PER_S, NS_PER_S, lambda: "x")
    assert display.next_at(NS_PER_S) == 6 * NS_PER_S
    assert WaitDisplay(None).next_at(0) == inf
