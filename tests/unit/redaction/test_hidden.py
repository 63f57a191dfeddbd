"""Values are hidden text by text."""

from __future__ import annotations

from acp_proxy.redaction.hidden import HIDDEN, hidden, strings

VALUE = {"a": ["one", 2, None], "b": {"c": "three"}, "d": True}


def test_texts_are_hidden() -> None:
    """Numbers and names of members stay, and so does the shape."""
    assert hidden(VALUE) == {"a": [HIDDEN, 2, None], "b": {"c": HIDDEN}, "d": True}
    assert hidden(3) == 3


def test_texts_are_found_in_order() -> None:
    """Names of members are not among them."""
    assert [*strings(VALUE)] == ["one", "three"]
    assert [*strings("x")] == ["x"]
    assert [*strings(None)] == []
