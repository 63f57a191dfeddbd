"""In a Markdown transcript, recorded text has no effect as Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.explain.transcript_markdown import code, code_span, escaped, fenced
from tests.support.markdown_code import fences, outside_of_code

HOSTILE = st.text(alphabet=st.sampled_from("`~<>@#a \n\r\t\x1b\u202e\\|$")) | st.text()


@given(text=HOSTILE)
def test_a_fence_holds_its_text(text: str) -> None:
    """Recorded text in a Markdown transcript can neither end its fence nor control a terminal."""
    lines = [*fenced(text)]
    assert [*outside_of_code([*lines, "after"])] == ["after"]
    assert all(line.replace("\t", "").isprintable() for line in lines)


@pytest.mark.parametrize("text", ["a\n\nb\tc", "```\nx\n```", "````", "> @you #1 <b>"])
def test_a_text_without_control_characters_is_unchanged(text: str) -> None:
    """A Markdown transcript repeats a text without control characters unchanged."""
    assert fences(fenced(text)) == [f"{text}\n"]


def test_control_characters_are_visible() -> None:
    """`transcript` escapes control characters in recorded text, except for tabs and line ends."""
    assert [*fenced("a\r\n\x1b[2J\u202e\u2028\x85b\r")] == [
        "```text",
        "a",
        "\\x1b[2J\\u202e\\u2028\\x85b\\r",
        "```",
    ]


def test_long_lines_are_wrapped_but_not_those_of_code() -> None:
    """A Markdown transcript wraps long lines of text between words, but no lines of code."""
    words = "word " * 40
    text = f"  {words}\n```\n{words}\n```\n{words}"
    (fence,) = fences(fenced(text, wrapped=True))
    lines = fence.splitlines()
    assert max(len(line) for line in lines[:3]) <= 100
    assert lines[1].startswith("  word")
    assert words in lines
    assert fence.split() == text.split()


@given(text=HOSTILE)
def test_a_code_span_holds_its_text(text: str) -> None:
    """In a Markdown transcript, no recorded text can end its code span, or break it into lines."""
    span = code_span(text)
    assert span.isprintable()
    assert [*outside_of_code([f"before {span} after"])] == ["before  after"]


def test_usual_text_is_easy_to_read() -> None:
    """In a Markdown transcript, a code span has one backtick at each end if its text has none."""
    assert code_span("pytest -q") == "`pytest -q`"
    assert code_span("a `b`") == "`` a `b` ``"
    assert code_span("") == code_span("  ") == ""


@given(text=HOSTILE)
def test_any_text_is_one_cell(text: str) -> None:
    """In a Markdown transcript, recorded text cannot end a cell of a table."""
    inner = re.sub(r"^<code>|</code>$", "", code(text))
    assert not set(inner) & set("|`<>*[]\\\n\r@~$")


@pytest.mark.parametrize("text", ["src/a_b.py", "x=1, y-2!", "größe", "100 %"])
def test_characters_without_a_meaning_in_markdown_are_not_escaped(text: str) -> None:
    """A Markdown transcript does not escape characters that have no meaning in Markdown."""
    assert escaped(text) == text
