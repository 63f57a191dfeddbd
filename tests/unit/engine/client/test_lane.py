"""A lane knows its turns, and when nothing is left to wait for."""

from __future__ import annotations

from acp_proxy.engine.client.lane import ClientLane, LaneEnd, TurnState
from acp_proxy.engine.client.stream_progress import ITEM, Increment, ProgressMark


def test_an_answer_closes_one_turn() -> None:
    """A cancellation lasts until the last open turn is closed."""
    turns = TurnState()
    turns.open(1, 10, 0)
    turns.cancel(12)
    assert (turns.was_cancelled_after(11), turns.was_cancelled_after(12)) == (True, False)
    turns.close(2)
    assert (turns.is_open, turns.is_cancelled) == (True, True)
    turns.close(1)
    assert (turns.is_open, turns.is_cancelled) == (False, False)


def test_a_new_turn_is_not_cancelled() -> None:
    """Though the one before it was."""
    turns = TurnState()
    turns.open(1, 10, 0)
    turns.cancel(12)
    turns.open(2, 14, 0)
    assert not turns.is_cancelled


def test_an_update_ends_all_open_turns() -> None:
    """It stands for the first recorded one after the latest prompt."""
    turns = TurnState()
    turns.recorded_ends += [11, 15]
    for exchange, seq in ((1, 12), (2, 13)):
        turns.open(exchange, seq, 0)
    assert turns.end() == 15
    assert (turns.is_open, turns.ended, turns.awaits_end) == (False, 1, True)
    turns.open(3, 16, 0)
    assert turns.end() is None
    assert not turns.awaits_end


def test_an_abandoned_lane_is_done_and_complete() -> None:
    """Nothing is left to send there or to wait for."""
    lane = ClientLane("s", end=LaneEnd(ProgressMark(1, 0)))
    lane.turns.recorded_ends.append(3)
    assert (lane.is_done, lane.is_complete) == (False, False)
    lane.abandon()
    assert (lane.is_done, lane.is_complete) == (True, True)


def test_a_lane_is_complete_when_as_much_has_come() -> None:
    """State updates count by their kind, and are no progress."""
    lane = ClientLane(None, end=LaneEnd(ProgressMark(1, 0), {"usage_update": 1}))
    lane.progress.add(ITEM, 7)
    assert (lane.is_complete, lane.progress.grew_at) == (False, 7)
    lane.progress.add(Increment(state="usage_update"), 9)
    assert (lane.is_complete, lane.progress.grew_at, lane.title) == (True, 7, "connection")
