"""A replayed frame is due when the recorded gap after the frame before has passed."""

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
    """A replay scales and limits a recorded gap, and counts the gap from the live message."""
    assert pacing.due(1000, 200, 250) == due


def test_a_frame_is_never_due_before_its_predecessor() -> None:
    """If recorded times go back, a replay sends a frame at the same time as the frame before."""
    assert Pacing(1.0).due(1000, 250, 200) == 1000


def test_a_pacing_without_gaps_is_instant() -> None:
    """With a pace of zero, a replay sends frames without gaps."""
    assert [p.is_instant for p in (Pacing(), Pacing(0.0), Pacing(0.1))] == [True, True, False]
