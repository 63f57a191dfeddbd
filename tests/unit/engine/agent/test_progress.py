"""When a replay has made no progress for too long."""

from __future__ import annotations

from acp_proxy.engine.agent.progress import SETTLE_NS, Progress


def test_input_counts_for_both_clocks() -> None:
    """Output only delays a stall; mere reordering is about input."""
    progress = Progress(5)
    progress.begin(10)
    progress.begin(12)
    assert (progress.settles_at, progress.stalls_at) == (10 + SETTLE_NS, 15)
    progress.note_output(20)
    assert (progress.settles_at, progress.stalls_at) == (10 + SETTLE_NS, 25)
    progress.note_input(30)
    assert (progress.settles_at, progress.stalls_at) == (30 + SETTLE_NS, 35)


def test_without_a_limit_nothing_stalls() -> None:
    """Whatever time passes."""
    progress = Progress(None)
    progress.begin(10)
    assert progress.stalls_at is None
