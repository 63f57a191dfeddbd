"""A live session belongs to the lane whose request created it."""

from __future__ import annotations

from acp_proxy.engine.client.lane import ClientFrame, ClientLane, SentRequest
from acp_proxy.engine.client.session_map import SessionMap
from acp_proxy.engine.client.stream_progress import ITEM, Increment
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.steps import Step

LANES = ("a", "b")


def sessions() -> tuple[SessionMap, dict[str | None, ClientLane], Bindings]:
    """A map of two recorded sessions, of which none is known yet."""
    lanes: dict[str | None, ClientLane] = {name: ClientLane(name) for name in (None, *LANES)}
    bindings = Bindings()
    return SessionMap(lanes, bindings), lanes, bindings


def creating(lane: ClientLane) -> SentRequest:
    """The request that creates the session of a lane."""
    step = Step(1, 1, from_agent=False, kind="request", method="session/new", session=lane.name)
    return SentRequest(step, lane, 0)


def test_a_new_name_is_that_of_the_only_session_that_is_created() -> None:
    """It may come before the answer that names it."""
    found, lanes, bindings = sessions()
    found.note_sent(creating(lanes["a"]))
    assert found.enter("live") is lanes["a"]
    assert bindings.sessions == {"a": "live"}


def test_a_new_name_is_unknown_while_several_are_created() -> None:
    """State updates until then are added; other messages are counted from then on."""
    found, lanes, _ = sessions()
    requests = [creating(lanes[name]) for name in LANES]
    for request in requests:
        found.note_sent(request)
    assert found.enter("live") is None
    found.progress.add(Increment(state="usage_update"), 1)
    found.progress.add(ITEM, 2)
    found.note_answered(requests[1], "live")
    assert found.enter("live") is lanes["b"]
    assert lanes["b"].progress.states["usage_update"] == 1
    assert lanes["b"].progress.mark == (0, 0)
    found.progress.add(ITEM, 3)
    assert lanes["b"].progress.mark == (1, 0)
    found.note_answered(requests[0], None)
    assert not found.is_creating


def test_a_message_without_a_session_belongs_to_the_latest_lane() -> None:
    """A message of an unknown session belongs to the connection, if none is being created."""
    found, lanes, _ = sessions()
    found.last = lanes["a"]
    assert (found.lane_of(None), found.last) == (lanes["a"], lanes["a"])
    assert found.enter("stranger") is None
    assert found.last is lanes[None]


def test_a_session_keeps_its_name_unless_a_frame_creates_it() -> None:
    """A session with a live name keeps that one."""
    found, lanes, bindings = sessions()
    prompt = Step(2, 2, from_agent=False, kind="request", method="session/prompt")
    found.bind(lanes["a"], "live")
    for lane, step in ((lanes["a"], prompt), (lanes["b"], creating(lanes["b"]).step)):
        found.bind_before(ClientFrame(lane, 2, 2, [step]))
    found.bind_before(ClientFrame(lanes[None], 2, 2, [prompt]))
    assert bindings.sessions == {"a": "live"}
    found.bind_before(ClientFrame(lanes["b"], 2, 2, [prompt]))
    assert bindings.sessions == {"a": "live", "b": "b"}


def test_a_session_that_no_request_opened_joins_a_lane() -> None:
    """It is the recorded one of its name, or the next one of the lane that announced it."""
    lanes: dict[str | None, ClientLane] = {name: ClientLane(name) for name in (None, *LANES)}
    bindings = Bindings()
    found = SessionMap(lanes, bindings, [("c", "a"), ("d", "a"), ("e", "b")])
    found.last = lanes["a"]
    found.announce("x")
    request = creating(lanes["b"])
    found.note_sent(request)
    assert found.enter("x") is lanes["a"]
    assert found.enter("new") is lanes["b"]
    found.note_answered(request, "new")
    found.last = lanes["a"]
    assert found.enter("d") is lanes["a"]
    assert found.enter("another") is None
    assert bindings.sessions == {"b": "new", "c": "x", "d": "d"}
