"""For two values, `diff` reports the deepest places in which they differ."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff_result import Field
from acp_proxy.diff.explanation import fields, hide_secrets, is_hidden
from tests.support.cases import each_case


def told(a: Any, b: Any) -> list[Field]:
    """Returns the differing places."""
    return [*fields(a, b)]


@each_case("name", ["id", "name", "optionId", "modelId", "toolCallId", "terminalId", "path", "uri"])
def test_list_items_are_matched_by_their_names(name: str) -> None:
    """If an item of a list changes, `diff` finds its counterpart by name, not by position."""
    a = [{name: text, "v": 1} for text in ("first", "second", "third")]
    b = [{name: text, "v": 2} for text in ("second", "third")]
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
    """If the items of a list have no names, `diff` pairs them by position."""
    assert told([1, 2, 3], [1, 5, 3]) == [Field("/1", 2, 5)]
    assert told([1, 2, 3], [1, 3]) == [Field("/1", a=2, only="a")]
    assert told([{"v": 1}, {"v": 2}], [{"v": 3}, {"v": 4}]) == [
        Field("/0/v", 1, 3),
        Field("/1/v", 2, 4),
    ]
    assert told([{"id": 7, "v": 1}], [{"id": 7, "v": 2}]) == [Field("/0/v", 1, 2)]


def test_a_list_item_with_another_name_is_another_item() -> None:
    """If an item of a list has a different name, `diff` reports that it was replaced."""
    a, b = [{"id": "x", "v": 1}], [{"id": "y", "v": 2}, {"id": "z"}]
    assert told(a, b) == [
        Field("/0/id", "x", "y"),
        Field("/0/v", 1, 2),
        Field("/1", b={"id": "z"}, only="b"),
    ]


def test_keys_are_reported_in_the_order_of_a() -> None:
    """`diff` lists changed members of an object in the order of A, and then those only in B."""
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
    """`diff` reports a value of a different type, even if Python calls the values equal."""
    assert told(a, b) == [Field("", a, b)]
    assert told({"x": [a]}, {"x": [b]}) == [Field("/x/0", a, b)]


NAMED, OTHER = "\ue000«secret:1»\ue001", "\ue000secret:2\ue001"
MARKER = "[redacted:env:0a0b0c0d]"


@each_case("marker", [NAMED, OTHER, MARKER, f"\ue000«{MARKER}»\ue001"])
@each_case(
    ("text", "hidden"),
    [
        ("sign in with pin7 now", "sign in with (hidden) now"),
        ("pin7", "(hidden)"),
        ("sign in with pin7 later on", "sign in with (hidden)"),
        ("log in with pin7 now", "log in with (hidden) now"),
        (["a", {"b": "pin7"}, 7], ["(hidden)", {"b": "(hidden)"}, 7]),
        (7, 7),
    ],
)
def test_a_text_is_hidden_where_the_other_has_a_marker(marker: str, text: Any, hidden: Any) -> None:
    """If a value is masked in A or B only, `diff` prints (hidden) for the unmasked value."""
    masked = f"sign in with {marker} now"
    assert hide_secrets(Field("/a", masked, text)) == Field("/a", masked, hidden)
    assert hide_secrets(Field("/a", text, masked)) == Field("/a", hidden, masked)
    assert is_hidden(hidden) == (text != 7)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (f"use {NAMED} now", f"use {OTHER} then"),
        (f"use {NAMED} now", f"do use {NAMED} now"),
        ("one", "two"),
        ({"a": NAMED}, {"a": OTHER}),
    ],
)
def test_what_has_markers_on_both_sides_is_shown(a: Any, b: Any) -> None:
    """If a value is masked in both recordings, `diff` shows both markers."""
    assert hide_secrets(Field("/a", a, b)) == Field("/a", a, b)


def test_each_marker_hides_what_stands_in_its_place() -> None:
    """If words of a text are masked in A only, `diff` hides only the words in their places in B."""
    hidden = hide_secrets(
        Field("/a", f"user {NAMED} key {OTHER} end", f"user {OTHER} key pin7 end")
    )
    assert hidden.b == f"user {OTHER} key (hidden) end"


def test_a_value_that_only_one_has_is_shown() -> None:
    """If only one recording has a value, `diff` prints the value and does not hide it."""
    assert hide_secrets(Field("/a", a="pin7", only="a")) == Field("/a", a="pin7", only="a")
