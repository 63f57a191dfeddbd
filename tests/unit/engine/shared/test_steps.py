"""In which lane a frame is."""

from __future__ import annotations

from typing import Any

from acp_proxy.engine.shared.steps import Answer, Ask, LaneFinder, Step


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """A step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def lanes(*steps: Step) -> list[str | None]:
    """The lanes of steps that come in this order."""
    finder = LaneFinder()
    for one in steps:
        finder.place(one)
    return [one.lane for one in steps]


def test_a_reply_is_in_the_lane_of_its_request() -> None:
    """Whatever session it names itself, in both directions."""
    assert (
        lanes(
            step(1, kind="request", session="s", exchange=1),
            step(2, agent=True, kind="response", answers=(Answer(1, "1"),)),
            step(
                3, agent=True, kind="request", session="s", exchange=2, asks=(Ask(2, "0", "m", 4),)
            ),
            step(4, kind="response", exchange=2),
        )
        == ["s"] * 4
    )


def test_a_frame_without_a_session_is_in_the_previous_frames_lane() -> None:
    """A client's message without one is in the connection's lane."""
    stray = step(3, agent=True, kind="invalid")
    assert lanes(step(1, agent=True, session="s"), step(2), stray) == ["s", None, None]
    assert lanes(step(1, agent=True, session="s"), step(2, agent=True)) == ["s", "s"]


def test_a_parse_error_answers_the_oldest_invalid_line() -> None:
    """Both are in the connection's lane."""
    first, second = step(1, kind="invalid"), step(2, kind="invalid")
    update = step(3, agent=True, session="s")
    errors = [step(n, agent=True, kind="error", rpc_id="null") for n in (4, 5, 6)]
    assert lanes(first, second, update, *errors) == [None, None, "s", None, None, None]
    assert [error.request_seq for error in errors] == [1, 2, None]
    assert (first.response_seq, second.response_seq) == (4, 5)


def test_an_error_with_an_id_answers_no_invalid_line() -> None:
    """It is a repeated reply to a request."""
    garbage, again = step(1, kind="invalid"), step(2, agent=True, kind="error", rpc_id="7")
    lanes(garbage, again)
    assert again.answers == ()
