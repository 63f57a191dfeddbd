"""Tests how the engine of a replay takes events and yields commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.events import Finish, LineReceived, Started, WakeAt, Wakeup
from acp_proxy.playback.replay.replay import SETTLE_NS, Progress, Replay
from acp_proxy.playback.replay.replay_report import report
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.playback_options import Order

if TYPE_CHECKING:
    from tests.support.playbook import Record, RecordedTranscript

S = 10**9
PROMPT = '{"sessionId": "s", "prompt": [{"type": "text", "text": "one"}]}'
UPDATE = '{"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}'


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A conversation in one session."""
    return record(f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/p", "mcpServers": []}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {PROMPT}
        6 <- session/update {UPDATE}
        7 <- session/update {UPDATE}
        8 <- #2 result {{"stopReason": "end_turn"}}
        """)


def test_silence_before_the_start_does_not_count(recorded: RecordedTranscript) -> None:
    """In a replay, the time before the start does not count towards the stall timeout."""
    replay = Replay(recorded.script(), ReplayOptions(stall_ns=5 * S))
    line = recorded.raw[1].rstrip(b"\n")
    assert [*replay.feed(LineReceived(line, 1 * S))][-1] == WakeAt(6 * S)
    assert [*replay.feed(Started(20 * S))] == [WakeAt(25 * S)]
    assert [*replay.feed(Wakeup(24 * S))] == [WakeAt(25 * S)]
    assert [*replay.feed(Wakeup(25 * S))] == [Finish()]
    assert [divergence.kind.value for divergence in replay.state.divergences.found] == ["stall"]


@pytest.mark.parametrize("order", [Order.SESSION, Order.RECORDED])
def test_frames_of_an_abandoned_session_are_unplayed(
    recorded: RecordedTranscript, order: Order
) -> None:
    """If a replay gives up a session, the frames that it did not send count as unplayed."""
    replay = Replay(recorded.script(), ReplayOptions(order=order))
    lines = [recorded.raw[1], recorded.raw[3], recorded.raw[5].replace(b'"one"', b'"two"')]
    for at, line in enumerate(lines, 1):
        assert [*replay.feed(LineReceived(line.rstrip(b"\n"), at))]
    result = report(replay, "recorded", is_incomplete=False)
    assert (result.verdict, result.frames_sent, result.unplayed) == ("diverged", 2, 3)


def test_input_counts_for_both_clocks() -> None:
    """In a replay, each input restarts the wait for missing messages and the stall timeout."""
    progress = Progress(5)
    progress.begin(10)
    progress.begin(12)
    assert (progress.settles_at, progress.stalls_at) == (10 + SETTLE_NS, 15)
    progress.moved_at = 20
    assert (progress.settles_at, progress.stalls_at) == (10 + SETTLE_NS, 25)
    progress.note_input(30)
    assert (progress.settles_at, progress.stalls_at) == (30 + SETTLE_NS, 35)
