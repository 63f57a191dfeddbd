"""Where two values differ, as deep as it can be told."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.difference.explanation import fields
from acp_proxy.difference.result import Field


def told(a: Any, b: Any) -> list[Field]:
    """The places."""
    return [*fields(a, b)]


@pytest.mark.parametrize(
    "name", ["id", "name", "optionId", "modelId", "toolCallId", "terminalId", "path", "uri"]
)
def test_list_items_are_matched_by_their_names(name: str) -> None:
    """One that is gone makes no others differ, though they have changed as well."""
    a = [{name: one, "v": 1} for one in ("first", "second", "third")]
    b = [{name: one, "v": 2} for one in ("second", "third")]
    assert told(a, b) == [
        Field("/1/v", 1, 2),
        Field("/2/v", 1, 2),
        Field("/0", a=a[0], only="a"),
    ]
    assert told(b, a) == [
        Field("/0/v", 2, 1),
        Field("/1/v", 2, 1),
        Field("/0", b=a[0], only="b"),
    ]


def test_list_items_without_names_are_matched_by_their_places() -> None:
    """Those that are the same are no places."""
    assert told([1, 2, 3], [1, 5, 3]) == [Field("/1", 2, 5)]
    assert told([1, 2, 3], [1, 3]) == [Field("/1", a=2, only="a")]
    assert told([{"v": 1}, {"v": 2}], [{"v": 3}, {"v": 4}]) == [
        Field("/0/v", 1, 3),
        Field("/1/v", 2, 4),
    ]
    assert told([{"id": 7, "v": 1}], [{"id": 7, "v": 2}]) == [Field("/0/v", 1, 2)]


def test_a_list_item_with_another_name_is_another_item() -> None:
    """In its place, as far as there is one."""
    a, b = [{"id": "x", "v": 1}], [{"id": "y", "v": 2}, {"id": "z"}]
    assert told(a, b) == [
        Field("/0/id", "x", "y"),
        Field("/0/v", 1, 2),
        Field("/1", b={"id": "z"}, only="b"),
    ]


def test_keys_are_reported_in_the_order_of_a() -> None:
    """And then those that only B has; their order does not count."""
    assert told({"z": 1, "y": 2}, {"y": 2, "z": 1}) == []
    assert told({"z": 1, "a/b": 2}, {"x": 1, "a/b": 3, "~": None}) == [
        Field("/z", a=1, only="a"),
        Field("/a~1b", 2, 3),
        Field("/x", b=1, only="b"),
        Field("/~0", b=None, only="b"),
    ]


@pytest.mark.parametrize(
    ("a", "b"), [(1, "1"), (0, False), (1, True), (None, 0), ({}, []), ("", None), ([], None)]
)
def test_another_type_is_another_value(a: Any, b: Any) -> None:
    """Python may find them equal."""
    assert told(a, b) == [Field("", a, b)]
    assert told({"x": [a]}, {"x": [b]}) == [Field("/x/0", a, b)]
