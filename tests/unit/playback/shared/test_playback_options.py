"""A replayed frame is due after the recorded gap to its predecessor."""

from __future__ import annotations

import pytest

from acp_proxy.playback.shared.playback_options import Pacing


@pytest.mark.parametrize(
    ("pacing", "due"),
    [
        (Pacing(), 1000),
        (Pacing(1.0), 1050),
        (Pacing(2.0), 1100),
        (Pacing(0.5), 1025),
        (Pacing(1.0, cap_ns=20), 1020),
        (Pacing(1.0, cap_ns=0), 1000),
    ],
)
def test_a_gap_is_counted_from_the_live_moment(pacing: Pacing, due: int) -> None:
    """A replay counts a recorded gap from the time when the frame before was sent."""
    assert pacing.due(1000, 200, 250) == due


def test_a_frame_is_never_due_before_its_predecessor() -> None:
    """A replay never sends a frame before its predecessor."""
    assert Pacing(1.0).due(1000, 250, 200) == 1000


def test_a_pacing_without_gaps_is_instant() -> None:
    """If the recorded gaps are multiplied by zero, a replay sends all frames at once."""
    assert [p.is_instant for p in (Pacing(), Pacing(0.0), Pacing(0.1))] == [True, True, False]
