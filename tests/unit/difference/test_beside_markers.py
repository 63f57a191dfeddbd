"""Where one recording has a marker, the text of the other one is hidden."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.difference.beside_markers import hide_secrets, is_hidden
from acp_proxy.difference.result import Field

NAMED, OTHER = "\ue000«secret:1»\ue001", "\ue000secret:2\ue001"
MARKER = "[redacted:env:0a0b0c0d]"


@pytest.mark.parametrize("marker", [NAMED, OTHER, MARKER, f"\ue000«{MARKER}»\ue001"])
@pytest.mark.parametrize(
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
    """On either side; what is around it stays, as far as it can be told from it."""
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
    """As is what has none."""
    assert hide_secrets(Field("/a", a, b)) == Field("/a", a, b)


def test_each_marker_hides_what_stands_in_its_place() -> None:
    """Not what another one stands for."""
    found = hide_secrets(Field("/a", f"user {NAMED} key {OTHER} end", f"user {OTHER} key pin7 end"))
    assert found.b == f"user {OTHER} key (hidden) end"


def test_a_value_that_only_one_has_is_shown() -> None:
    """There is nothing in its place."""
    assert hide_secrets(Field("/a", a="pin7", only="a")) == Field("/a", a="pin7", only="a")
