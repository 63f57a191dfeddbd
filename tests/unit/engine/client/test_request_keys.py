"""Values that a comparison finds equal have equal keys."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.engine.client.request_keys import key_of
from acp_proxy.protocol.splice import Place


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
    """Also below any key or item."""
    ignored = [("a", "*", "b")]
    assert key_of({"a": [{"b": 1}]}, ignored=ignored) == key_of({"a": [{"b": 2}]}, ignored=ignored)
    assert key_of({"a": [{"c": 1}]}, ignored=ignored) != key_of({"a": [{"c": 2}]}, ignored=ignored)


def test_values_at_typed_places_count_by_their_live_names() -> None:
    """Sessions and ids do not count at all, and a URI counts as what it means."""
    places = {"s": Place.SESSION, "i": Place.ID, "p": Place.PATH, "u": Place.URI}
    live = {"s": "x", "i": 1, "p": "/new/f", "u": "file:///a b"}
    recorded = {"s": "y", "i": 2, "p": "/old/f", "u": "file:///a%20b"}

    def moved(_: Place, value: str) -> str:
        return value.replace("/old", "/new")

    assert key_of(live, places) == key_of(recorded, places, moved)
    assert key_of(live, places) != key_of(recorded, places)


def test_a_deep_value_has_a_key() -> None:
    """So no request can stop a verification."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert key_of(deep) == key_of([deep])
