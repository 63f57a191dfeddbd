"""Printed text cannot control a terminal, and shows everything that was recorded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.base.wording import plain, visible
from tests.support.cases import each_case


@each_case(
    ("text", "shown"),
    [
        ("Grüße 你好 😀", "Grüße 你好 😀"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines", "two\\nlines"),
        ("a\u202eb", "a\\u202eb"),
        ("👩\u200d💻 ❤\ufe0f\u200d🔥", "👩\u200d💻 ❤\ufe0f\u200d🔥"),
        ("pass\u200dword", "pass\\u200dword"),
        ("😀\u200d", "😀\\u200d"),
        ("\ud800", "\\ud800"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    """acp-proxy prints invisible characters as escapes, except for the joiners of emoji."""
    assert visible(text) == shown


@given(st.text())
def test_nothing_commands_a_terminal(text: str) -> None:
    """Any text that acp-proxy makes safe to print has no control characters left."""
    assert visible(text).replace("\u200d", "").isprintable()


def test_a_long_line_is_cut() -> None:
    """`plain` cuts a text to 2,000 characters and makes it one line, with spaces for tabs."""
    assert plain("a\tb\r\nc\nd") == "a b\\nc\\nd"
    assert len(plain("x" * 10_000)) == SHOWN_LINE
