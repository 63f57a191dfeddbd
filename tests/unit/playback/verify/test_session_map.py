"""For `verify`, a live session belongs to the lane whose request created the session."""

from __future__ import annotations

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify.lane import ClientLane, SentRequest
from acp_proxy.playback.verify.session_map import SessionMap
from acp_proxy.recording.steps import Step

LANES = ("a", "b")


def creating(lane: ClientLane) -> SentRequest:
    """Returns the request that creates the session of a lane."""
    step = Step(1, 1, from_agent=False, kind="request", method="session/new", session=lane.name)
    return SentRequest(step, lane, 0)


def test_a_session_that_no_request_opened_joins_a_lane() -> None:
    """If no request opened a live session, `verify` assigns the session to a recorded one."""
    lanes: dict[str | None, ClientLane] = {name: ClientLane(name) for name in (None, *LANES)}
    bindings = Bindings()
    session_map = SessionMap(lanes, bindings, [("c", "a"), ("d", "a"), ("e", "b")])
    session_map.last = lanes["a"]
    session_map.announce("x")
    request = creating(lanes["b"])
    session_map.note_sent(request)
    assert session_map.enter("x") is lanes["a"]
    assert session_map.enter("new") is lanes["b"]
    session_map.note_answered(request, "new")
    session_map.last = lanes["a"]
    assert session_map.enter("d") is lanes["a"]
    assert session_map.enter("another") is None
    assert bindings.sessions == {"b": "new", "c": "x", "d": "d"}
