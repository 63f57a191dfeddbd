"""Texts are nothing but text to Mermaid; that its parser agrees is tested with the parser."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.inspection.diagrams.mermaid_text import (
    LONGEST,
    Arrow,
    arrow,
    escaped,
    note,
    participant,
)
from acp_proxy.safe_text import plain


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("42 session/prompt ✓ 3 ms: café, 你好", "42 session/prompt ✓ 3 ms: café, 你好"),
        ("a; b # c", "a#59; b #35; c"),
        ("%%{x}%% <br> `", "#37;#37;#123;x#125;#37;#37; #60;br#62; #96;"),
        ("$$x$$", "#36;#36;x#36;#36;"),
        ("two\nlines", "two#92;nlines"),
        ("a\u202eb", "a#92;u202eb"),
        ("wrap: it", "#119;rap: it"),
        ("NoWrap", "#78;oWrap"),
        ("x style a:b#c;", "x #115;tyle a:b#35;c#59;"),
        ("classDef a:#b", "#99;lassDef a:#35;b"),
        ("😀 \ufb02°°35¶ß", "#128512; #64258;#176;#176;35#182;ß"),
        ("  \t ", ""),
    ],
)  # fmt: skip
def test_what_means_something_is_an_entity(text: str, written: str) -> None:
    """Whatever is not known to be harmless has its number in place of itself."""
    assert escaped(text) == written


def test_a_long_text_is_cut() -> None:
    """It has as many characters as a line has room for, and fewer if each is an entity."""
    assert escaped("x" * LONGEST) == "x" * LONGEST
    assert escaped("x" * 100) == "x" * LONGEST + "…"
    assert escaped("ab cd", 3) == "ab…"
    assert escaped("#" * 60) == "#35;" * 40 + "…"
    assert escaped("\U00020000" * 90) == "\U00020000" * 72 + "…"


@given(st.text(max_size=30))
def test_the_text_can_be_read_back(text: str) -> None:
    """Decoding the entities gives what a timeline would show, on one line."""
    written = escaped(text)
    assert html.unescape(re.sub(r"#(\d+);", r"&#\1;", written)) == plain(text).strip()
    assert not re.search("[\n%`<>{}$|@]", written)


def test_statements_are_lines() -> None:
    """A participant, a message and a note, whatever their texts are."""
    assert arrow("A", Arrow.ERROR, "C", "1 x:\ny") == "    A--xC: 1 x:#92;ny\n"
    assert note("over A,C", "1 x") == "    Note over A,C: 1 x\n"
    assert participant("A", "Agent: #") == "    participant A as Agent: #35;\n"
