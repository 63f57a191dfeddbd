"""`verify` looks up recorded requests by keys until the live agent has made the requests."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.playback.verify.recorded_requests import (
    Keys,
    RecordedRequest,
    RecordedRequests,
    key_of,
)
from acp_proxy.protocol.typed_places import Place
from acp_proxy.recording.steps import Ask, Step


def request(seq: int, method: str = "m") -> RecordedRequest:
    """A request of the agent."""
    step = Step(seq, seq, from_agent=True, kind="request", method=method)
    return RecordedRequest(step, Ask(seq, str(seq), method, None))


def collection(*requests: RecordedRequest) -> RecordedRequests:
    """Returns a collection of recorded requests in their order."""
    result = RecordedRequests()
    for item in requests:
        result.append(item)
    return result


def parity(item: RecordedRequest) -> Keys:
    """Returns two keys of a request: its number, and whether the number is odd."""
    return (0, item.step.seq), (1, item.step.seq % 2)


def test_requests_are_found_by_method_and_key() -> None:
    """For a live request, `verify` finds the equal recorded requests that are not matched yet."""
    requests = [request(1), request(2), request(3), request(4, "other")]
    result = collection(*requests)
    assert [*result.of("m")] == requests[:3]
    assert [*result.with_key("m", (1, 1), parity)] == [requests[0], requests[2]]
    requests[0].is_made = True
    assert [*result.with_key("m", (1, 1), parity)] == [requests[2]]
    assert [*result.with_key("m", (0, 1), parity)] == []
    assert [*result.with_key("none", (0, 1), parity)] == [*result.of("none")] == []
    assert [*result] == requests[1:]


def test_the_first_request_that_was_made_is_found_by_key() -> None:
    """If an agent repeats a request, `verify` finds the first equal one of the matched requests."""
    requests = [request(1), request(3)]
    result = collection(*requests)
    assert result.first_made("m", (1, 1), parity) is None
    for item in requests:
        result.note_made(item)
    assert result.first_made("m", (1, 1), parity) is requests[0]
    assert result.first_made("m", (0, 3), parity) is requests[1]
    assert result.first_made("m", (1, 0), parity) is None


def test_requests_are_awaited_in_order() -> None:
    """Before `verify` sends a frame, it checks that the agent has made all earlier requests."""
    requests = [request(1), request(3), request(5)]
    result = collection(*requests)
    assert (result.are_made_before(1), result.are_made_before(2)) == (True, False)
    requests[0].is_made = True
    assert (result.are_made_before(3), result.are_made_before(4)) == (True, False)
    result.give_up(5)
    assert result.first_awaited is requests[2]
    assert [*result.of("m")] == requests[1:]


def test_requests_that_are_cleared_are_never_matched() -> None:
    """If `verify` gives up a lane, live requests no longer match the lane's recorded requests."""
    item = request(1)
    lane, unnamed = collection(item), collection(item)
    lane.clear()
    assert (lane.first_awaited, unnamed.first_awaited, [*unnamed.of("m")]) == (None, None, [])


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "_meta": {"x": 1}}, {"a": 1}),
    ],
)
def test_equal_values_have_equal_keys(first: Any, other: Any) -> None:
    """`verify` treats two requests as equal if they differ only in `_meta`."""
    assert key_of(first) == key_of(other)


@pytest.mark.parametrize(
    ("first", "other"), [([1, 2], [2, 1]), ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}), ([], {})]
)
def test_different_values_have_different_keys(first: Any, other: Any) -> None:
    """`verify` treats two requests as different if the order of a list differs."""
    assert key_of(first) != key_of(other)


def test_ignored_values_do_not_count() -> None:
    """`verify` treats two requests as equal if they differ only in ignored values."""
    ignored = [("a", "*", "b")]
    assert key_of({"a": [{"b": 1}]}, ignored=ignored) == key_of({"a": [{"b": 2}]}, ignored=ignored)
    assert key_of({"a": [{"c": 1}]}, ignored=ignored) != key_of({"a": [{"c": 2}]}, ignored=ignored)


def test_ids_do_not_count_and_paths_count_by_their_live_names() -> None:
    """To compare requests, `verify` ignores ids and replaces recorded paths by live paths."""
    places = {"s": Place.SESSION, "i": Place.ID, "p": Place.PATH, "u": Place.URI}
    live = {"s": "x", "i": 1, "p": "/new/f", "u": "file:///a b"}
    recorded = {"s": "y", "i": 2, "p": "/old/f", "u": "file:///a%20b"}

    def moved(_: Place, value: str) -> str:
        return value.replace("/old", "/new")

    assert key_of(live, places) == key_of(recorded, places, moved)
    assert key_of(live, places) != key_of(recorded, places)


def test_a_deep_value_has_a_key() -> None:
    """To look up requests, `verify` gives all values that are nested too deeply the same key."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert key_of(deep) == key_of([deep])
