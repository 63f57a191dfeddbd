"""Recorded requests are found by their keys until the live agent has made them."""

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
    """Requests in their order."""
    found = RecordedRequests()
    for one in requests:
        found.append(one)
    return found


def parity(one: RecordedRequest) -> Keys:
    """Keys of which two requests have the same if both numbers are odd, or even."""
    return (0, one.step.seq), (1, one.step.seq % 2)


def test_requests_are_found_by_method_and_key() -> None:
    """A request that was made is not found again."""
    requests = [request(1), request(2), request(3), request(4, "other")]
    found = collection(*requests)
    assert [*found.of("m")] == requests[:3]
    assert [*found.with_key("m", (1, 1), parity)] == [requests[0], requests[2]]
    requests[0].is_made = True
    assert [*found.with_key("m", (1, 1), parity)] == [requests[2]]
    assert [*found.with_key("m", (0, 1), parity)] == []
    assert [*found.with_key("none", (0, 1), parity)] == [*found.of("none")] == []
    assert [*found] == requests[1:]


def test_the_first_request_that_was_made_is_found_by_key() -> None:
    """It is found only after it was made."""
    requests = [request(1), request(3)]
    found = collection(*requests)
    assert found.first_made("m", (1, 1), parity) is None
    for one in requests:
        found.note_made(one)
    assert found.first_made("m", (1, 1), parity) is requests[0]
    assert found.first_made("m", (0, 3), parity) is requests[1]
    assert found.first_made("m", (1, 0), parity) is None


def test_requests_are_awaited_in_order() -> None:
    """They are awaited until they are made or given up; one that is given up may still come."""
    requests = [request(1), request(3), request(5)]
    found = collection(*requests)
    assert (found.are_made_before(1), found.are_made_before(2)) == (True, False)
    requests[0].is_made = True
    assert (found.are_made_before(3), found.are_made_before(4)) == (True, False)
    found.give_up(5)
    assert found.first_awaited is requests[2]
    assert [*found.of("m")] == requests[1:]


def test_requests_that_are_cleared_are_never_matched() -> None:
    """They are not matched in another collection either."""
    one = request(1)
    lane, unnamed = collection(one), collection(one)
    lane.clear()
    assert (lane.first_awaited, unnamed.first_awaited, [*unnamed.of("m")]) == (None, None, [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "_meta": {"x": 1}}, {"a": 1}),
    ],
)
def test_equal_values_have_equal_keys(one: Any, other: Any) -> None:
    """The order of members, the spelling of numbers and ``_meta`` do not count."""
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [([1, 2], [2, 1]), ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}), ([], {})]
)
def test_different_values_have_different_keys(one: Any, other: Any) -> None:
    """The order of lists and the names of members count."""
    assert key_of(one) != key_of(other)


def test_ignored_values_do_not_count() -> None:
    """A path may have `*` for any key or item."""
    ignored = [("a", "*", "b")]
    assert key_of({"a": [{"b": 1}]}, ignored=ignored) == key_of({"a": [{"b": 2}]}, ignored=ignored)
    assert key_of({"a": [{"c": 1}]}, ignored=ignored) != key_of({"a": [{"c": 2}]}, ignored=ignored)


def test_values_at_typed_places_count_by_their_live_names() -> None:
    """Sessions and ids do not count, and a URI counts without its escapes."""
    places = {"s": Place.SESSION, "i": Place.ID, "p": Place.PATH, "u": Place.URI}
    live = {"s": "x", "i": 1, "p": "/new/f", "u": "file:///a b"}
    recorded = {"s": "y", "i": 2, "p": "/old/f", "u": "file:///a%20b"}

    def moved(_: Place, value: str) -> str:
        return value.replace("/old", "/new")

    assert key_of(live, places) == key_of(recorded, places, moved)
    assert key_of(live, places) != key_of(recorded, places)


def test_a_deep_value_has_a_key() -> None:
    """No request can stop a verification."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert key_of(deep) == key_of([deep])
